// The text on both sides, built once from text nodes; a key updates only the words it affects.
import { isJoined, isLeak, isLoss, isMine, markerOf, runAround } from "./case_state.js";
import { _ } from "./texts.js";

const MIN_FIRST_TOKENS = 150;
const PIXELS_PER_TOKEN = 3500;
const PIXELS_PER_CHAR = 7.6;
const PIXELS_PER_LINE = 30;
const TOKENS_AT_ONCE = 250;
const LONG_ROW = 60;
const SENTENCE_END = /^[.!?]["')\]]*\s+$/;

// Values of kept columns leave as they are: they come first on the masked side, whole. Long ones can be folded.
function addCopied(box, copied) {
  if (copied && !copied.length) return;
  const row = document.createElement("div");
  row.className = "row2 copied";
  const section = document.createElement("section");
  const heading = document.createElement("h2");
  if (copied === null) {
    heading.className = "fault";
    heading.textContent = lostCopied();
    section.append(heading);
  } else {
    heading.textContent = _("Kept columns, copied unmasked");
    section.append(heading, listCopied(copied));
  }
  row.append(document.createElement("div"), section);
  box.append(row);
}

export const lostCopied = () =>
  _("This case has kept columns, but an earlier version did not store their values for this page. Delete the file and add it again to see them.");

export function listCopied(copied, { folds = true } = {}) {
  const list = document.createElement("dl");
  for (const one of copied) {
    const line = document.createElement("div");
    const name = document.createElement("dt");
    const value = document.createElement("dd");
    name.textContent = one.column;
    if (one.is_replaced) value.className = "dim";
    value.append(one.is_long && folds ? fold(one.value) : one.value);
    line.append(name, value);
    list.append(line);
  }
  return list;
}

function fold(value) {
  const details = document.createElement("details");
  const summary = document.createElement("summary");
  const whole = document.createElement("div");
  details.open = true;
  summary.textContent = _("{n} characters", { n: value.length });
  whole.className = "whole";
  whole.textContent = value;
  details.append(summary, whole);
  return details;
}

// The classes that show what a word is: its category, how doubtful it is, and what became of it.
export function classesOf(state, i) {
  const level = `d${state.levels[i]}`;
  let found = "t";
  if (!state.keep[i]) {
    const category = state.categoryNames[state.categories[i]];
    found += ` g${category ? category.group : "X"} ${level}`;
    if (isLoss(state, i)) found += " loss";
  } else if (isLeak(state, i)) found += ` leak ${level}`;
  if (state.known[i]) found += " known";
  if (isMine(state, i)) found += " mine";
  if (!state.decided[i]) found += " open";
  return found;
}

// Category of a mask, once at its end; "?" where a look is needed; "you" after your own change.
export function codeOf(state, i, joined) {
  if (!state.decided[i]) return _("differ");
  if (state.keep[i]) {
    if (state.known[i]) return _("known!");
    return isLeak(state, i) ? "?" : "";
  }
  if (joined && state.categories[i] === state.categories[i + 1]) return "";
  const tag = state.categoryNames[state.categories[i]]?.tag ?? _("unknown");
  return `${tag}${isMine(state, i) && !state.disputed ? _(" · you") : ""}${isLoss(state, i) ? " ?" : ""}`;
}

export class Reader {
  constructor(box, state) {
    this.box = box;
    this.state = state;
    this.left = new Array(state.n);
    this.right = new Array(state.n);
    this.rightGaps = new Array(state.n + 1);
    this.rows = [];
    this.here = -1;
    this.picked = [0, 0];
    this.starts = this.rowStarts();
    this.parts = new Map(state.data.parts.map((part) => [part.first, part.name]));
    this.built = 0;
    this.box.replaceChildren();
    addCopied(this.box, state.data.copied);
    this.isTwofold = globalThis.innerWidth > 720;
    this.lineChars = Math.max(10, this.box.clientWidth / (this.isTwofold ? 2 : 1) - 42) / PIXELS_PER_CHAR;
    this.buildTo(Math.max(MIN_FIRST_TOKENS, (globalThis.innerWidth * globalThis.innerHeight) / PIXELS_PER_TOKEN));
    this.buildLater();
  }

  // Rows are built in order: visible ones at once, the others when the browser is idle.
  buildTo(token) {
    const { state } = this;
    const all = document.createDocumentFragment();
    const begin = this.built;
    while (this.built < state.n && this.built <= token) {
      const number = this.rows.length;
      const [first, isBegin] = this.starts[number];
      const stop = this.starts[number + 1]?.[0] ?? state.n;
      if (this.parts.size > 1 && this.parts.has(first)) {
        const name = document.createElement("p");
        name.className = "partname";
        name.textContent = this.parts.get(first);
        all.append(name);
      }
      all.append(this.row(first, stop, isBegin, number === 0));
      this.built = stop;
    }
    for (let i = begin; i < this.built; i += 1) this.refreshOne(i);
    this.box.append(all);
  }

  buildLater() {
    if (this.built >= this.state.n) return;
    const later = globalThis.requestIdleCallback ?? ((does) => setTimeout(does, 10));
    later(() => {
      this.buildTo(this.built + TOKENS_AT_ONCE);
      this.buildLater();
    }, { timeout: 200 });
  }

  // One row per paragraph; a long one is cut after a sentence, so that both sides stay level.
  rowStarts() {
    const { gaps, n } = this.state;
    const starts = [[0, true]];
    for (let i = 1; i < n; i += 1) {
      const length = i - starts[starts.length - 1][0];
      if (/[\r\n]/.test(gaps[i])) starts.push([i, true]);
      else if (length >= LONG_ROW && SENTENCE_END.test(gaps[i])) starts.push([i, false]);
    }
    return starts;
  }

  row(first, stop, isBegin, isFirst) {
    const { state } = this;
    const row = document.createElement("div");
    row.className = `row2${isBegin ? " begin" : ""}${isFirst ? " first" : ""}`;
    const left = document.createElement("p");
    const right = document.createElement("p");
    left.className = "original";
    right.className = "masked";
    if (first === 0) {
      this.rightGaps[0] = document.createTextNode(state.maskedGaps[0]);
      left.append(state.gaps[0]);
      right.append(this.rightGaps[0]);
    }
    for (let i = first; i < stop; i += 1) {
      const l = document.createElement("span");
      const r = document.createElement("span");
      l.className = "t";
      l.token = i;
      r.token = i;
      l.textContent = state.words[i];
      this.left[i] = l;
      this.right[i] = r;
      const isLast = i + 1 === stop && stop < state.n;
      const gap = isLast ? state.gaps[i + 1].replace(/\s+$/, "") : state.gaps[i + 1];
      const masked = isLast ? state.maskedGaps[i + 1].replace(/\s+$/, "") : state.maskedGaps[i + 1];
      this.rightGaps[i + 1] = document.createTextNode(masked);
      this.rightGaps[i + 1].whole = masked;
      left.append(l, gap);
      right.append(r, this.rightGaps[i + 1]);
    }
    row.append(left, right);
    row.style.containIntrinsicHeight = `auto ${this.guessedHeight(first, stop)}px`;
    this.rows.push([first, stop, row]);
    return row;
  }

  // Of a row that is not visible yet, so that the scroll bar is about right.
  guessedHeight(first, stop) {
    const { words, gaps } = this.state;
    let chars = 0;
    for (let i = first; i < stop; i += 1) chars += words[i].length + gaps[i + 1].length;
    return PIXELS_PER_LINE * Math.ceil(chars / this.lineChars) * (this.isTwofold ? 1 : 2);
  }

  // Bring tokens first to stop - 1, and the masks they belong to, up to date.
  refresh(first, stop) {
    const { state } = this;
    if (!state.n) return;
    const begin = runAround(state, Math.max(0, first - 1))[0];
    const end = Math.min(this.built, runAround(state, Math.min(state.n - 1, stop))[1]);
    for (let i = begin; i < end; i += 1) this.refreshOne(i);
  }

  refreshOne(i) {
    const { state } = this;
    const left = this.left[i];
    const right = this.right[i];
    const joined = isJoined(state, i);
    const code = codeOf(state, i, joined);
    const classes = `${classesOf(state, i)}${joined ? " joined" : ""}${i === this.here ? " here" : ""}`;
    const isPicked = i >= this.picked[0] && i < this.picked[1] && this.picked[1] - this.picked[0] > 1;
    const shown = isPicked ? `${classes} picked` : classes;
    if (left.className !== shown) left.className = shown;
    if ((left.dataset.c ?? "") !== code) {
      if (code) left.dataset.c = code;
      else delete left.dataset.c;
    }
    this.refreshMasked(i, joined, right);
  }

  refreshMasked(i, joined, right) {
    const { state } = this;
    const isHead = !state.keep[i] && !(i > 0 && isJoined(state, i - 1));
    const gap = this.rightGaps[i + 1];
    let text = state.words[i];
    let classes = "t";
    let stop = i + 1;
    if (!state.keep[i]) {
      if (isHead) stop = runAround(state, i)[1];
      text = isHead ? markerOf(state, i, stop) : "";
      classes = isHead ? `${classesOf(state, i)} x` : "";
    } else if (isLeak(state, i)) classes = classesOf(state, i);
    if (text && this.here >= i && this.here < stop) classes += " here";
    if (right.className !== classes) right.className = classes;
    if (right.textContent !== text) right.textContent = text;
    let between = joined ? "" : gap.whole;
    if (!joined && !state.keep[i]) between = between.replace(/^□/, "");
    if (!joined && i + 1 < state.n && !state.keep[i + 1]) between = between.replace(/□$/, "");
    if (gap.data !== between) gap.data = between;
  }

  go(i, anchor = i) {
    const { state } = this;
    if (!state.n) return;
    const old = [this.here, ...this.picked];
    this.here = Math.max(0, Math.min(state.n - 1, i));
    this.buildTo(Math.max(this.here, anchor) + 150);
    this.picked = [Math.min(this.here, anchor), Math.max(this.here, anchor) + 1];
    if (old[0] >= 0) this.refreshOne(old[0]);
    if (old[2] - old[1] > 1) for (let k = old[1]; k < old[2]; k += 1) this.refreshOne(k);
    for (let k = this.picked[0]; k < this.picked[1]; k += 1) this.refreshOne(k);
    // A mask of several words is one marker, at its first word.
    for (const k of [old[0], this.here]) if (k >= 0) this.refreshOne(runAround(state, k)[0]);
  }

  // In the next frame, which computes the layout anyway.
  scroll() {
    cancelAnimationFrame(this.scrolling);
    this.scrolling = requestAnimationFrame(() => this.left[this.here]?.scrollIntoView({ block: "nearest" }));
  }

  pick(first, stop) {
    this.go(first, stop - 1);
  }

  rowOf(i) {
    let low = 0;
    let high = this.starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.starts[middle][0] <= i) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
