// SPDX-License-Identifier: BSD-3-Clause
// Events, the newest first. The charts over time mark the same events.

import {eventTime, isLoud} from "./data.js";
import {attribute, byId, keep, make, write} from "./dom.js";
import {clock, isUtc, utcClock} from "./text.js";

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
      const local = make("span");
      const utc = make("span", {class: "sub"});
      const time = make("time", {}, local, utc);
      const dot = make("i", {class: "dot"});
      const text = make("span");
      return {root: make("li", {}, time, make("span", {}, dot, text)), time, local, utc, dot, text};
    }, (own, event) => {
      const when = eventTime(event);
      write(own.local, isUtc() ? utcClock(when, view.timeMs) : clock(when, view.timeMs));
      write(own.utc, isUtc() ? "" : utcClock(when, view.timeMs));
      attribute(own.time, "datetime", new Date(eventTime(event)).toISOString());
      attribute(own.dot, "class", "dot " + (isLoud(event) ? "tone-lost" : "tone-mark"));
      attribute(own.dot, "title", event.kind);
      write(own.text, event.text);
    });
  }
}
