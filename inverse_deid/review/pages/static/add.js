// Files are sent one by one as bare bytes; each shows where it is and what is wrong with it.
import { change, countDocuments, Line, list, size } from "./files.js";
import { _, ngettext } from "./texts.js";

const AT_ONCE = 2;
const SKIPPED = /^(\.|~\$|thumbs\.db$|desktop\.ini$)/i;

const element = (id) => document.getElementById(id);
const drop = element("drop");
const { token, limit } = drop.dataset;
const waiting = [];
const lines = new Map();
let nSending = 0;
let nReady = 0;
let nFaults = 0;

function summarise() {
  const parts = [];
  if (nSending + waiting.length) parts.push(ngettext("{n} file to send", "{n} files to send", nSending + waiting.length));
  if (nReady) parts.push(ngettext("{n} file is ready", "{n} files are ready", nReady));
  if (nFaults) parts.push(_("{n} cannot be used", { n: nFaults }));
  element("summary").textContent = parts.join(", ");
  element("next").hidden = !nReady || nSending + waiting.length > 0;
}

function fail(line, message) {
  nFaults += 1;
  line.show({ told: message, isFault: true });
  line.offer({
    [_("Dismiss")]: () => {
      nFaults -= 1;
      line.element.remove();
      summarise();
    },
  });
}

function showFile(line, file) {
  line.name.textContent = file.name;
  const isReady = file.state === "ready";
  nReady += isReady;
  nFaults += Boolean(file.problem);
  const documents = file.n_expected ? countDocuments(file.n_expected) : "";
  const told = file.problem || _("ready · {documents} · {size}", { documents, size: size(file.n_bytes) });
  line.show({ told, isFault: Boolean(file.problem), details: file.facts });
  line.offer({
    [_("Remove")]: async () => {
      try {
        await change(file.id, token, "remove");
        nReady -= isReady;
        nFaults -= Boolean(file.problem);
        line.element.remove();
      } catch (error) {
        line.show({ told: error.message, isFault: true });
      }
      summarise();
    },
  });
}

function send(line, file, name) {
  return new Promise((done) => {
    const request = new XMLHttpRequest();
    const finish = (body) => {
      if (request.status === 401) location.assign("/log-in");
      if (request.status === 200 && body) showFile(line, body);
      else fail(line, body?.error ?? _("The program cannot be reached. Is it still running?"));
      done();
    };
    request.open("POST", "/add/file");
    request.responseType = "json";
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.setRequestHeader("X-CSRF-Token", token);
    request.setRequestHeader("X-File-Name", encodeURIComponent(name.toWellFormed?.() ?? name));
    request.upload.addEventListener("progress", (event) => {
      const share = event.lengthComputable ? event.loaded / event.total : 0;
      line.show(share < 1 ? { told: _("sending"), share } : { told: _("looking into it"), share });
    });
    request.addEventListener("load", () => finish(request.response));
    for (const kind of ["error", "abort"]) request.addEventListener(kind, () => finish(null));
    request.send(file);
  });
}

async function sendNext() {
  while (nSending < AT_ONCE && waiting.length) {
    nSending += 1;
    const { line, file, name } = waiting.shift();
    line.show({ told: _("sending"), share: 0 });
    send(line, file, name).then(() => {
      nSending -= 1;
      summarise();
      sendNext();
    });
  }
  summarise();
}

function add(file, name) {
  if (SKIPPED.test(name.split("/").at(-1))) return;
  const line = new Line(name);
  element("files").append(line.element);
  if (file.size > limit * 1048576) fail(line, _("Is larger than {limit} MB. Split it into smaller files.", { limit }));
  else if (!file.size) fail(line, _("Is empty."));
  else {
    line.show({ told: _("waiting") });
    waiting.push({ line, file, name });
  }
}

// Folders give their entries in portions, until a portion is empty.
async function readEntry(entry) {
  if (entry.isFile) {
    const file = await new Promise((found, failed) => entry.file(found, failed));
    add(file, entry.fullPath.replace(/^\//, ""));
    return;
  }
  const reader = entry.createReader();
  for (;;) {
    const entries = await new Promise((found, failed) => reader.readEntries(found, failed));
    if (!entries.length) return;
    for (const one of entries) await readEntry(one);
  }
}

async function takeDropped(items) {
  const entries = [...items].filter((item) => item.kind === "file").map((item) => item.webkitGetAsEntry?.() ?? item.getAsFile());
  for (const entry of entries) {
    try {
      if (entry instanceof File) add(entry, entry.name);
      else if (entry) await readEntry(entry);
    } catch {
      const line = new Line(entry.name);
      element("files").append(line.element);
      fail(line, _("Cannot be read. Copy it to a local folder and add it again."));
    }
  }
  sendNext();
}

for (const [button, input] of [["pick-files", "file-input"], ["pick-folder", "folder-input"]]) {
  element(button).addEventListener("click", () => element(input).click());
  element(input).addEventListener("change", ({ target }) => {
    for (const file of target.files) add(file, file.webkitRelativePath || file.name);
    target.value = "";
    sendNext();
  });
}
let nInside = 0;
const mark = (isInside) => drop.classList.toggle("over", isInside);
addEventListener("dragenter", () => mark((nInside += 1) > 0));
addEventListener("dragleave", () => mark((nInside -= 1) > 0));
addEventListener("dragover", (event) => event.preventDefault());
addEventListener("drop", (event) => {
  event.preventDefault();
  mark(Boolean((nInside = 0)));
  takeDropped(event.dataTransfer.items);
});
addEventListener("beforeunload", (event) => {
  if (nSending + waiting.length) event.preventDefault();
});

try {
  for (const file of (await list()).files) {
    if (file.state !== "ready" && file.state !== "failed") continue;
    const line = new Line(file.name);
    element("files").prepend(line.element);
    showFile(line, file);
  }
} catch (error) {
  element("fault").textContent = error.message;
  element("fault").hidden = false;
}
summarise();
drop.dataset.ready = "";
