// The page to try the service. Texts are in this page alone: not stored, not in an address.
import { _, ngettext } from "./texts.js";

const $ = (id) => document.getElementById(id);
const main = $("main");
const hasDetails = main.hasAttribute("data-has-details");
const EXAMPLE =
  "A 43-year-old male baker (initials T.O.) from Millbrook received a second dose of influenza vaccine, lot 4471B, in the left deltoid on 12-OCT-2019. " +
  "Two hours later the patient had urticaria and a temp of 38.9 C, pulse 104, BP 128/84. Cetirizine 10 mg was given with relief. The rash resolved within 3 days. " +
  "Mr. Okonkwo was seen again by Dr. Amara Lindqvist on 15-OCT-2019 and has recovered. Rechallenge was not done.";
const WARNINGS = {
  "not-english": _("This text seems not to be English. Identifiers may be missed in it, and facts may be lost."),
  "markers-only": _("Dates and ages could not be worked out, so they are masked."),
};
let token = "";
let current = -1;
let words = [];
let maskedText = "";
let running = 0;

class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function send(path, headers, body) {
  let answer;
  try {
    const sent = token ? { ...headers, Authorization: `Bearer ${token}` } : headers;
    answer = await fetch(path, { method: "POST", headers: sent, body, cache: "no-store", credentials: "omit" });
  } catch {
    throw new Refused(0, _("The service cannot be reached."));
  }
  if (answer.ok) return answer;
  let problem = _("The service answered with status {status}.", { status: answer.status });
  try {
    problem = (await answer.json()).error ?? problem;
  } catch {
    // not JSON, such as the page of a proxy
  }
  throw new Refused(answer.status, problem);
}

function readSettings() {
  const settings = { categories: [...document.querySelectorAll("[name=categories]:checked")].map((one) => one.value) };
  for (const one of document.querySelectorAll("[data-settings]:checked")) Object.assign(settings, JSON.parse(one.dataset.settings));
  for (const box of document.querySelectorAll("textarea.words")) {
    const lines = box.value.split("\n").map((one) => one.trim()).filter(Boolean);
    if (lines.length) settings[box.id] = lines;
  }
  return settings;
}

function report(message, isWarning = false) {
  const box = $("trouble");
  box.textContent = message ? message.charAt(0).toUpperCase() + message.slice(1) : "";
  box.classList.toggle("warning", isWarning);
  box.hidden = !message;
}

function ask(problem) {
  if (problem.status === 401) {
    token = "";
    $("door").hidden = false;
    report(_("The token is missing or wrong."));
    $("token").focus();
  } else report(problem.message);
}

async function mask() {
  const text = $("original").value;
  if (!text.trim()) {
    running += 1; // what is under way is of a text that is gone
    forget();
    report(_("There is no text. Paste one into the box."));
    $("original").focus();
    return;
  }
  const number = ++running;
  $("mask").disabled = true;
  $("counts").textContent = _("masking …");
  try {
    const body = { id: "text", text, settings: readSettings(), ...(hasDetails ? { details: "words" } : {}) };
    const answer = await (await send("/mask", { "Content-Type": "application/json" }, JSON.stringify(body))).json();
    if (number !== running) return;
    show(answer, text);
  } catch (problem) {
    if (number !== running) return;
    forget();
    ask(problem);
  } finally {
    $("mask").disabled = false;
  }
}

// Offsets count code points, and JavaScript counts halves of them.
function pieces(answer, sent) {
  const shown = Array.from(answer.text);
  const original = Array.from(sent);
  const found = [];
  const text = (from, to) => shown.slice(from, to).join("");
  const kept = (answer.words ?? []).filter((one) => one.decision === "keep");
  let k = 0;
  let at = 0;
  let shift = 0;
  const keepUntil = (end) => {
    for (; k < kept.length && kept[k].end + shift <= end; k++) {
      const [from, to] = [kept[k].start + shift, kept[k].end + shift];
      if (from > at) found.push({ text: text(at, from) });
      found.push({ text: text(from, to), kind: "keep", why: [kept[k].why] });
      at = to;
    }
    if (end > at) found.push({ text: text(at, end) });
    at = end;
  };
  for (const one of answer.masks ?? []) {
    keepUntil(one.shown_start);
    const hidden = original.slice(one.start, one.end).join("");
    found.push({ text: text(one.shown_start, one.shown_end), kind: "mask", why: one.why, category: one.category, hidden });
    at = one.shown_end;
    shift = one.shown_end - one.end;
  }
  keepUntil(shown.length);
  return found;
}

function show(answer, sent) {
  report((answer.warnings ?? []).map((one) => WARNINGS[one]).join(" "), true);
  if (answer.failed) report(_("This text could not be analysed. It is masked completely."));
  maskedText = answer.text;
  words = [];
  current = -1;
  const parts = pieces(answer, sent).map((one) => {
    if (!one.kind) return document.createTextNode(one.text);
    const span = document.createElement("span");
    span.textContent = one.text;
    span.className = one.kind === "mask" ? `w m m-${one.category ?? "unknown"}` : "w";
    span.dataset.word = words.length;
    words.push({ span, ...one });
    return span;
  });
  $("masked").replaceChildren(...parts);
  $("why")?.replaceChildren(hint);
  $("counts").textContent = _("{masked} of {n} words masked", { masked: answer.n_masked, n: answer.n_tokens });
  $("copy").disabled = false;
}

function forget() {
  maskedText = "";
  words = [];
  current = -1;
  $("masked").replaceChildren(nothing);
  $("why")?.replaceChildren(hint);
  $("counts").textContent = "";
  $("copy").disabled = true;
}

function explain(i, isSpoken) {
  if (!words[i]) return;
  words[current]?.span.classList.remove("here");
  current = i;
  const { span, text, why, kind, hidden } = words[i];
  span.classList.add("here");
  const head = document.createElement("p");
  head.className = "word";
  head.textContent = hidden && hidden !== text ? `${hidden} → ${text}` : text;
  const lines = why.slice(0, 4).map((one) => {
    const p = document.createElement("p");
    p.textContent = one;
    return p;
  });
  $("why").replaceChildren(head, ...lines);
  if (isSpoken) {
    span.scrollIntoView({ block: "nearest" });
    $("spoken").textContent = kind === "mask" ? _("{text}, masked. {why}", { text, why: why[0] }) : _("{text}, kept. {why}", { text, why: why[0] });
  }
}

function walk(event) {
  const masks = words.flatMap((one, i) => (one.kind === "mask" ? [i] : []));
  const to = {
    ArrowRight: Math.min(current + 1, words.length - 1),
    ArrowLeft: Math.max(current - 1, 0),
    Home: 0,
    End: words.length - 1,
    n: masks.find((i) => i > current) ?? current,
    p: masks.findLast((i) => i < current) ?? current,
  }[event.key];
  if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  explain(to, true);
}

async function maskFile() {
  const file = $("file").files[0];
  const done = $("file-done");
  done.replaceChildren();
  if (!file) return report(_("Choose a file first."));
  if (file.size > Number(main.dataset.maxBytes)) return report(_("The file is too large for this service."));
  report("");
  done.textContent = _("masking …");
  $("mask-file").disabled = true;
  const form = new FormData();
  for (const one of $("text-columns").value.split(",").map((name) => name.trim()).filter(Boolean)) form.append("text_column", one);
  form.append("settings", JSON.stringify(readSettings()));
  form.append("file", file);
  try {
    const answer = await send("/mask-file", {}, form);
    const counts = JSON.parse(answer.headers.get("inverse-deid-counts") ?? "{}");
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await answer.blob());
    link.download = /filename="([^"]+)"/.exec(answer.headers.get("content-disposition"))?.[1] ?? "masked";
    link.textContent = _("Save {name}", { name: link.download });
    link.className = "button";
    const failed = counts.failed ? _(", {n} could not be analysed and are masked completely", { n: counts.failed }) : "";
    const said = [...(counts.said ?? []), ...(counts.warnings ?? [])].map((one) => ` ${one.replace(/\.$/, "")}.`).join("");
    done.replaceChildren(link, ` ${ngettext("{n} document", "{n} documents", counts.n_documents)}${failed}.${said}`);
  } catch (problem) {
    done.replaceChildren();
    ask(problem);
  } finally {
    $("mask-file").disabled = false;
  }
}

function clearAll() {
  running++;
  for (const box of document.querySelectorAll("textarea, #file, #text-columns")) box.value = "";
  $("file-done").replaceChildren();
  report("");
  forget();
  $("mask").disabled = false;
}

const hint = $("why")?.firstElementChild;
const nothing = $("masked").firstElementChild;
$("mask").addEventListener("click", mask);
$("mask-file").addEventListener("click", maskFile);
$("clear").addEventListener("click", () => {
  clearAll();
  $("original").focus();
});
$("example").addEventListener("click", () => {
  $("original").value = EXAMPLE;
  mask();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) mask();
});
$("masked").addEventListener("keydown", walk);
for (const kind of ["mouseover", "click"])
  $("masked").addEventListener(kind, (event) => {
    const word = event.target.closest?.("[data-word]");
    if (word) explain(Number(word.dataset.word), false);
  });
$("copy").addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText(maskedText);
    $("counts").textContent = _("copied");
  } catch {
    report(_("The browser does not let this page copy. Select the text and copy it."));
  }
});
const useToken = () => {
  token = $("token").value.trim();
  $("token").value = "";
  if (!token) return;
  $("door").hidden = true;
  report("");
  if ($("original").value.trim()) mask();
  else $("original").focus();
};
$("enter").addEventListener("click", useToken);
$("token").addEventListener("keydown", (event) => {
  if (event.key === "Enter") {
    event.preventDefault();
    useToken();
  }
});
// Some browsers keep a page that was left, or what was typed into it.
addEventListener("pagehide", clearAll);
addEventListener("pageshow", clearAll);
if (main.hasAttribute("data-needs-token")) {
  $("door").hidden = false;
  $("token").focus();
} else $("original").focus();
