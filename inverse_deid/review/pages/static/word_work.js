// The change of a word in many cases: some more at a time, until none is left.
import { post } from "./requests.js";

const element = (id) => document.getElementById(id);
const { token, entry, origin, at } = element("work").dataset;
let isAway = false;
addEventListener("pagehide", () => {
  isAway = true;
});

async function work() {
  element("go-on").hidden = true;
  element("bar").hidden = false;
  while (!isAway) {
    const body = await post("/lists/work", token, { entry, origin, at });
    if (isAway) return;
    if (body.next) {
      location.replace(body.next);
      return;
    }
    element("said").textContent = body.said;
    element("bar").value = body.n_done / body.n_all;
  }
}

addEventListener("pageshow", () => {
  isAway = false;
  work().catch((error) => {
    element("said").textContent = error.message;
    element("go-on").hidden = false;
  });
});
