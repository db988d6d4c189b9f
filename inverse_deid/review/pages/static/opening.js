// Asks for the case at once, while the page is still read and laid out; `case.js` waits for the answer.
{
  const { content: address, dataset } = document.querySelector("meta[name=opening]");
  const headers = { "Content-Type": "application/json", "X-CSRF-Token": dataset.token };
  globalThis.opening = fetch(address, { method: "POST", headers, body: "{}" });
  globalThis.opening.catch(() => {});
}
