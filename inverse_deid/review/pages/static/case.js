// The reading page: actions of keys, mouse and buttons.
import { isJoined, isNeedless, isStop, isSure, mentions, runAround, stateOf } from "./case_state.js";
import { ask, askCategory, askNote, askSure, fillNotes, listWords, openDialog } from "./dialogs.js";
import { Latch } from "./latch.js";
import { Pictures } from "./pictures.js";
import { Reader } from "./reader.js";
import { Queue, Refused, answered, post } from "./requests.js";
import { fillLegend, sentence, showWhy } from "./why.js";
import { _, ngettext } from "./texts.js";

const main = document.getElementById("main");
const element = (id) => document.getElementById(id);
const { case: caseId, kind, token } = main.dataset;
const at = (name) => `/cases/${caseId}/${name}`;
const KEEP_EVERY_MS = 240_000;

let state;
let reader;
let anchor = 0;
let isApproving = false;
let spoken = 0;
let halted = null;

const latch = new Latch();
const pictures = new Pictures(at("pictures"), token);
const queue = new Queue((item) => post(at(item.to), token, { ...item.payload, revision: state.revision }), {
  stored,
  refused,
  changed: showSaved,
});

async function begin() {
  try {
    show(await answered(globalThis.opening));
  } catch (error) {
    trouble(error.message, [[_("Back to the list of cases"), () => location.assign("/")]]);
    element("saved").textContent = "";
  }
}

function show(data) {
  if (!reader) element("reader").focus({ preventScroll: true });
  const old = state;
  state = stateOf(data);
  if (old?.n === state.n) state.seen = old.seen;
  element("name").textContent = data.name;
  showLegend();
  element("state").textContent = state.isApproved ? _("approved by you") : data.state;
  element("reopen").hidden = !data.can_reopen;
  element("warning").textContent = data.warning;
  element("warning").hidden = !data.warning;
  const here = reader?.here ?? -1;
  fillNotes(element("notes"), data.notes, (first, stop) => choose(first, stop));
  reader = new Reader(element("reader"), state);
  element("reader").removeAttribute("aria-busy");
  element("elsewhere").hidden = true;
  latch.shut();
  if (data.has_scans) pictures.open(data.name, state.gaps);
  const first = here >= 0 ? here : nextStop(-1, 1) ?? 0;
  if (state.n) choose(first, first + 1);
  showSaved();
}

// ---- moving

function choose(first, stop, { from = first } = {}) {
  anchor = from;
  const here = from === first ? stop - 1 : first;
  reader.go(here, from);
  for (let i = first; i < stop; i += 1) state.seen[i] = 1;
  showWhy(element("why-body"), state, reader.picked);
  showSeen();
  reader.scroll();
  pictures.follow(here);
  clearTimeout(spoken);
  spoken = setTimeout(() => {
    const [a, b] = reader.picked;
    element("spoken").textContent = b - a > 1 ? _("{n} words selected", { n: b - a }) : sentence(state, a);
  }, 120);
}

function nextStop(i, step) {
  for (let k = i + step; k >= 0 && k < state.n; k += step) if (isStop(state, k) || isNeedless(state, k)) return k;
  return null;
}

function toStop(step) {
  const edge = step > 0 ? reader.picked[1] - 1 : reader.picked[0];
  const found = nextStop(edge, step);
  if (found === null) say(step > 0 ? _("no word to check after this one") : _("no word to check before this one"));
  else choose(found, found + 1);
}

function step(by, extend) {
  const i = Math.max(0, Math.min(state.n - 1, reader.here + by));
  if (!extend) choose(i, i + 1);
  else extendTo(i);
}

function extendTo(i) {
  const from = anchor;
  choose(Math.min(i, from), Math.max(i, from) + 1, { from });
  anchor = from;
}

function stepRow(by) {
  const row = Math.max(0, Math.min(reader.starts.length - 1, reader.rowOf(reader.here) + by));
  choose(reader.starts[row][0], reader.starts[row][0] + 1);
}

// ---- deciding

function decide(action, { category = null, all = false } = {}) {
  if (!canChange()) return;
  element("elsewhere").hidden = true;
  const [first, stop] = reader.picked;
  const item = { to: "act", payload: { kind: action, ranges: [[first, stop]], category, all_mentions: all } };
  if (!apply(item) && !all) {
    say(action === "mask" ? _("already masked") : _("already kept"));
    return;
  }
  queue.add(item);
  showWhy(element("why-body"), state, reader.picked);
}

// Words that the tool was sure of are unmasked only after a question; doubtful ones at once.
async function unmask({ all = false } = {}) {
  if (!canChange()) return;
  const shown = state;
  const picked = [...reader.picked];
  const sure = new Set();
  for (const [first, stop] of all ? mentions(state, ...picked) : [picked]) {
    for (let i = first; i < stop; i += 1) if (isSure(state, i)) sure.add(i);
  }
  if (sure.size && !(await ask("uncover", askSure(state, sure)))) {
    say(_("left masked"));
    return;
  }
  if (state !== shown) {
    say(_("not unmasked: the case was reloaded"));
    return;
  }
  choose(...picked);
  decide("unmask", { all });
}

// After words were unmasked in one place: where the same words stay masked.
function showElsewhere([first, stop]) {
  const n = mentions(state, first, stop).filter(([a, b]) => {
    if (a < stop && b > first) return false;
    for (let i = a; i < b; i += 1) if (!state.keep[i]) return true;
    return false;
  }).length;
  if (!n) return;
  const place =
    stop - first > 1
      ? ngettext("The same words stay masked in {n} other place.", "The same words stay masked in {n} other places.", n)
      : ngettext("The same word stays masked in {n} other place.", "The same word stays masked in {n} other places.", n);
  element("elsewhere-text").textContent = place;
  element("elsewhere-all").textContent = _("Unmask everywhere in the case");
  element("elsewhere-leave").textContent = _("Leave masked");
  element("elsewhere-all").onclick = () => {
    choose(first, stop);
    unmask({ all: true });
  };
  element("elsewhere").hidden = false;
}

element("elsewhere-leave").addEventListener("click", () => {
  element("elsewhere").hidden = true;
  element("reader").focus();
});

// Show what an action will do before the server answers; true if anything changes.
function apply(item) {
  if (item.to !== "act") return true;
  const { kind: action, ranges, category, all_mentions: all } = item.payload;
  const code = category === null ? null : state.categoryNames.findIndex((one) => one.name === category);
  let isChanged = false;
  for (const [first, stop] of all ? mentions(state, ...ranges[0]) : ranges) {
    for (let i = first; i < stop; i += 1) {
      const keep = action === "unmask" ? 1 : action === "mask" ? 0 : state.keep[i];
      isChanged ||= keep !== state.keep[i] || !state.decided[i] || (code !== null && state.categories[i] !== code);
      if (action === "category" && state.keep[i]) continue;
      state.keep[i] = keep;
      if (action !== "category") state.decided[i] = 1;
      if (code !== null) state.categories[i] = code;
    }
    reader.refresh(first, stop);
  }
  return isChanged;
}

function stored(item, body) {
  if (item.to === "note") {
    fillNotes(element("notes"), body.notes, (first, stop) => choose(first, stop));
    say(_("note stored"));
    return;
  }
  state.revision = body.revision;
  state.canUndo = body.can_undo;
  state.canRedo = body.can_redo;
  const isUndo = item.to !== "act";
  if (isUndo && body.n_undecided > 0) reload();
  for (const [first, stop, keep, category] of body.changed) {
    for (let i = first; i < stop; i += 1) {
      state.keep[i] = keep ? 1 : 0;
      state.decided[i] = 1;
      if (!keep || !isUndo) state.categories[i] = category;
    }
    reader.refresh(first, stop);
  }
  for (const waiting of queue.waiting) apply(waiting);
  if (isUndo && body.changed.length) choose(body.changed[0][0], body.changed[0][1]);
  else showWhy(element("why-body"), state, reader.picked);
  if (item.payload.kind === "unmask" && !item.payload.all_mentions) showElsewhere(item.payload.ranges[0]);
  if (body.changed.length > 1) say(_("{n} places changed", { n: body.changed.length }));
}

async function reload() {
  try {
    show(await post(`/${kind}/${caseId}/open`, token, {}));
    return true;
  } catch (error) {
    trouble(error.message, [[_("Back to the list of cases"), () => location.assign("/")]]);
    return false;
  }
}

function refused(item, error) {
  halted = error;
  const n = queue.waiting.length;
  const what = ngettext("{n} decision is not stored yet.", "{n} decisions are not stored yet.", n);
  const discard = [ngettext("Discard it", "Discard them", n), () => afresh(false)];
  if (error.status === 409) {
    trouble(_("This case was changed in another window. {what}", { what }), [[_("Load it and apply them again"), () => afresh(true)], discard]);
  } else if (error.status === 400 || error.status === 403) {
    if (queue.waiting[0] === item) queue.waiting.shift();
    trouble(_("Not stored. {problem}", { problem: error.message }), [[_("Continue"), () => afresh(true)]]);
  } else if (error.status === 423) {
    trouble(`${error.message} ${what}`, [[_("Open it again"), () => afresh(true)], discard]);
  } else if (error.status === 401) {
    trouble(_("Your session has ended. {what} Log in in another window of this browser, then load the case again here.", { what }), [
      [_("Log in"), () => location.assign("/log-in")],
    ]);
  } else {
    trouble(_("{problem} {what} Nothing is lost while this page stays open.", { problem: error.message, what }), [[_("Try again"), retry]]);
  }
}

function retry() {
  calm();
  queue.again();
}

async function afresh(isAgain) {
  const waiting = queue.drop();
  calm();
  if (!(await reload())) {
    // Another person may have the case now: what is not stored stays here, and leaving asks first.
    if (isAgain) queue.waiting.unshift(...waiting);
    showSaved();
    return;
  }
  queue.isHalted = false;
  for (const item of isAgain ? waiting : []) {
    apply(item);
    queue.add(item);
  }
  queue.run();
  showSaved();
}

function trouble(text, buttons) {
  element("trouble-text").textContent = text;
  element("trouble-buttons").replaceChildren(
    ...buttons.map(([name, does]) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = name;
      button.addEventListener("click", does);
      return button;
    }),
  );
  element("trouble").hidden = false;
}

function calm() {
  halted = null;
  element("trouble").hidden = true;
  element("reader").focus();
}

const canChange = () => {
  if (!state || !state.n) return false;
  if (state.isApproved) say(_("you have approved this case, so it can no longer be changed"));
  return !state.isApproved;
};

function categorise(category, all) {
  const [first, stop] = reader.picked;
  let isMasked = true;
  for (let i = first; i < stop; i += 1) isMasked &&= !state.keep[i] && state.decided[i];
  decide(isMasked ? "category" : "mask", { category, all });
}

function turn(to) {
  if (!canChange()) return;
  const can = to === "undo" ? state.canUndo : state.canRedo;
  if (!can && !queue.waiting.length) say(to === "undo" ? _("nothing to undo") : _("nothing to redo"));
  else {
    element("elsewhere").hidden = true;
    queue.add({ to, payload: {} });
  }
}

async function approve() {
  if (isApproving || !canChange() || queue.isHalted) return;
  const shown = state;
  isApproving = true;
  say(_("approving"));
  await queue.empty();
  if (state !== shown) say(_("not approved: the case was reloaded"));
  isApproving = state === shown && (await isApproved({}));
}

// The server counts the doubtful words not looked at, and accepts an approval only after the answer.
async function isApproved(answer) {
  const payload = { revision: state.revision, is_dispute: kind === "disputes", seen: seenRanges(), ...answer };
  try {
    const done = await post(at("approve"), token, payload);
    location.assign(done.next);
    return true;
  } catch (error) {
    if (error instanceof Refused && error.status === 428) {
      say(_("not approved yet"));
      return (await ask("anyway", error.message)) && isApproved({ anyway: error.body.n_unseen, uncovered: error.body.n_uncovered, other_language: error.body.other_language });
    }
    trouble(_("Not approved. {problem}", { problem: error.message }), [[_("Reload the case"), () => afresh(true)]]);
    return false;
  }
}

async function listSelected() {
  const words = state.words.slice(...reader.picked);
  await queue.empty();
  listWords(words, caseId);
}

async function leave() {
  await queue.empty();
  try {
    await post(at("close"), token, {});
  } finally {
    location.assign("/");
  }
}

// ---- reporting

function seenRanges() {
  const ranges = [];
  for (let i = 0; i < state.n; i += 1) {
    if (!state.seen[i] && !isHidden(i)) continue;
    const last = ranges.at(-1);
    if (last?.[1] === i) last[1] = i + 1;
    else ranges.push([i, i + 1]);
  }
  return ranges;
}

const isHidden = (i) => i > 0 && isJoined(state, i - 1) && Boolean(state.seen[i - 1]);

function showSeen() {
  let all = 0;
  let seen = 0;
  const masks = { n: 0, seen: 0 };
  for (let i = 0; i < state.n; i += 1) {
    if (isNeedless(state, i)) {
      masks.n += 1;
      masks.seen += state.seen[i];
    }
    if (!isStop(state, i)) continue;
    all += 1;
    seen += state.seen[i];
  }
  const doubtful = state.model
    ? [_("{seen} of {all} doubtful seen", { seen, all }), _("no doubtful word")]
    : [_("{seen} of {all} masks seen", { seen, all }), _("no mask")];
  const disputed = [_("{seen} of {all} in dispute seen", { seen, all }), _("no word in dispute")];
  const toCheck = ngettext("{seen} of {n} mask to check seen", "{seen} of {n} masks to check seen", masks.n, masks);
  const needless = masks.n ? ` · ${toCheck}` : "";
  element("seen").textContent = (state.disputed ? disputed : doubtful)[all ? 0 : 1] + needless;
}

function showSaved() {
  if (halted && queue.isHalted && queue.waiting.length) refused(null, halted);
  const n = queue.waiting.length;
  const box = element("saved");
  box.classList.toggle("busy", n > 0);
  box.textContent = n ? _("storing {n}…", { n }) : state ? _("stored · {revision}", { revision: state.revision }) : "";
  for (const [name, can] of [["undo", state?.canUndo], ["redo", state?.canRedo]]) {
    document.querySelector(`[data-do="${name}"]`).classList.toggle("dim", !can && !n);
  }
}

function say(text) {
  element("spoken").textContent = text;
  element("saved").textContent = text;
}

// ---- keys, mouse, buttons

const does = {
  next: () => toStop(1),
  previous: () => toStop(-1),
  mask: () => decide("mask"),
  unmask: () => unmask(),
  "mask-all": () => decide("mask", { all: true }),
  "unmask-all": () => unmask({ all: true }),
  category: () => canChange() && askCategory(state, categorise),
  undo: () => turn("undo"),
  redo: () => turn("redo"),
  note: () => canChange() && askNote(reader.picked, state, (text, [first, stop]) => queue.add({ to: "note", payload: { text, first, stop } })),
  list: listSelected,
  keys: () => openDialog(element("help")),
  approve,
};

const keys = { n: "next", p: "previous", m: "mask", u: "unmask", M: "mask-all", U: "unmask-all", l: "list", c: "category", z: "undo", y: "redo", r: "note", "?": "keys" };

const moves = {
  ArrowRight: (extend) => step(1, extend),
  ArrowLeft: (extend) => step(-1, extend),
  ArrowDown: () => stepRow(1),
  ArrowUp: () => stepRow(-1),
  Home: () => choose(0, 1),
  End: () => choose(state.n - 1, state.n),
  e: () => choose(...runAround(state, reader.here)),
  Escape: () => choose(reader.here, reader.here + 1),
};

function nameOf(event) {
  if (event.ctrlKey || event.metaKey) {
    const key = event.key.toLowerCase();
    if (key === "z") return event.shiftKey ? "redo" : "undo";
    return key === "y" ? "redo" : null;
  }
  if (event.altKey) return null;
  if (event.key === "Enter" && event.shiftKey) return "approve";
  return keys[event.key] ?? null;
}

// Letters act only while the text has the focus (WCAG 2.1.4).
element("reader").addEventListener("keydown", (event) => {
  if (!state?.n || ["Shift", "Control", "Alt", "Meta"].includes(event.key)) return;
  const name = nameOf(event);
  const move = event.ctrlKey || event.metaKey || event.altKey ? null : moves[event.key];
  if (!name && !move) return;
  event.preventDefault();
  if (move) move(event.shiftKey);
  else if (mayRepeat.has(name) || !event.repeat) act(name);
});

// A held key moves from word to word; every decision needs a separate press.
const mayRepeat = new Set(["next", "previous"]);

function act(name) {
  if (name === "approve" && !latch.isOpen) say(_("not approved: release the key, then press it again"));
  else does[name]();
}

const tokenUnder = (event) => event.target.token ?? document.elementFromPoint(event.clientX, event.clientY)?.token;

element("reader").addEventListener("pointerdown", (event) => {
  const i = tokenUnder(event);
  if (i === undefined || event.button !== 0) return;
  if (event.shiftKey) extendTo(i);
  else choose(i, i + 1);
});

element("reader").addEventListener("pointermove", (event) => {
  const i = tokenUnder(event);
  if (i === undefined) return;
  if (event.buttons === 1 && event.pointerType === "mouse") {
    if (i !== reader.here) extendTo(i);
  } else if (event.pointerType === "mouse") showWhy(element("why-body"), state, [i, i + 1]);
});

element("reader").addEventListener("pointerleave", () => {
  if (state?.n) showWhy(element("why-body"), state, reader.picked);
});

element("reader").addEventListener("dblclick", (event) => {
  const i = tokenUnder(event);
  if (i !== undefined) choose(...runAround(state, i));
});

document.querySelector(".tools").addEventListener("click", (event) => {
  const name = event.target.closest("button")?.dataset.do;
  if (!name || !state || (event.detail > 1 && !mayRepeat.has(name))) return;
  act(name);
  if (!document.querySelector("dialog[open]")) element("reader").focus();
});

document.querySelector(".tools").addEventListener("keydown", (event) => {
  if (event.repeat && ["Enter", " "].includes(event.key)) event.preventDefault();
});

for (const dialog of document.querySelectorAll("dialog")) {
  dialog.addEventListener("close", () => element("reader").focus());
  dialog.addEventListener("keydown", (event) => {
    if (event.repeat && event.target.localName !== "textarea") event.preventDefault();
    else if (event.key === "Escape") dialog.close();
  });
}
element("leave").addEventListener("click", leave);

// Open until it is closed; the server keeps the choice in a cookie.
function showLegend() {
  if (element("legend").open) fillLegend(element("legend-body"), state);
}

let legendWasOpen = element("legend").open;
element("legend").addEventListener("toggle", () => {
  const isOpen = element("legend").open;
  if (state) showLegend();
  if (isOpen === legendWasOpen) return;
  legendWasOpen = isOpen;
  const body = new URLSearchParams({ csrf_token: token, legend: isOpen ? "open" : "closed" });
  fetch("/legend", { method: "POST", body, redirect: "manual" }).catch(() => {});
});

window.addEventListener("beforeprint", () => reader?.buildTo(state.n));

window.addEventListener("beforeunload", (event) => {
  if (queue.waiting.length) event.preventDefault();
});

// The lock of a case is kept for a person who reads, not for an open page.
let isRead = true;
for (const kind of ["keydown", "pointerdown", "pointermove", "wheel"]) {
  window.addEventListener(kind, () => (isRead = true), { passive: true });
}

setInterval(() => {
  if (state && !state.isApproved && isRead && document.visibilityState === "visible") {
    isRead = false;
    post(at("keep"), token, {}).catch((error) => {
      if (error instanceof Refused && error.status === 423) refused(null, error);
    });
  }
}, KEEP_EVERY_MS);

begin();
