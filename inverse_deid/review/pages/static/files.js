// What the pages show of a file that was added, and the small requests that change it.
import { answered, post } from "./requests.js";
import { _, ngettext } from "./texts.js";

export const MOVING = ["queued", "masking"];

// Without a session the answer is the page that says how to come in again.
export const list = () =>
  answered(
    fetch("/add/list").then((answer) => {
      if (answer.redirected) location.assign("/log-in");
      return answer;
    }),
  );

export const change = (id, token, what) => post(`/add/${id}`, token, { what });

export function make(tag, text = "", attributes = {}) {
  const element = document.createElement(tag);
  element.textContent = text;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

export const shown = (n) => n.toLocaleString("en");

export const countDocuments = (n) => ngettext("{n} document", "{n} documents", n, { n: shown(n) });

export function size(n) {
  if (n < 1024) return _("{n} bytes", { n });
  return n < 1048576 ? `${Math.round(n / 1024)} KB` : `${(n / 1048576).toFixed(1)} MB`;
}

export function duration(seconds) {
  if (seconds < 50) return _("less than a minute");
  const minutes = Math.round(seconds / 60);
  if (minutes < 90) return ngettext("about {n} minute", "about {n} minutes", minutes);
  return _("about {n} hours", { n: Math.round(minutes / 60) });
}

// A line for a file, filled again and again without losing the focus of its buttons.
export class Line {
  constructor(name) {
    this.element = make("li", "", { class: "upload" });
    this.name = make("span", name, { class: "name" });
    this.state = make("span", "", { class: "told" });
    this.bar = make("progress", "", { max: "1", "aria-label": _("Progress of {name}", { name }) });
    this.buttons = make("span", "", { class: "row end" });
    this.details = make("ul", "", { class: "details small" });
    this.known = new Map();
    this.element.append(this.name, this.state, this.bar, this.buttons, this.details);
    this.show({});
  }

  show({ told = "", isFault = false, share = null, details = [] }) {
    if (this.state.textContent !== told) this.state.textContent = told;
    this.state.classList.toggle("fault", isFault);
    this.bar.hidden = share === null;
    if (share !== null) this.bar.value = share;
    const text = details.map((one) => one.text).join("\n");
    if (text === this.shown) return;
    this.shown = text;
    this.details.hidden = !details.length;
    this.details.replaceChildren(...details.map((one) => make("li", one.text, { class: one.is_warning ? "warned" : "told" })));
  }

  offer(actions) {
    for (const [label, button] of this.known) {
      if (label in actions) continue;
      if (button === document.activeElement) this.element.tabIndex = -1, this.element.focus();
      button.remove();
      this.known.delete(label);
    }
    for (const [label, act] of Object.entries(actions)) {
      let button = this.known.get(label);
      if (!button) {
        button = make("button", label, { type: "button", "aria-label": `${label} ${this.name.textContent}` });
        this.known.set(label, button);
        this.buttons.append(button);
      }
      button.onclick = act;
    }
  }
}
