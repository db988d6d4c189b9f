// Small requests, one at a time, each with the revision returned by the one before.
import { _ } from "./texts.js";

export class Refused extends Error {
  constructor(status, message, body = {}) {
    super(message);
    this.status = status;
    this.body = body;
  }
}

export const post = (address, token, payload) =>
  answered(
    fetch(address, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-CSRF-Token": token },
      body: JSON.stringify(payload),
    }),
  );

export async function answered(sent) {
  let answer;
  try {
    answer = await sent;
  } catch {
    throw new Refused(0, _("The server cannot be reached."));
  }
  let body = {};
  try {
    body = await answer.json();
  } catch {
    if (answer.ok) throw new Refused(0, _("The response of the server cannot be read."));
  }
  if (!answer.ok) throw new Refused(answer.status, body.error ?? _("The server responded with status {status}.", { status: answer.status }), body);
  return body;
}

// Requests to be stored. None leaves the queue before the server has confirmed it.
export class Queue {
  constructor(send, { stored, refused, changed }) {
    this.send = send;
    this.stored = stored;
    this.refused = refused;
    this.changed = changed;
    this.waiting = [];
    this.isBusy = false;
    this.isHalted = false;
    this.idle = [];
  }

  add(item) {
    this.waiting.push(item);
    this.changed();
    this.run();
  }

  async run() {
    if (this.isBusy || this.isHalted) return;
    this.isBusy = true;
    while (this.waiting.length && !this.isHalted) {
      const item = this.waiting[0];
      try {
        const body = await this.send(item);
        this.waiting.shift();
        this.stored(item, body);
      } catch (error) {
        this.isHalted = true;
        this.refused(item, error instanceof Refused ? error : new Refused(-1, _("The page made an error.")));
      }
      this.changed();
    }
    this.isBusy = false;
    if (!this.waiting.length) this.idle.splice(0).forEach((done) => done());
  }

  again() {
    this.isHalted = false;
    this.run();
  }

  drop() {
    return this.waiting.splice(0);
  }

  empty() {
    if (!this.waiting.length && !this.isBusy) return Promise.resolve();
    return new Promise((done) => this.idle.push(done));
  }
}
