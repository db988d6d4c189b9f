// The example follows the answers; the latest one counts if several responses are on their way.
import { post } from "./requests.js";

const form = document.getElementById("choices");
const example = document.getElementById("example");
const names = [...form.querySelectorAll(".question")].map((one) => one.id);
let latest = 0;

function show(parts) {
  example.replaceChildren(
    ...parts.map(([text, isReplaced]) => {
      if (!isReplaced) return text;
      const mark = document.createElement("mark");
      mark.textContent = text;
      return mark;
    }),
  );
}

async function ask() {
  const number = (latest += 1);
  const answers = Object.fromEntries(names.map((name) => [name, form.elements[name].value]));
  example.setAttribute("aria-busy", "true");
  try {
    const { parts } = await post("/choices/example", form.dataset.token, answers);
    if (number === latest) show(parts);
  } catch (error) {
    if (number === latest) example.textContent = error.message;
  }
  if (number === latest) example.removeAttribute("aria-busy");
}

// What is not hidden at all is not replaced either.
function settle() {
  const idle = [...form.querySelectorAll("[data-idle]:checked")].flatMap((one) => one.dataset.idle.split(" "));
  for (const question of form.querySelectorAll(".question")) question.disabled = idle.includes(question.id);
}

for (const question of form.querySelectorAll(".question")) {
  question.addEventListener("change", () => {
    settle();
    ask();
  });
}
settle();
ask();
