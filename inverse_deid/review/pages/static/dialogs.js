// Category menu, note, list of notes.
import { _, ngettext } from "./texts.js";

const element = (id) => document.getElementById(id);
const POINTER_MS = 700;

// Not modal: making the rest of the page inert would restyle every word.
export function openDialog(dialog) {
  for (const one of document.querySelectorAll("dialog[open]")) one.close();
  dialog.show();
  dialog.querySelector("input, textarea, button").focus();
}

// Modal; neither a held key nor the second half of a double click answers it. Returns true for yes.
export function ask(name, question) {
  const dialog = element(name);
  const opened = performance.now();
  element(`${name}-text`).textContent = question;
  for (const one of document.querySelectorAll("dialog[open]")) one.close();
  dialog.returnValue = "";
  (element("reader") ?? element("rows")).focus(); // has the focus again as soon as the dialog closes, whatever opened it
  dialog.showModal();
  element(`${name}-back`).focus();
  dialog.onclick = (event) => {
    const isKey = event.detail === 0;
    if (event.detail > 1 || (!isKey && performance.now() - opened < POINTER_MS)) event.preventDefault();
  };
  return new Promise((answer) => {
    dialog.addEventListener("close", () => answer(dialog.returnValue === "yes"), { once: true });
  });
}

// The question before words are unmasked that the tool was sure of.
export function askSure(state, sure) {
  const some = [...sure].slice(0, 8).map((i) => state.words[i]).join(", ") + (sure.size > 8 ? ", …" : "");
  return ngettext(
    "The tool was sure that this word must be masked: {words}. Unmask it?",
    "The tool was sure that these {n} words must be masked: {words}. Unmask them?",
    sure.size,
    { words: some },
  );
}

// Leaves the page: asks on which list words belong that change all cases. A reader without lists has no form.
export function listWords(words, caseId) {
  const form = element("list-form");
  if (!form) return;
  form.elements.words.value = words.join(" ");
  form.elements.case.value = caseId;
  form.submit();
}

function fillPalette(state, chosen) {
  const list = element("palette-list");
  const input = element("palette-input");
  const take = (name) => {
    element("palette").close();
    chosen(name, element("palette-all").checked);
  };
  list.replaceChildren(
    ...state.data.legend.groups.map((group) => {
      const row = document.createElement("div");
      for (const one of state.categoryNames.filter((category) => category.group === group.letter)) {
        const button = document.createElement("button");
        const code = document.createElement("kbd");
        button.type = "button";
        button.className = `g${one.group}`;
        code.textContent = one.code;
        button.append(code, one.title);
        button.addEventListener("click", () => take(one.name));
        row.append(button);
      }
      return row;
    }),
  );
  input.oninput = () => {
    const found = state.categoryNames.find((one) => one.code === input.value.toUpperCase());
    if (found) take(found.name);
  };
  input.onkeydown = (event) => {
    if (event.key === "Enter" || event.repeat) event.preventDefault();
  };
}

export function askCategory(state, chosen) {
  if (!element("palette-list").hasChildNodes()) fillPalette(state, chosen);
  element("palette-input").value = "";
  element("palette-all").checked = false;
  openDialog(element("palette"));
  element("palette-input").focus();
}

export function askNote([first, stop], state, save) {
  const text = element("note-text");
  const words = state.words.slice(first, Math.min(stop, first + 6)).join(" ");
  element("note-where").textContent = _("On “{words}”", { words: words + (stop - first > 6 ? " …" : "") });
  text.value = "";
  const done = () => {
    if (!text.value.trim()) return;
    element("note-box").close();
    save(text.value, [first, stop]);
  };
  element("note-save").onclick = done;
  text.onkeydown = (event) => {
    if (event.key === "Enter" && !event.repeat && (event.ctrlKey || event.metaKey)) done();
  };
  openDialog(element("note-box"));
  text.focus();
}

export function fillNotes(list, notes, go) {
  list.replaceChildren(
    ...notes.map((note) => {
      const item = document.createElement("li");
      const text = document.createElement("span");
      text.textContent = note.text;
      item.append(text);
      if (note.tokens) {
        const button = document.createElement("button");
        button.type = "button";
        button.className = "quiet";
        button.textContent = _("show");
        button.addEventListener("click", () => go(note.tokens.first, note.tokens.stop));
        item.append(" ", button);
      }
      return item;
    }),
  );
}
