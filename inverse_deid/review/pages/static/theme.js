// Light, dark or same as the system: applied at once, and kept in a cookie by the server.
const form = document.querySelector(".theme");
form?.addEventListener("submit", (event) => {
  event.preventDefault();
  const theme = event.submitter?.value ?? "system";
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  const body = new URLSearchParams({ csrf_token: form.elements.csrf_token.value, theme });
  fetch("/theme", { method: "POST", body, redirect: "manual" });
});
