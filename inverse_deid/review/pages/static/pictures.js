// The pictures of pages that were read as scans, beside the text. They follow the selected word.
import { post } from "./requests.js";
import { _ } from "./texts.js";

const element = (id) => document.getElementById(id);
const PAGE_BREAK = "\f";

export class Pictures {
  constructor(address, token) {
    this.address = address;
    this.token = token;
    this.pages = null;
    this.shown = 0;
    this.here = 0;
    this.starts = [];
    element("picture-previous").addEventListener("click", () => this.step(-1));
    element("picture-next").addEventListener("click", () => this.step(1));
    element("picture-size").addEventListener("click", () => {
      const isLarge = element("picture").classList.toggle("large");
      element("picture-size").setAttribute("aria-pressed", String(isLarge));
    });
    element("picture-hide").addEventListener("click", () => {
      const isHidden = element("picture").classList.toggle("folded");
      document.querySelector(".work").classList.toggle("narrowed", isHidden);
      element("picture-hide").textContent = isHidden ? _("Show") : _("Hide");
      element("picture-hide").setAttribute("aria-expanded", String(!isHidden));
    });
    element("picture-image").addEventListener("load", () => this.tell(""));
    element("picture-image").addEventListener("error", () => {
      if (element("picture-image").hasAttribute("src")) this.tell(_("The picture cannot be shown. Read the page in the file itself."));
    });
  }

  async open(name, gaps) {
    this.name = name;
    // The first word of each page after the first.
    this.starts = gaps.flatMap((gap, i) => Array(gap.split(PAGE_BREAK).length - 1).fill(i));
    if (this.pages) return;
    try {
      this.pages = (await post(this.address, this.token, {})).pages;
    } catch (error) {
      this.pages = [];
      this.reveal();
      this.tell(_("The picture cannot be shown: {problem}", { problem: error.message }));
      return;
    }
    if (!this.pages.length) return;
    this.reveal();
    this.follow(this.here);
    if (!this.shown) this.show(this.pages[0]);
  }

  reveal() {
    element("picture").hidden = false;
    document.querySelector(".work").classList.add("pictured");
  }

  follow(i) {
    this.here = i;
    const page = 1 + this.starts.filter((start) => start <= i).length;
    if (this.pages?.includes(page)) this.show(page);
  }

  step(by) {
    const at = this.pages.indexOf(this.shown) + by;
    if (at >= 0 && at < this.pages.length) this.show(this.pages[at]);
  }

  show(page) {
    if (page === this.shown) return;
    this.shown = page;
    this.tell(_("loading"));
    element("picture-page").textContent = _("Picture of page {page}", { page });
    element("picture-image").alt = _("Page {page} of {name} as it was scanned. The text next to it was read from it.", { page, name: this.name });
    element("picture-image").src = `${this.address}/${page}`;
    element("picture-box").scrollTo(0, 0);
    const at = this.pages.indexOf(page);
    element("picture-previous").disabled = at <= 0;
    element("picture-next").disabled = at >= this.pages.length - 1;
  }

  tell(text) {
    element("picture-told").textContent = text;
  }
}
