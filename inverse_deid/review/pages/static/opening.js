// Requests the case while the page is still being parsed; `case.js` waits for the response.
{
  const { content: address, dataset } = document.querySelector("meta[name=opening]");
  const headers = { "Content-Type": "application/json", "X-CSRF-Token": dataset.token };
  globalThis.opening = fetch(address, { method: "POST", headers, body: "{}" });
  globalThis.opening.catch(() => {});
}
