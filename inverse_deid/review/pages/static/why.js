// Explains why a word is masked or kept: words, letters, and a line with p_safe and the threshold.
import { isLeak, isLoss, isMine, mentions, pSafe, threshold } from "./case_state.js";

export function sentence(state, i) {
  const said = state.decided[i] ? (state.keep[i] ? "kept" : "masked") : "not decided";
  const category = state.keep[i] ? null : state.categoryNames[state.categories[i]]?.name;
  const p = pSafe(state, i);
  const alarm = isLeak(state, i) ? "possible leak" : isLoss(state, i) ? "possible loss" : null;
  return [state.words[i], said, category, alarm, state.known[i] ? "known identifier" : null, p === null ? null : `p safe ${p}`]
    .filter(Boolean)
    .join(", ");
}

export function showWhy(box, state, [first, stop]) {
  const i = first;
  const words = document.createElement("p");
  words.className = "word";
  words.textContent = Array.from({ length: Math.min(stop - first, 12) }, (_, k) => state.words[first + k]).join(" ") + (stop - first > 12 ? " …" : "");
  const list = document.createElement("dl");
  const line = (name, value, kind = "") => {
    const dt = document.createElement("dt");
    const dd = document.createElement("dd");
    dt.textContent = name;
    dd.textContent = value;
    dd.className = kind;
    list.append(dt, dd);
  };
  const said = state.decided[i] ? (state.keep[i] ? "kept" : "masked") : "the reviewers disagree";
  line("Now", `${said}${isMine(state, i) ? ", unlike the model" : ""}`);
  if (!state.keep[i]) line("Category", state.categoryNames[state.categories[i]]?.name ?? "unknown");
  if (isLeak(state, i)) line("Check", "possible leak", "alarm");
  if (isLoss(state, i)) line("Check", "possible loss of clinical text", "alarm");
  if (state.known[i]) line("Known", "part of a known identifier of the case");
  state.reviewers.forEach((one, k) => {
    const category = state.categoryNames[one.categories[i]]?.name;
    line(`Reviewer ${k + 1}`, one.keep[i] ? "keeps it" : `masks it${category ? `, ${category}` : ""}`);
  });
  if (state.model) modelLines(state, i, line);
  const places = stop - first <= 8 ? mentions(state, first, stop).length : 1;
  line("Mentions", places > 1 ? `${places} in the case` : "only this one");
  box.replaceChildren(words, list);
  const picture = document.getElementById("scale");
  picture.toggleAttribute("hidden", !state.model);
  if (state.model) drawScale(picture, pSafe(state, i), threshold(state, i));
}

function modelLines(state, i, line) {
  const reason = state.reasonNames[state.model.reasons[i]];
  if (reason) line("Reason", `${reason.code}: ${reason.text}`);
  line("Dictionary", state.rulesSafe[i] ? "lists it as safe" : "does not list it as safe");
  line("p safe", pSafe(state, i)?.toFixed(4) ?? "unknown");
  line("Threshold", threshold(state, i)?.toFixed(4) ?? "never kept");
}

// In logits, -6 to 6: near 1, small differences matter.
function drawScale(picture, p, limit) {
  const clip = (q) => Math.min(1 - 1e-6, Math.max(1e-6, q));
  const x = (q) => `${(50 + (50 * Math.max(-6, Math.min(6, Math.log(clip(q) / (1 - clip(q)))))) / 6).toFixed(1)}%`;
  const [, bar, mark] = picture.children;
  bar.setAttribute("width", p === null ? "0" : x(p));
  for (const end of ["x1", "x2"]) mark.setAttribute(end, limit === null ? "100%" : x(limit));
}

export function fillLegend(box, state) {
  const lines = [];
  const line = (classes, sample, text, code = "") => {
    const p = document.createElement("p");
    const t = document.createElement("span");
    t.className = `t ${classes}`;
    t.textContent = sample;
    if (code) t.dataset.c = code;
    p.append(t, ` ${text}`);
    lines.push(p);
  };
  for (const group of state.data.legend.groups) {
    const codes = state.categoryNames.filter((one) => one.group === group.letter);
    line(`g${group.letter} d1`, group.name.toLowerCase(), codes.map((one) => `${one.code} ${one.name.toLowerCase()}`).join(", "));
  }
  line("gX d1", "unknown", "·· no category");
  line("leak d3", "kept", "possible leak: the stronger the colour, the nearer to the threshold", "?N");
  line("gN d3 loss", "masked", "possible loss of clinical text", "PA·B↺");
  line("known", "word", "known identifier, or a mention of one");
  line("mine", "word", "decided by you, unlike the model");
  for (const one of state.reasonNames) {
    const p = document.createElement("p");
    p.textContent = `${one.code}  ${one.text}`;
    lines.push(p);
  }
  box.replaceChildren(...lines);
}
