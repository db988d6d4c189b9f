// Asks for the case at once, while the page is still read and laid out; `case.js` waits for it.
import { post } from "./requests.js";

const { content: address, dataset } = document.querySelector("meta[name=opening]");

export const opening = post(address, dataset.token, {});
opening.catch(() => {});
