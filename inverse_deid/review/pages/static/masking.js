// How far each file is, asked again and again; a reload loses nothing, as the server knows it all.
import { change, countDocuments, duration, Line, list, MOVING, shown } from "./files.js";
import { _, ngettext } from "./texts.js";

const element = (id) => document.getElementById(id);
const token = element("summary").dataset.token;
const lines = new Map();
const TOLD = {
  ready: _("waits for your choices"),
  queued: _("waits for its turn"),
  stopped: _("stopped"),
  failed: _("cannot be masked"),
};

function describe(file) {
  const details = file.facts;
  const warnings = details.filter((one) => one.is_warning);
  if (file.state === "masking") {
    const share = file.n_expected ? Math.min(1, file.n_done / file.n_expected) : 0;
    const left = file.seconds_left === null ? "" : _(", {duration} left", { duration: duration(file.seconds_left) });
    const told = _("{n} of {documents}", { n: shown(file.n_done), documents: countDocuments(file.n_expected) });
    return { told: told + left, share, details };
  }
  if (file.state === "done") {
    const left = warnings.length ? ngettext(", {n} warning", ", {n} warnings", warnings.length, { n: shown(warnings.length) }) : "";
    return { told: _("masked · {documents}", { documents: countDocuments(file.n_done) }) + left, details };
  }
  if (file.waits) return { told: file.waits, details };
  return { told: file.problem || TOLD[file.state], isFault: Boolean(file.problem), details };
}

async function act(ids, what, next = "") {
  try {
    for (const id of ids) await change(id, token, what);
    if (next) location.assign(next);
    fault("");
  } catch (error) {
    fault(error.message);
  }
  await refresh();
}

function fault(message) {
  element("fault").textContent = message;
  element("fault").hidden = !message;
}

function summarise(files, isReady) {
  const named = (...states) => files.filter((file) => states.includes(file.state));
  const done = named("done");
  const open = named(...MOVING);
  const stopped = named("stopped");
  const nDocuments = done.reduce((sum, file) => sum + file.n_done, 0);
  let text = _("No file was added.");
  if (files.length) text = ngettext("{done} of {n} file is masked", "{done} of {n} files are masked", files.length, { done: done.length, n: shown(files.length) });
  if (nDocuments) text += ` (${countDocuments(nDocuments)})`;
  if (open.length && !isReady) text = _("The program is getting ready. This takes a few seconds.");
  else if (open.length) text += _(", {n} to go. You can close this page, the work goes on.", { n: open.length });
  else if (stopped.length) text += _(", {n} stopped.", { n: stopped.length });
  else if (files.length) text += ".";
  if (element("summary").textContent !== text) element("summary").textContent = text;
  element("confirm").hidden = !named("confirming").length;
  element("read").hidden = !done.length || open.length > 0;
  element("stop-all").hidden = open.length < 2;
  element("stop-all").onclick = () => act(open.map((file) => file.id), "stop");
  element("resume-all").hidden = stopped.length < 2;
  element("resume-all").onclick = () => act(stopped.map((file) => file.id), "resume");
}

function show({ files, is_ready: isReady, fault: message }) {
  for (const [id, line] of lines) {
    if (files.some((file) => file.id === id)) continue;
    line.element.remove();
    lines.delete(id);
  }
  for (const file of files) {
    if (!lines.has(file.id)) {
      lines.set(file.id, new Line(file.name));
      element("files").append(lines.get(file.id).element);
    }
    const line = lines.get(file.id);
    line.show(describe(file));
    const actions = {};
    if (MOVING.includes(file.state)) actions[_("Stop")] = () => act([file.id], "stop");
    if (file.state === "confirming") actions[_("Choose again")] = () => act([file.id], "rechoose", "/choices");
    if (file.state === "ready") actions[file.problem ? _("Choose again") : _("Choose")] = () => location.assign("/choices");
    if (file.state === "stopped") actions[_("Go on")] = () => act([file.id], "resume");
    if (file.state === "done") actions[_("Hide")] = () => act([file.id], "remove");
    else if (file.state !== "masking" && file.state !== "queued") actions[_("Remove")] = () => act([file.id], "remove");
    line.offer(actions);
  }
  if (message) fault(message);
  summarise(files, isReady);
  return files.some((file) => MOVING.includes(file.state));
}

let timer = 0;
async function refresh() {
  clearTimeout(timer);
  let isMoving = true;
  try {
    isMoving = show(await list());
  } catch (error) {
    fault(error.message);
  }
  if (isMoving) timer = setTimeout(refresh, 700);
}

refresh();
