// Small conveniences; every page works without them.

// A message that is there from the beginning is not read out: it must appear.
const notice = document.getElementById("notice");
if (notice) {
  const text = notice.textContent;
  notice.textContent = "\u00a0";
  setTimeout(() => {
    notice.textContent = text;
  }, 100);
}

// Times in the form and the time zone of the browser.
const form = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
for (const time of document.querySelectorAll("time[datetime]")) {
  const at = new Date(time.dateTime);
  if (!Number.isNaN(at.getTime())) {
    time.title = time.textContent;
    time.textContent = form.format(at);
  }
}

// One box selects all cases of the page.
const all = document.querySelector("[data-all]");
const boxes = [...document.querySelectorAll(`input[name="${all?.dataset.all}"]`)];
const showAll = () => {
  const n = boxes.filter((box) => box.checked).length;
  all.checked = n > 0 && n === boxes.length;
  all.indeterminate = n > 0 && n < boxes.length;
};
if (all && boxes.length) {
  all.hidden = false;
  all.addEventListener("change", () => {
    for (const box of boxes) box.checked = all.checked;
  });
  for (const box of boxes) box.addEventListener("change", showAll);
  showAll();
}
