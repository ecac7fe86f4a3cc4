// SPDX-License-Identifier: BSD-3-Clause
// Events, the newest first. The charts over time mark the same events.

import {eventTime, isLoud} from "./data.js";
import {attribute, byId, keep, make, write} from "./dom.js";
import {clock} from "./text.js";

export class Events {
  constructor() {
    this.list = make("ol", {class: "log", tabindex: "0", role: "region", "aria-label": "Events"});
    this.none = make("p", {class: "empty"}, "Nothing happened yet.");
    byId("events").append(this.list, this.none);
  }

  show(view) {
    const events = [...view.appliance.events].sort((a, b) => eventTime(b) - eventTime(a));
    this.none.hidden = events.length > 0;
    this.list.hidden = events.length === 0;
    keep(this.list, events, (event, i) => event.number ?? i, () => {
      const time = make("time");
      const dot = make("i", {class: "dot"});
      const text = make("span");
      return {root: make("li", {}, time, make("span", {}, dot, text)), time, dot, text};
    }, (own, event) => {
      write(own.time, clock(eventTime(event), view.timeMs));
      attribute(own.time, "datetime", new Date(eventTime(event)).toISOString());
      attribute(own.dot, "class", "dot " + (isLoud(event) ? "tone-lost" : "tone-mark"));
      attribute(own.dot, "title", event.kind);
      write(own.text, event.text);
    });
  }
}
