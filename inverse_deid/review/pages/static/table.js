// The table of a file: rows are loaded as they are needed, corrected by keys, and approved together.
// The server is told which rows were shown: each part of a row must be on the screen for a moment.
import { isJoined, isLoss, isSure, markerOf, runAround, stateOf } from "./case_state.js";
import { ask, askSure, listWords, openDialog } from "./dialogs.js";
import { classesOf, codeOf, listCopied, lostCopied } from "./reader.js";
import { Refused, post } from "./requests.js";
import { fillLegend, sentence, showWhy } from "./why.js";
import { _, ngettext } from "./texts.js";

const main = document.getElementById("main");
const element = (id) => document.getElementById(id);
const { source, token } = main.dataset;
const box = element("rows");
const send = (name, payload = {}) => post(`/table/${source}/${name}`, token, payload);

const TICK_MS = 250;
const BAND_PIXELS = 24;
const AHEAD_PIXELS = 1800;
const AT_ONCE = 50;
const APPROVED_AT_ONCE = 20;

const rows = [];
const byId = new Map();
const visible = new Set();
const toReport = new Map();
const undoable = [];
let n = Number(main.dataset.rows);
let legend = null;
let isEnd = false;
let loading = null;
let here = { row: 0, first: 0, stop: 1, anchor: 0 };
let asReleased = false;
let approved = [];
let unfinished = [];
let chain = Promise.resolve();

// ---- rows

const digits = (text) => new TextEncoder().encode(text).map((code) => code - 48);

function take(row, data) {
  row.state = null;
  if (data.words) {
    row.state = stateOf({ ...data, legend });
    row.state.touched = digits(data.touched);
  }
  row.obstacle = data.obstacle;
  row.revision = data.revision ?? 0;
}

// Words to decide before the row can be approved, and masks that may be needless.
const isOpen = (state, i) => Boolean(state.doubtful[i] && !state.touched[i]);
const isMaskToCheck = (state, i) => Boolean(isLoss(state, i) && !state.doubtful[i] && !state.touched[i]);
const isToCheck = (state, i) => isOpen(state, i) || isMaskToCheck(state, i);

async function load() {
  if (isEnd) return false;
  loading ??= (async () => {
    const after = rows.length ? rows.at(-1).number : -1;
    const found = await send("rows", { after });
    legend ??= found.legend;
    unfinished = after < 0 ? found.unfinished : unfinished;
    isEnd = found.rows.length < AT_ONCE;
    for (const data of found.rows) add(data);
    loading = null;
    if (isEnd) n = rows.length;
    showMeter();
    return found.rows.length > 0;
  })();
  try {
    return await loading;
  } catch (error) {
    loading = null;
    throw error;
  }
}

function add(data) {
  const row = { id: data.case_id, number: data.number, name: data.name, index: rows.length, isRead: false, isApproved: false, bands: null };
  take(row, data);
  row.box = document.createElement("div");
  row.box.className = "case";
  row.box.row = row;
  row.box.dataset.id = row.id;
  rows.push(row);
  byId.set(row.id, row);
  build(row);
  box.append(row.box);
  near.observe(row.box);
  seen.observe(row.box);
}

function build(row) {
  const of = document.createElement("div");
  of.className = "of";
  const name = document.createElement("b");
  name.textContent = row.name;
  row.said = document.createElement("span");
  of.append(name, row.said);
  row.body = document.createElement("div");
  row.box.replaceChildren(of, row.body);
  row.box.style.height = "";
  row.isBuilt = true;
  fill(row);
}

function fill(row) {
  const { state } = row;
  if (!row.isBuilt) return;
  row.body.replaceChildren();
  row.spans = [];
  if (!state) {
    const link = document.createElement("a");
    const text = document.createElement("p");
    link.href = `/cases/${row.id}`;
    link.textContent = _("Read it on its own page");
    text.append(`${row.obstacle}. `, link);
    row.body.append(text);
  } else {
    const { copied } = state.data;
    if (copied === null) {
      const fault = document.createElement("p");
      fault.className = "fault";
      fault.textContent = lostCopied();
      row.body.append(fault);
    } else if (copied.length) row.body.append(listCopied(copied, { folds: false }));
    if (state.data.warning) {
      const warning = document.createElement("p");
      warning.className = "fault";
      warning.textContent = state.data.warning;
      row.body.append(warning);
    }
    fillText(row);
  }
  showState(row);
}

function fillText(row) {
  const { state } = row;
  const { parts } = state.data;
  const firsts = new Map(parts.map((part) => [part.first, part.name]));
  let text = null;
  for (let i = 0; i < state.n; i += 1) {
    if (text === null || (firsts.has(i) && parts.length > 1)) {
      if (parts.length > 1 && firsts.has(i)) {
        const name = document.createElement("h3");
        name.textContent = firsts.get(i);
        row.body.append(name);
      }
      text = document.createElement("p");
      row.body.append(text);
      if (i === 0 && state.gaps[0].trim()) text.append(state.gaps[0]);
    }
    const span = document.createElement("span");
    span.token = i;
    row.spans[i] = span;
    text.append(span, gapAfter(row, i, firsts));
    dress(row, i);
  }
  if (!state.n) row.body.append(document.createElement("p"));
}

function gapAfter(row, i, firsts) {
  const { state } = row;
  if (asReleased && isJoined(state, i)) return "";
  const gap = (asReleased ? state.maskedGaps : state.gaps)[i + 1];
  return i + 1 === state.n || firsts.has(i + 1) ? gap.trimEnd() : gap.replace(/\s*\n\s*/g, "\n");
}

function dress(row, i) {
  const { state } = row;
  const span = row.spans[i];
  if (!span) return;
  const joined = isJoined(state, i);
  const isHead = !state.keep[i] && !(i > 0 && isJoined(state, i - 1));
  let classes = `${classesOf(state, i)}${joined && !asReleased ? " joined" : ""}`;
  if (isToCheck(state, i)) classes += " due";
  else if (state.doubtful[i]) classes += " settled";
  let text = state.words[i];
  let code = asReleased ? "" : codeOf(state, i, joined);
  if (!isToCheck(state, i)) code = code.replace(/ ?\?$/, "");
  if (asReleased && !state.keep[i]) {
    text = isHead ? markerOf(state, i, runAround(state, i)[1]) : "";
    classes = isHead ? `${classes} x` : "";
  }
  if (row.index === here.row && i >= here.first && i < here.stop) classes += " here";
  if (span.className !== classes) span.className = classes;
  if (span.textContent !== text) span.textContent = text;
  if (code) span.dataset.c = code;
  else delete span.dataset.c;
}

function count(row, isCounted) {
  if (!row.state) return 0;
  let found = 0;
  for (let i = 0; i < row.state.n; i += 1) found += isCounted(row.state, i);
  return found;
}

function countIn(row) {
  row.nOpen = count(row, isOpen);
  row.nMasks = count(row, isMaskToCheck);
}

const masksToCheck = (n) => ngettext("{n} mask to check", "{n} masks to check", n, { n });

function showState(row) {
  countIn(row);
  const open = row.nOpen;
  row.box.classList.toggle("approved", row.isApproved);
  row.box.classList.toggle("current", row.index === here.row);
  const todo = ngettext("{n} word to decide", "{n} words to decide", open, { n: open });
  row.said.className = open && !row.isApproved ? "todo" : "";
  if (row.isApproved) row.said.textContent = _("approved");
  else if (!row.state) row.said.textContent = _("own page");
  else if (open) row.said.textContent = todo;
  else if (row.isRead && row.nMasks) row.said.textContent = _("seen · {masks}", { masks: masksToCheck(row.nMasks) });
  else row.said.textContent = row.isRead ? _("seen") : _("not seen yet");
}

// Rows far from the screen keep their height and nothing else.
const near = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting, boundingClientRect } of entries) {
      const { row } = target;
      if (isIntersecting && !row.isBuilt) build(row);
      else if (!isIntersecting && row.isBuilt && row.index !== here.row && boundingClientRect.height) {
        target.style.height = `${boundingClientRect.height}px`;
        target.replaceChildren();
        row.isBuilt = false;
        row.spans = [];
      }
    }
  },
  { root: box, rootMargin: `${AHEAD_PIXELS}px 0px` },
);

const seen = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) visible.add(target.row);
      else {
        visible.delete(target.row);
        target.row.last = null;
      }
    }
  },
  { root: box },
);

// ---- what was shown

// Each row is cut into bands; a band was shown if it was on the screen at two ticks after each other.
function look() {
  if (document.visibilityState !== "visible" || document.querySelector("dialog[open]")) {
    for (const row of visible) row.last = null;
    return;
  }
  const frame = box.getBoundingClientRect();
  const top = Math.max(0, frame.top);
  const bottom = Math.min(globalThis.innerHeight, frame.bottom);
  for (const row of visible) {
    if (row.isRead || row.isApproved || !row.state || !row.isBuilt) continue;
    const place = row.box.getBoundingClientRect();
    const nBands = Math.max(1, Math.ceil(place.height / BAND_PIXELS));
    if (row.bands?.length !== nBands) [row.bands, row.last] = [new Uint8Array(nBands), null];
    const first = Math.ceil(Math.max(0, top - place.top) / BAND_PIXELS - 0.05);
    const stop = place.bottom <= bottom + 1 ? nBands : Math.floor((bottom - place.top) / BAND_PIXELS);
    if (row.last) {
      for (let i = Math.max(first, row.last[0]); i < Math.min(stop, row.last[1]); i += 1) row.bands[i] = 1;
    }
    row.last = [first, stop];
    if (row.bands.every(Boolean)) toReport.set(row.id, row.revision);
  }
  report();
}

let isReporting = false;
async function report() {
  if (isReporting || !toReport.size) return;
  isReporting = true;
  const some = [...toReport].slice(0, AT_ONCE);
  for (const [id] of some) toReport.delete(id);
  try {
    const { read } = await send("read", { rows: some });
    for (const id of read) {
      const row = byId.get(id);
      row.isRead = true;
      if (row.isBuilt) showState(row);
    }
  } catch (error) {
    trouble(error.message);
  }
  isReporting = false;
  showMeter();
}

setInterval(look, TICK_MS);

function showMeter() {
  let nSeen = 0;
  let open = 0;
  let masks = 0;
  for (const row of rows) {
    if (row.isApproved) continue;
    nSeen += row.isRead;
    open += row.nOpen ?? 0;
    masks += row.nMasks ?? 0;
  }
  const left = n - rows.filter((row) => row.isApproved).length;
  const said = _("{seen} of {n} rows seen", { seen: nSeen, n: left });
  const todo = ngettext("{n} word to decide in them", "{n} words to decide in them", open, { n: open });
  element("meter").textContent = `${said} · ${todo}${masks ? ` · ${masksToCheck(masks)}` : ""}`;
}

// ---- moving

const row = () => rows[here.row];

function choose(index, first, stop, { anchor = first, speaks = true } = {}) {
  const old = row();
  here = { row: index, first, stop, anchor };
  const now = row();
  if (!now.isBuilt) build(now);
  for (const one of new Set([old, now])) {
    if (one?.isBuilt && one.state) for (let i = 0; i < one.state.n; i += 1) dress(one, i);
    if (one?.isBuilt) showState(one);
  }
  if (now.state?.n) showWhy(element("why-body"), now.state, [first, stop]);
  (now.spans[first] ?? now.box).scrollIntoView({ block: "nearest" });
  if (!speaks) return;
  clearTimeout(choose.spoken);
  choose.spoken = setTimeout(() => {
    const said = now.state?.n ? sentence(now.state, first) : now.obstacle;
    element("spoken").textContent = _("Row {number}, {said}", { number: index + 1, said });
  }, 150);
}

function keepCurrentWhole() {
  const place = row().box.getBoundingClientRect();
  if (place.height < box.clientHeight) row().box.scrollIntoView({ block: "nearest" });
}

async function stepRow(by) {
  const index = here.row + by;
  if (index < 0) return;
  if (index >= rows.length && !(await load())) {
    say(_("this is the last row"));
    return;
  }
  choose(index, 0, 1);
  keepCurrentWhole();
}

function step(by, extend) {
  const { state } = row();
  if (!state?.n) return;
  const at = here.first === here.anchor ? here.stop - 1 : here.first;
  const i = Math.max(0, Math.min(state.n - 1, at + by));
  if (extend) choose(here.row, Math.min(i, here.anchor), Math.max(i, here.anchor) + 1, { anchor: here.anchor });
  else choose(here.row, i, i + 1);
}

// The words to check that touch each other: of a mask, or one kept word.
function aroundToCheck(state, i) {
  let stop = i + 1;
  while (stop < state.n && !state.keep[i] && isJoined(state, stop - 1) && isToCheck(state, stop)) stop += 1;
  return [i, stop];
}

function findToCheck(index, from, by) {
  const { state } = rows[index];
  if (!state || rows[index].isApproved) return -1;
  for (let i = from; i >= 0 && i < state.n; i += by) if (isToCheck(state, i)) return i;
  return -1;
}

const isWhole = (one) => one.box.getBoundingClientRect().bottom <= box.getBoundingClientRect().bottom + 1;

// The next word to check. Nothing is skipped: where the screen has none left, the next screen comes first.
async function next({ pages = true } = {}) {
  let from = here.stop;
  let isEndOfScreen = false;
  for (let index = here.row; !isEndOfScreen; index += 1) {
    if (index >= rows.length && !(await load())) break;
    const one = rows[index];
    const isShown = one.isRead || one.isApproved || !one.state || (one.isBuilt && isWhole(one));
    isEndOfScreen = !isShown && index !== here.row;
    const found = isEndOfScreen ? -1 : findToCheck(index, from, 1);
    isEndOfScreen ||= found >= 0 && !pages && !isWhole(one);
    if (found >= 0 && !isEndOfScreen) {
      choose(index, ...aroundToCheck(one.state, found));
      return;
    }
    from = 0;
  }
  const frame = box.getBoundingClientRect();
  if (chooseOpen((one) => one.box.getBoundingClientRect().top >= frame.top - 1) || !pages) return;
  if (isEndOfScreen || box.scrollTop + box.clientHeight < box.scrollHeight - 2) await turnPage(1);
  else if (!chooseOpen(() => true)) say(_("nothing to check after this word"));
}

// The first doubtful word above the selected one, in rows of a kind; false = none.
function chooseOpen(isChosen) {
  for (const one of rows.slice(0, here.row + 1)) {
    if (!one.nOpen || one.isApproved || !isChosen(one)) continue;
    for (let i = 0; i < one.state.n; i += 1) {
      if (!isOpen(one.state, i) || (one.index === here.row && i >= here.first)) continue;
      choose(one.index, ...aroundToCheck(one.state, i));
      return true;
    }
  }
  return false;
}

function previous() {
  let from = here.first - 1;
  for (let index = here.row; index >= 0; index -= 1) {
    let found = findToCheck(index, from, -1);
    if (found >= 0) {
      const { state } = rows[index];
      while (found > 0 && !state.keep[found] && isJoined(state, found - 1) && isToCheck(state, found - 1)) found -= 1;
      choose(index, ...aroundToCheck(state, found));
      return;
    }
    from = index > 0 && rows[index - 1].state ? rows[index - 1].state.n - 1 : -1;
  }
  say(_("nothing to check before this word"));
}

// A screen further begins with the row that was cut off at the edge.
async function turnPage(by) {
  const frame = box.getBoundingClientRect();
  if (by > 0) {
    let cut = rows.find((one) => one.box.getBoundingClientRect().bottom > frame.bottom + 1);
    if (!cut && (await load())) cut = rows.find((one) => one.box.getBoundingClientRect().bottom > frame.bottom + 1);
    if (!cut) {
      say(_("this is the last row"));
      return;
    }
    const place = cut.box.getBoundingClientRect();
    const isTall = place.top <= frame.top + 1;
    if (isTall) box.scrollBy({ top: box.clientHeight - 2 * BAND_PIXELS, behavior: "instant" });
    else box.scrollBy({ top: place.top - frame.top, behavior: "instant" });
  } else box.scrollBy({ top: -(box.clientHeight - 2 * BAND_PIXELS), behavior: "instant" });
  if (box.scrollTop + 3 * box.clientHeight > box.scrollHeight) await load();
  const first = rows.find((one) => one.box.getBoundingClientRect().top >= frame.top - 2) ?? row();
  const place = first.box.getBoundingClientRect();
  if (place.top > frame.bottom) return;
  const { scrollTop } = box;
  choose(first.index, 0, 1);
  box.scrollTop = scrollTop;
}

// ---- deciding

function refresh(found) {
  for (const data of found) {
    const one = byId.get(data.case_id);
    if (!one) continue;
    if (data.words === undefined && !data.obstacle) {
      loadAgain(one); // the server was started again, and does not know that it was sent
      continue;
    }
    const wasRead = one.isRead;
    take(one, data);
    one.isRead = wasRead; // the server keeps that of rows that this reader changes themselves
    if (one.isBuilt) fill(one);
    else countIn(one);
  }
  showMeter();
}

async function stored(does) {
  element("saved").textContent = _("storing");
  try {
    const body = await does();
    element("saved").textContent = _("stored");
    return body;
  } catch (error) {
    element("saved").textContent = _("not stored");
    trouble(_("Not stored. {problem}", { problem: error.message }));
    if (error instanceof Refused && [409, 423, 403, 400].includes(error.status)) await loadAgain(row());
    return null;
  }
}

async function loadAgain(one) {
  try {
    const found = await send("rows", { after: one.number - 1 });
    for (const data of found.rows) {
      const old = byId.get(data.case_id);
      if (old && old.revision !== (data.revision ?? 0)) old.isRead = false;
    }
    refresh(found.rows.filter((data) => byId.has(data.case_id)));
  } catch (error) {
    trouble(error.message);
  }
}

async function decide(act) {
  const one = row();
  const { state } = one;
  if (!canChange(one)) return;
  const { first, stop } = here;
  if (act === "unmask" && !(await mayUncover(state, first, stop))) return;
  const wasToCheck = Array.from({ length: stop - first }, (_word, k) => isToCheck(state, first + k)).some(Boolean);
  const body = await stored(() => send("act", { case: one.id, revision: one.revision, act, ranges: [[first, stop]] }));
  if (!body) return;
  undoable.push({ ids: [one.id], where: { ...here } });
  refresh(body.rows);
  if (wasToCheck) await next({ pages: false });
  else choose(one.index, first, stop);
}

async function mayUncover(state, first, stop) {
  const sure = new Set();
  for (let i = first; i < stop; i += 1) if (isSure(state, i)) sure.add(i);
  if (!sure.size || (await ask("uncover", askSure(state, sure)))) return true;
  say(_("left masked"));
  return false;
}

// All words of the row that are marked are right as they are.
async function confirmRow() {
  const one = row();
  if (one.isApproved) {
    await stepRow(1);
    return;
  }
  if (!canChange(one)) return;
  const ranges = [];
  for (let i = 0; i < one.state.n; i += 1) if (isToCheck(one.state, i)) ranges.push([i, i + 1]);
  if (ranges.length) {
    const body = await stored(() => send("act", { case: one.id, revision: one.revision, act: "confirm", ranges }));
    if (!body) return;
    undoable.push({ ids: [one.id], where: { ...here } });
    refresh(body.rows);
  }
  choose(one.index, Math.max(0, one.state.n - 1), one.state.n, { speaks: false });
  await next({ pages: false });
  if (here.row === one.index) await stepRow(1);
}

async function decideInFile(act) {
  const one = row();
  const { state } = one;
  if (!canChange(one)) return;
  const { first, stop } = here;
  const words = state.words.slice(first, stop);
  const keeps = act === "confirm" ? Boolean(state.keep[first]) : null;
  const said = await sweepFile(act, words, keeps);
  if (said === null) return;
  say(said);
  await next({ pages: false });
}

// Decides words in all rows, some at a time; returns what was done in words, null = nothing.
async function sweepFile(act, words, keeps) {
  if (act === "unmask") {
    const question = _("Unmask “{words}” in the whole file, also where the tool was sure, and in rows that you have not seen yet?", { words: words.join(" ") });
    if (!(await ask("uncover", question))) {
      say(_("left masked"));
      return null;
    }
  }
  return sweepRows({ act, words, keeps, after: -1 });
}

async function sweepRows(asked) {
  const done = { ids: [], where: { ...here } };
  let { after } = asked;
  let nLeft = 0;
  do {
    const body = await stored(() => send("sweep", { ...asked, after }));
    if (!body) break;
    done.ids.push(...body.rows.map((data) => data.case_id));
    for (const data of body.rows) revisions.set(data.case_id, data.revision);
    refresh(body.rows);
    nLeft += body.n_left;
    after = body.after;
    if (after !== null) element("saved").textContent = _("row {number} of {n}", { number: after, n });
  } while (after !== null);
  if (done.ids.length) undoable.push(done);
  const changed = ngettext("{n} row changed", "{n} rows changed", done.ids.length, { n: done.ids.length });
  const held = ngettext("{n} row is held by another reader", "{n} rows are held by other readers", nLeft, { n: nLeft });
  return nLeft ? `${changed}. ${held}` : changed;
}

// ---- the doubtful words of the file, each decided once

async function openGroups() {
  const found = await stored(() => send("words"));
  if (!found) return;
  element("saved").textContent = "";
  fillGroups(found.words);
  element("group-said").textContent = found.words.length ? "" : _("No word of this file is in doubt any more.");
  if (!element("group-box").open) openDialog(element("group-box"));
  focusGroup(0);
}

function fillGroups(words) {
  element("groups").replaceChildren(
    ...words.map((one) => {
      const item = document.createElement("li");
      const text = document.createElement("div");
      const word = document.createElement("b");
      const places = document.createElement("span");
      const quote = document.createElement("span");
      const mark = document.createElement("mark");
      const buttons = document.createElement("span");
      word.textContent = one.word;
      places.className = "dim";
      const said = _("places: {kept} kept, {masked} masked", { kept: one.n_kept, masked: one.n_masked });
      places.textContent = ` ${said}`;
      mark.textContent = one.word;
      quote.className = "quote";
      quote.append(one.before, mark, one.after);
      text.append(word, places, quote);
      buttons.className = "row";
      const acts = [["mask", _("Mask")], ["unmask", _("Unmask")], ["confirm", _("Right")]];
      if (element("list-form")) acts.push(["list", _("All cases")]);
      for (const [act, label] of acts) {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = label;
        button.dataset.act = act;
        button.setAttribute("aria-label", `${label} ${one.word}`);
        button.addEventListener("click", () => decideGroup(item, one, act));
        buttons.append(button);
      }
      item.one = one;
      item.append(text, buttons);
      return item;
    }),
  );
}

function focusGroup(number) {
  const all = [...element("groups").children];
  const item = all[Math.max(0, Math.min(all.length - 1, number))];
  (item?.querySelector('[data-act="confirm"]') ?? element("group-close")).focus();
}

function decideGroup(item, one, act) {
  if (act === "list") {
    listWords([one.word], one.case_id);
    return;
  }
  chain = chain
    .then(async () => {
      if (!item.isConnected) return;
      const number = [...element("groups").children].indexOf(item);
      const said = await sweepFile(act, [one.word], null);
      const isOpen = element("group-box").open;
      if (said !== null) item.remove();
      if (!isOpen) openDialog(element("group-box")); // a question closes it
      element("group-said").textContent = said ?? _("left masked");
      focusGroup(number);
    })
    .catch((error) => trouble(error.message));
}

element("group-box").addEventListener("keydown", (event) => {
  const item = event.target.closest("li");
  const number = [...element("groups").children].indexOf(item);
  const act = { m: "mask", u: "unmask", k: "confirm", l: "list" }[event.key];
  if (event.ctrlKey || event.metaKey || event.altKey || !item) return;
  if (act && !event.repeat) decideGroup(item, item.one, act);
  else if (event.key === "ArrowDown" || event.key === "ArrowUp") focusGroup(number + (event.key === "ArrowDown" ? 1 : -1));
  else return;
  event.preventDefault();
});

element("group-close").addEventListener("click", () => element("group-box").close());

// Of rows that are not loaded yet.
const revisions = new Map();
const revisionOf = (id) => byId.get(id)?.revision ?? revisions.get(id);

async function undo() {
  const last = undoable.pop();
  if (!last) {
    say(_("nothing to undo"));
    return;
  }
  for (let begin = 0; begin < last.ids.length; begin += AT_ONCE) {
    const some = last.ids.slice(begin, begin + AT_ONCE).map((id) => [id, revisionOf(id)]);
    const body = await stored(() => send("undo", { rows: some }));
    if (!body) return;
    for (const data of body.rows) revisions.set(data.case_id, data.revision);
    refresh(body.rows);
  }
  choose(last.where.row, last.where.first, last.where.stop);
  say(ngettext("undone in {n} row", "undone in {n} rows", last.ids.length, { n: last.ids.length }));
}

function canChange(one) {
  if (!one?.state?.n) return false;
  if (one.isApproved) say(_("you have approved this case, so it can no longer be changed"));
  return !one.isApproved;
}

// ---- approving

async function approve() {
  look();
  const plan = await stored(() => send("ask"));
  if (!plan) return;
  element("saved").textContent = "";
  element("approving-staying").replaceChildren(
    ...plan.staying.map((said) => {
      const item = document.createElement("li");
      item.textContent = said;
      return item;
    }),
  );
  element("approving-yes").hidden = !plan.rows.length;
  const planned = new Set(plan.rows.map(([id]) => id));
  const masks = rows.reduce((sum, one) => sum + (planned.has(one.id) ? (one.nMasks ?? 0) : 0), 0);
  const needless = ngettext("{n} mask in them may be needless.", "{n} masks in them may be needless.", masks, { n: masks });
  if (!(await ask("approving", masks ? `${plan.question} ${needless}` : plan.question)) || !plan.rows.length) {
    say(_("nothing was approved"));
    return;
  }
  approved = [];
  const left = [];
  for (let begin = 0; begin < plan.rows.length; begin += APPROVED_AT_ONCE) {
    const body = await stored(() => send("approve", { rows: plan.rows.slice(begin, begin + APPROVED_AT_ONCE) }));
    if (!body) break;
    approved.push(...body.done);
    left.push(...Object.values(body.left));
    for (const id of body.done) setApproved(id, true);
    element("done-next").href = body.is_through ? "/files" : "/next";
    element("done-next").textContent = body.is_through ? _("Download") : _("Next case");
    element("saved").textContent = _("{done} of {n} approved", { done: approved.length, n: plan.rows.length });
  }
  undoable.length = 0;
  showMeter();
  const said = ngettext("{n} row approved.", "{n} rows approved.", approved.length, { n: approved.length });
  const stay = ngettext("{n} row stays: {why}.", "{n} rows stay, one of them because: {why}.", left.length, { n: left.length, why: left[0] });
  element("done-text").textContent = left.length ? `${said} ${stay}` : said;
  element("done-undo").hidden = !approved.length;
  element("done").hidden = false;
}

function setApproved(id, isApproved) {
  const one = byId.get(id);
  if (!one) return;
  one.isApproved = isApproved;
  if (!isApproved) one.isRead = false;
  one.bands = null;
  if (one.isBuilt) showState(one);
}

async function undoApproval() {
  element("done").hidden = true;
  const ids = approved.splice(0).reverse();
  let why = "";
  for (let begin = 0; begin < ids.length; begin += APPROVED_AT_ONCE) {
    const body = await stored(() => send("reopen", { rows: ids.slice(begin, begin + APPROVED_AT_ONCE) }));
    if (!body) break;
    why ||= Object.values(body.left)[0] ?? "";
  }
  if (why) trouble(why);
  else location.reload();
}

// ---- reporting

function trouble(text, choices = [[_("Continue"), () => {}]]) {
  element("trouble-text").textContent = text;
  const buttons = choices.map(([label, then]) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = label;
    button.addEventListener("click", () => {
      element("trouble").hidden = true;
      box.focus();
      then();
    });
    return button;
  });
  element("trouble-buttons").replaceChildren(...buttons);
  element("trouble").hidden = false;
}

// Decisions for the whole file that ended with the page before they were in all rows.
function askUnfinished() {
  const [asked, ...others] = unfinished;
  if (!asked) return;
  const turn = (does) => () => {
    unfinished = others;
    chain = chain.then(does).then(askUnfinished).catch((error) => trouble(error.message));
  };
  trouble(_("Your decision about “{words}” in the whole file is not in all rows yet.", { words: asked.words.join(" ") }), [
    [_("Go on"), turn(async () => say(await sweepRows(asked)))],
    [_("Leave it"), turn(() => stored(() => send("sweep", { ...asked, is_left: true })))],
  ]);
}

function say(text) {
  element("spoken").textContent = text;
  element("saved").textContent = text;
}

// ---- find

function find(letters) {
  const wanted = letters.toLowerCase();
  const frame = box.getBoundingClientRect();
  for (const one of rows) {
    if (!one.state || one.box.getBoundingClientRect().bottom <= frame.top + 1) continue;
    const i = one.state.words.findIndex((word) => word.toLowerCase().startsWith(wanted));
    if (i >= 0) return [one.index, i];
  }
  return null;
}

function openFind() {
  const input = element("find-input");
  let found = null;
  input.value = "";
  element("find-found").textContent = "";
  input.oninput = () => {
    found = input.value ? find(input.value) : null;
    element("find-found").textContent = found ? _("Row {number}: {word}", { number: found[0] + 1, word: rows[found[0]].state.words[found[1]] }) : input.value ? _("not in the rows that are loaded") : "";
  };
  element("find-box").returnValue = "";
  element("find-box").onclose = () => {
    box.focus();
    if (element("find-box").returnValue === "yes" && found) choose(found[0], found[1], found[1] + 1);
  };
  openDialog(element("find-box"));
  input.focus();
}

element("find-cancel").addEventListener("click", () => element("find-box").close(""));

// ---- keys, mouse, buttons

function turnView() {
  asReleased = !asReleased;
  document.querySelector('[data-do="view"]').setAttribute("aria-pressed", String(asReleased));
  for (const one of rows) if (one.isBuilt) fill(one);
  choose(here.row, here.first, here.stop);
  say(asReleased ? _("as released") : _("words under the masks are shown"));
}

const does = {
  next: () => next(),
  previous,
  mask: () => decide("mask"),
  unmask: () => decide("unmask"),
  confirm: () => decide("confirm"),
  row: confirmRow,
  "mask-all": () => decideInFile("mask"),
  "unmask-all": () => decideInFile("unmask"),
  "confirm-all": () => decideInFile("confirm"),
  group: openGroups,
  list: () => row().state?.n && listWords(row().state.words.slice(here.first, here.stop), row().id),
  undo,
  view: turnView,
  find: openFind,
  open: () => row() && location.assign(`/cases/${row().id}`),
  keys: () => openDialog(element("help")),
  approve,
  page: () => turnPage(1),
  "page-back": () => turnPage(-1),
};

const keys = { n: "next", p: "previous", m: "mask", u: "unmask", k: "confirm", M: "mask-all", U: "unmask-all", K: "confirm-all", g: "group", l: "list", z: "undo", v: "view", o: "open", "/": "find", "?": "keys", PageDown: "page", PageUp: "page-back" };
const mayRepeat = new Set(["next", "previous", "page", "page-back"]);
const moves = {
  ArrowRight: (extend) => step(1, extend),
  ArrowLeft: (extend) => step(-1, extend),
  ArrowDown: () => stepRow(1),
  ArrowUp: () => stepRow(-1),
  Home: () => choose(0, 0, 1),
  End: () => choose(rows.length - 1, 0, 1),
  e: () => row().state && choose(here.row, ...runAround(row().state, here.first)),
  Escape: () => choose(here.row, here.first, here.first + 1),
};

function nameOf(event) {
  if (event.ctrlKey || event.metaKey) return event.key.toLowerCase() === "z" ? "undo" : null;
  if (event.altKey) return null;
  if (event.key === "Enter") return event.shiftKey ? "approve" : "row";
  if (event.key === " ") return event.shiftKey ? "page-back" : "page";
  return keys[event.key] ?? null;
}

// One after the other: a key that is pressed while another one is being stored waits for it.
function act(name) {
  chain = chain.then(does[name]).catch((error) => trouble(error.message));
}

box.addEventListener("keydown", (event) => {
  if (!rows.length || ["Shift", "Control", "Alt", "Meta"].includes(event.key)) return;
  const name = nameOf(event);
  const move = event.ctrlKey || event.metaKey || event.altKey ? null : moves[event.key];
  if (!name && !move) return;
  event.preventDefault();
  if (move) chain = chain.then(() => move(event.shiftKey)).catch((error) => trouble(error.message));
  else if (mayRepeat.has(name) || !event.repeat) act(name);
});

box.addEventListener("pointerdown", (event) => {
  const found = event.target.closest(".case")?.row;
  if (!found || event.button !== 0 || event.target.closest("a")) return;
  const i = event.target.token;
  if (i === undefined) choose(found.index, 0, 1);
  else if (event.shiftKey && found.index === here.row) choose(found.index, Math.min(i, here.anchor), Math.max(i, here.anchor) + 1, { anchor: here.anchor });
  else choose(found.index, i, i + 1);
});

box.addEventListener("dblclick", (event) => {
  const found = event.target.closest(".case")?.row;
  if (found?.state && event.target.token !== undefined) choose(found.index, ...runAround(found.state, event.target.token));
});

box.addEventListener("scroll", () => {
  if (!isEnd && !loading && box.scrollTop + box.clientHeight + AHEAD_PIXELS > box.scrollHeight) {
    load().catch((error) => trouble(error.message));
  }
}, { passive: true });

document.querySelector(".tools").addEventListener("click", (event) => {
  const name = event.target.closest("button")?.dataset.do;
  if (!name || !rows.length || (event.detail > 1 && !mayRepeat.has(name))) return;
  box.focus({ preventScroll: true });
  act(name);
});

for (const dialog of document.querySelectorAll("dialog")) {
  dialog.addEventListener("close", () => {
    if (!document.querySelector("dialog[open]")) box.focus({ preventScroll: true });
  });
  dialog.addEventListener("keydown", (event) => {
    if (event.repeat && event.target.localName !== "input") event.preventDefault();
    else if (event.key === "Escape") dialog.close("");
  });
}

element("done-undo").addEventListener("click", () => (chain = chain.then(undoApproval)));
element("legend").addEventListener("toggle", () => {
  const shown = rows.find((one) => one.state);
  if (element("legend").open && shown) fillLegend(element("legend-body"), shown.state);
});

async function begin() {
  try {
    await load();
  } catch (error) {
    trouble(error.message);
    element("saved").textContent = "";
    return;
  }
  box.removeAttribute("aria-busy");
  element("saved").textContent = "";
  if (!rows.length) {
    const text = document.createElement("p");
    text.className = "empty";
    text.textContent = _("No row of this file is left for you to read.");
    box.append(text);
    return;
  }
  box.focus({ preventScroll: true });
  choose(0, 0, 1);
  askUnfinished();
}

begin();
