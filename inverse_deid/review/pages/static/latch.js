// Keeps a key pressed for the previous case from deciding about the current one.
const QUIET_MS = 1_200;
const MODIFIERS = ["Shift", "Control", "Alt", "Meta"];

// Shut when a case appears. It opens when Enter is released, another key or the mouse is pressed, or after
// a time without Enter: browsers do not mark all repeats of a key held while a page loads.
export class Latch {
  constructor() {
    this.shut();
    addEventListener("keydown", (event) => this.pressed(event), true);
    addEventListener("keyup", (event) => this.released(event), true);
    addEventListener("pointerdown", () => this.open(), true);
  }

  shut() {
    this.isReleased = false;
    this.since = performance.now();
  }

  open() {
    this.isReleased = true;
  }

  get isOpen() {
    return this.isReleased || performance.now() - this.since > QUIET_MS;
  }

  pressed(event) {
    if (MODIFIERS.includes(event.key) || event.repeat) return;
    if (event.key !== "Enter") this.open();
    else if (!this.isOpen) this.since = performance.now();
  }

  released(event) {
    if (event.key === "Enter") this.open();
  }
}
