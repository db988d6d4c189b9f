// The words in doubt in all cases: keys for its buttons. Until all cases are read, the page asks for some more.
import { post } from "./requests.js";

const reading = document.getElementById("reading");
const items = [...(document.getElementById("groups")?.children ?? [])];
let isSent = false;
addEventListener("pageshow", () => {
  isSent = false;
});

async function readOn() {
  const said = reading.querySelector("[role=status]");
  for (let isLeft = true; isLeft; ) {
    const body = await post("/lists/doubts/read", reading.dataset.token, {});
    said.textContent = body.said;
    isLeft = body.n_unread > 0;
  }
  location.reload();
}

if (reading) {
  readOn().catch((error) => {
    reading.querySelector("[role=status]").textContent = error.message;
  });
}

function focusOn(number) {
  const target = items[number]?.querySelector("[data-key=k]") ?? document.querySelector(number < 0 ? "[rel=prev]" : "[rel=next]");
  target?.focus();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  const number = items.indexOf(event.target.closest("li"));
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step && items.length) focusOn(number < 0 ? 0 : number + step);
  else if (event.key === "z") press(event, document.getElementById("undo-last"));
  else if ("muk".includes(event.key)) press(event, items[number]?.querySelector(`[data-key=${event.key}]`));
  else return;
  event.preventDefault();
});

// One decision a page: a second key before the next page is there would fall on another word.
function press(event, button) {
  if (!button || event.repeat || isSent) return;
  isSent = true;
  button.click();
}
