// SPDX-License-Identifier: BSD-3-Clause
// Gets a state every second: from the stream, or by requests while the stream is broken or held
// back. It returns to the stream as soon as that works.

const kSilent = 3000;        // ms without a state after which the server is asked
const kPause = 1000;         // between two questions
const kAnotherStream = 5000; // between two tries

export class Connection {
  #stream = null;
  #heard = performance.now();
  #asking = false;
  #tried = 0;
  #lost = null;  // Unix ms of when it was lost

  // onState(state, how) with how = "stream" or "asked"; onLost(Unix ms since when) at each failed
  // try.
  constructor(onState, onLost) {
    this.onState = onState;
    this.onLost = onLost;
    this.#open();
    setInterval(() => this.#look(), kPause);
  }

  #open() {
    this.#stream?.close();
    this.#tried = performance.now();
    const stream = new EventSource("api/v1/stream");
    this.#stream = stream;
    stream.addEventListener("state", event => this.#take(() => JSON.parse(event.data), "stream"));
    stream.addEventListener("error", () => {
      if (stream === this.#stream) {
        stream.close();
        this.#stream = null;
        this.#ask();
      }
    });
  }

  #take(read, how) {
    let state;
    try {
      state = read();
    } catch {
      return;  // cut short: the next one comes in a second
    }
    this.#heard = performance.now();
    this.#lost = null;
    this.onState(state, how);
  }

  #look() {
    const now = performance.now();
    const silent = now - this.#heard > kSilent;
    if (silent || !this.#stream) {
      this.#ask();
      if (now - this.#tried > kAnotherStream) {
        this.#open();
      }
    }
  }

  async #ask() {
    if (this.#asking) {
      return;
    }
    this.#asking = true;
    try {
      const state = await fetchJson("api/v1/state");
      const outage = this.#lost !== null;
      this.#take(() => state, "asked");
      if (outage) {
        this.#open();
      }
    } catch {
      this.#lost ??= Date.now();
      this.onLost(this.#lost);
    } finally {
      this.#asking = false;
    }
  }
}

export async function fetchJson(path, patience = 5000) {
  const answer = await fetch(path, {cache: "no-store", signal: AbortSignal.timeout(patience)});
  if (!answer.ok) {
    throw new Error(path + ": " + answer.status);
  }
  return answer.json();
}
