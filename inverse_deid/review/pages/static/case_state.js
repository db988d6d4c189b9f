// State of a case, in bytes per token; none of it is kept in the browser's storage.
export const NO_CATEGORY = 255;

const digits = (text) => new TextEncoder().encode(text).map((code) => code - 48);

export function stateOf(data) {
  const n = data.words.length;
  const none = new Uint8Array(n);
  const model = data.model;
  return {
    n,
    data,
    words: data.words,
    gaps: data.gaps,
    maskedGaps: data.gaps.map((gap, number) => data.masked_gaps[number] ?? gap),
    joining: new Set(data.joining_gaps),
    keep: digits(data.layer.keep),
    decided: digits(data.layer.decided),
    categories: Uint8Array.from(data.layer.categories),
    disputed: data.disputed ? digits(data.disputed) : null,
    reviewers: data.reviewers.map((one) => ({ keep: digits(one.keep), categories: one.categories })),
    doubtful: model ? digits(model.doubtful) : none,
    rulesSafe: model ? digits(model.rules_safe) : none,
    known: model ? digits(model.known) : none,
    modelKeep: model ? digits(model.keep) : null,
    model,
    levels: model ? digits(model.levels) : none,
    seen: new Uint8Array(n),
    revision: data.revision,
    canUndo: data.can_undo,
    canRedo: data.can_redo,
    isApproved: data.is_approved,
    folded: null,
    categoryNames: data.legend.categories,
    reasonNames: data.legend.reasons,
  };
}

// Whether token i and the next one share one mask.
export function isJoined(state, i) {
  if (i + 1 >= state.n || state.keep[i] || state.keep[i + 1]) return false;
  return state.joining.has(state.gaps[i + 1]) || ["", "□"].includes(state.maskedGaps[i + 1]);
}

export function runAround(state, i) {
  let first = i;
  let stop = i + 1;
  while (first > 0 && isJoined(state, first - 1)) first -= 1;
  while (stop < state.n && isJoined(state, stop - 1)) stop += 1;
  return [first, stop];
}

// A kept word of which the tool is hardly sure enough may be a leak. A masked one of which it is nearly
// sure enough, or that the word lists call safe, may be a loss.
export const isLeak = (state, i) => Boolean(state.keep[i] && state.doubtful[i]);
export const isLoss = (state, i) =>
  Boolean(!state.keep[i] && !state.known[i] && (state.doubtful[i] || (state.rulesSafe[i] && !state.modelKeep[i])));

// A mask that may be needless, of which the tool is not in doubt: N and P stop at it as well.
export const isNeedless = (state, i) => Boolean(state.model && !state.disputed && !state.doubtful[i] && isLoss(state, i));

export const isMine = (state, i) => Boolean(state.modelKeep && state.decided[i] && state.modelKeep[i] !== state.keep[i]);

// Where N and P stop: disputes for an adjudicator, otherwise doubtful words, or masks without a model.
export function isStop(state, i) {
  if (state.disputed) return Boolean(state.disputed[i]);
  if (state.model) return Boolean(state.doubtful[i]);
  return !state.keep[i] && !(i > 0 && isJoined(state, i - 1));
}

// What the tool masked itself and is sure of; never where it is not shown, as for a blind reviewer.
export const isSure = (state, i) => Boolean(state.modelKeep && !state.keep[i] && !state.modelKeep[i] && !isStop(state, i));

const isPlain = /^[\x20-\x7e]*$/;
const fold = (word) => (isPlain.test(word) ? word : word.normalize("NFKD").replace(/\p{M}/gu, "")).toLowerCase();

// Numbers are ten-thousandths; null = unknown (p safe) or never (threshold).
const share = (number) => (number === null ? null : number / 10_000);
export const pSafe = (state, i) => (state.model ? share(state.model.p_safe[i]) : null);
export const threshold = (state, i) => share(state.model.thresholds[i]);

export function mentions(state, first, stop) {
  state.folded ??= state.words.map(fold);
  const phrase = state.folded.slice(first, stop);
  const found = [];
  for (let i = 0; i + phrase.length <= state.n; i += 1) {
    if (phrase.every((word, k) => state.folded[i + k] === word)) found.push([i, i + phrase.length]);
  }
  return found;
}

export function markerOf(state, first, stop) {
  if (!state.data.category_markers) return state.data.marker;
  const counts = new Map();
  for (let i = first; i < stop; i += 1) {
    const category = state.categoryNames[state.categories[i]];
    if (category) counts.set(category.group, (counts.get(category.group) ?? 0) + 1);
  }
  const order = state.data.legend.groups;
  const best = order.reduce((a, b) => ((counts.get(b.letter) ?? 0) > (a ? counts.get(a.letter) ?? 0 : 0) ? b : a), null);
  return `[${best ? best.name : state.data.marker}]`;
}
