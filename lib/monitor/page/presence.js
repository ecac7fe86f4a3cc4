// SPDX-License-Identifier: BSD-3-Clause
// Appliances that are not there: which of them should be, and how to forget the others.

import {byId, make, write} from "./dom.js";
import {bothClocks} from "./text.js";

const kForgetPatience = 10000;  // ms

export class Presence {
  #failure = "";
  #name = null;

  constructor() {
    this.root = byId("presence");
    this.text = make("span");
    this.button = make("button", {type: "button"}, "Forget it now");
    this.root.append(this.text, " ", this.button);
    this.button.addEventListener("click", () => this.#forget());
  }

  show(appliance, server) {
    this.#failure = appliance?.name === this.#name ? this.#failure : "";
    this.#name = appliance?.name ?? null;
    const gone = appliance?.state === "gone";
    this.root.hidden = !gone;
    this.button.hidden = !gone || Boolean(appliance.expected) || !server.changes;
    write(this.text, gone ? this.#words(appliance, server) : "");
  }

  #words(appliance, server) {
    if (appliance.expected) {
      return "The server expects it to run (--expect).";
    }
    const until = (appliance.since_ns + (server.forget_after_ns ?? 0)) / 1e6;
    return this.#failure || "The server does not expect it to run (--expect), and forgets it at " +
      `${bothClocks(until)}.`;
  }

  async #forget() {
    const name = this.#name;
    try {
      const answer = await fetch("api/v1/forget?" + new URLSearchParams({name}), {
        method: "POST", headers: {"X-Unecho-Change": "1"},
        signal: AbortSignal.timeout(kForgetPatience)});
      this.#failure = answer.ok ? "" : `Not forgotten: ${(await answer.text()).trim()}.`;
    } catch {
      this.#failure = "Not forgotten: the server does not answer.";
    }
    write(this.text, this.#failure);
  }
}
