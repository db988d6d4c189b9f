// Explains in plain words why a word is masked or kept, how sure the tool is, and what the signs mean.
import { isLeak, isLoss, isMine, mentions, pSafe, threshold } from "./case_state.js";
import { _ } from "./texts.js";

export function sentence(state, i) {
  const said = state.decided[i] ? (state.keep[i] ? _("kept") : _("masked")) : _("not decided");
  const category = state.keep[i] ? null : state.categoryNames[state.categories[i]]?.title;
  const alarm = isLeak(state, i) || isLoss(state, i) ? _("please check") : null;
  const sure = state.model ? howSure(pSafe(state, i), threshold(state, i)) : null;
  return [state.words[i], said, category, alarm, state.known[i] ? _("known identifier") : null, sure].filter(Boolean).join(", ");
}

export function showWhy(box, state, [first, stop]) {
  const i = first;
  const words = document.createElement("p");
  words.className = "word";
  words.textContent = Array.from({ length: Math.min(stop - first, 12) }, (_word, k) => state.words[first + k]).join(" ") + (stop - first > 12 ? " …" : "");
  const list = document.createElement("dl");
  const line = (name, value, kind = "") => {
    const dt = document.createElement("dt");
    const dd = document.createElement("dd");
    dt.textContent = name;
    dd.textContent = value;
    dd.className = kind;
    list.append(dt, dd);
  };
  line(_("Now"), now(state, i));
  if (isLeak(state, i)) line(_("Check"), _("may identify somebody"), "alarm");
  if (isLoss(state, i)) line(_("Check"), _("may be masked needlessly"), "alarm");
  state.reviewers.forEach((one, k) => {
    const category = state.categoryNames[one.categories[i]]?.title;
    const masks = category ? _("masks it as {category}", { category }) : _("masks it");
    line(_("Reviewer {number}", { number: k + 1 }), one.keep[i] ? _("keeps it") : masks);
  });
  if (state.model) modelLines(state, i, line);
  if (state.known[i]) line(_("Known"), _("part of a known identifier of this case"));
  const places = stop - first <= 8 ? mentions(state, first, stop).length : 1;
  line(_("Found"), places > 1 ? _("{n} times in the case", { n: places }) : _("only here"));
  box.replaceChildren(words, list);
  const picture = document.getElementById("scale");
  picture.toggleAttribute("hidden", !state.model);
  if (state.model) drawScale(picture, pSafe(state, i), threshold(state, i));
}

function now(state, i) {
  if (!state.decided[i]) return _("the two reviewers differ");
  const category = state.categoryNames[state.categories[i]]?.title;
  const masked = category ? _("masked as {category}", { category }) : _("masked");
  const said = state.keep[i] ? _("kept") : masked;
  if (!isMine(state, i)) return said;
  return state.modelKeep[i] ? _("{said}. The tool kept it.", { said }) : _("{said}. The tool masked it.", { said });
}

function modelLines(state, i, line) {
  const reason = state.reasonNames[state.model.reasons[i]];
  const said = state.modelKeep[i] ? _("Why kept") : _("Why masked");
  if (reason) line(said, reason);
  line(_("How sure"), `${howSure(pSafe(state, i), threshold(state, i))}.${needed(pSafe(state, i), threshold(state, i))}`);
  line(_("Word lists"), state.rulesSafe[i] ? _("an ordinary or medical word") : _("not among the safe words"));
}

// As many digits as tell the two numbers apart; never 0 or 100 %, as the tool never knows.
function percent(share, other) {
  if (share >= 0.9995) return _("more than 99.9\u00a0%");
  if (share < 0.01) return _("less than 1\u00a0%");
  const digits = [0, 1, 2].find((n) => other === null || share === other || (100 * share).toFixed(n) !== (100 * other).toFixed(n)) ?? 2;
  return `${(100 * share).toFixed(share > 0.99 ? Math.max(1, digits) : digits)}\u00a0%`;
}

export function howSure(p, limit) {
  if (p === null) return _("it is not known how sure the tool is");
  return _("{percent} sure that this is not an identifier", { percent: percent(p, limit) });
}

function needed(p, limit) {
  if (limit === null) return _(" Such words are never kept by the tool.");
  return _(" Such words are kept from {percent} on.", { percent: percent(limit, p) });
}

// On a scale on which small differences near 0 and 100 % are visible.
function drawScale(picture, p, limit) {
  const clip = (q) => Math.min(1 - 1e-6, Math.max(1e-6, q));
  const x = (q) => `${(50 + (50 * Math.max(-6, Math.min(6, Math.log(clip(q) / (1 - clip(q)))))) / 6).toFixed(1)}%`;
  const [, bar, mark] = picture.children;
  bar.setAttribute("width", p === null ? "0" : x(p));
  for (const end of ["x1", "x2"]) mark.setAttribute(end, limit === null ? "100%" : x(limit));
}

export function fillLegend(box, state) {
  const lines = [];
  const line = (classes, sample, text, tag = "") => {
    const p = document.createElement("p");
    const t = document.createElement("span");
    t.className = `t ${classes}`;
    t.textContent = sample;
    if (tag) t.dataset.c = tag;
    p.append(t, ` ${text}`);
    lines.push(p);
  };
  line("gN d1", _("masked"), _("a mask, with its category at its end"), _("patient"));
  line("leak d3", _("word"), _("kept, but please check: it may identify somebody"), "?");
  line("gN d3 loss", _("masked"), _("masked, but please check: it may be needless"), _("patient ?"));
  line("known", _("word"), _("a known identifier of the case, or a mention of it"));
  line("mine", _("word"), state.disputed ? _("changed by a person") : _("changed by you"));
  if (state.disputed) line("open d0", _("word"), _("the two reviewers differ: please decide"), _("differ"));
  const strength = document.createElement("p");
  strength.className = "dim";
  strength.textContent = _("The stronger the colour, the less sure the tool is.");
  lines.push(strength);
  for (const group of state.data.legend.groups) {
    const titles = state.categoryNames.filter((one) => one.group === group.letter).map((one) => one.title);
    line(`g${group.letter} d1`, group.title, titles.length > 1 ? titles.join(", ") : "");
  }
  box.replaceChildren(...lines);
}
