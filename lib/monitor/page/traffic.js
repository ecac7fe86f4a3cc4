// SPDX-License-Identifier: BSD-3-Clause
// Packets by disposition, bits and the share of echoes on one time axis, with events. Mouse, finger
// and arrow keys move a cursor that reads values.

import {Plot, bandPath, kRow, kWidth, legendEntry, roundScale, stepPath} from "./chart.js";
import {eventTime, isLoud} from "./data.js";
import {attribute, byId, draw, keep, make, setFigure, write} from "./dom.js";
import {bitRate, bothClocks, hourMinute, isUtc, packetRate, percent, utcHourMinute, zone}
  from "./text.js";

const kFates = ["forwarded", "diverted", "dropped"];
const kRanges = [[300, "5 min"], [900, "15 min"], [3600, "1 h"]];
const kBuckets = 300;
// Name of a column, tone and name of its line.
const kBitLines = [["bitsIn", "in", "received"], ["bitsOut", "out", "sent"]];
const kRateHeight = 200;
const kBitsHeight = 96;
const kShareHeight = 72;
const kLane = 14;  // of events, between the pictures
// Steps of the axis in seconds; the first one that gives at most seven is used.
const kSteps = [60, 120, 300, 600, 900];

export class Traffic {
  #range = 3600;
  #picked = false;  // by the reader; else it is the shortest that has room for what is known
  #choices = new Map();
  #cursor = null;  // Unix ms, or null: the latest
  #view = null;
  #shown = null;   // what is drawn: {from, to, size, first, means}

  constructor(onRange) {
    this.#legend();
    this.#pictures();
    const choices = kRanges.map(([seconds, name]) => {
      const input = make("input", {type: "radio", name: "range", value: seconds});
      input.checked = seconds === this.#range;
      input.addEventListener("change", () => {
        this.#range = seconds;
        this.#picked = true;
        onRange();
      });
      this.#choices.set(seconds, input);
      return make("label", {}, input, make("span", {}, name));
    });
    byId("ranges").append(...choices);
  }

  #legend() {
    this.when = make("span", {class: "when"});
    this.entries = new Map(kFates.map(name => [name, legendEntry(name, name)]));
    this.shareEntry = legendEntry("share", "echoes");
    const entries = [...this.entries.values(), this.shareEntry].map(each => each.root);
    this.bitEntries = new Map(kBitLines.map(([name, tone, label]) =>
      [name, legendEntry(tone, label)]));
    this.legends = [
      make("p", {class: "legend"}, this.when, ...entries),
      make("p", {class: "legend second"}, ...[...this.bitEntries.values()].map(each => each.root)),
    ];
  }

  #pictures() {
    this.rates = new Plot("rates", "Packets a second by fate", kRateHeight, kLane + 8);
    this.bits = new Plot("bits", "Bits a second, received and sent", kBitsHeight, 8);
    this.share = new Plot("share", "Share of echoes", kShareHeight, isUtc() ? 44 : 44 + kRow);
    this.areas = new Map(kFates.map(name => [name, draw("path", {class: "area tone-" + name})]));
    this.rates.inside.append(...this.areas.values());
    const curve = tone => draw("path", {class: "curve tone-" + tone,
                                        "vector-effect": "non-scaling-stroke"});
    this.line = curve("share");
    this.share.inside.append(this.line);
    this.bitLines = new Map(kBitLines.map(([name, tone]) => [name, curve(tone)]));
    this.bits.inside.append(...this.bitLines.values());
    const plots = [this.rates, this.bits, this.share];
    this.cursors = plots.map(plot => {
      const line = draw("line", {class: "cursor", y1: 0, y2: plot.height, visibility: "hidden"});
      plot.over.append(line);
      return line;
    });
    this.lane = draw("g");
    this.rates.root.append(this.lane);
    for (const plot of plots) {
      const legend = this.legends[plots.indexOf(plot)];
      byId("traffic").append(...[legend, make("figure", {}, plot.root)].filter(Boolean));
      plot.root.addEventListener("pointermove", event => this.#point(event));
      plot.root.addEventListener("pointerleave", () => this.#setCursor(null));
    }
    const root = this.rates.root;
    attribute(root, "tabindex", "0");
    attribute(root, "role", "slider");
    attribute(root, "aria-label", "Time in the picture of packets a second");
    root.removeAttribute("aria-labelledby");
    root.addEventListener("keydown", event => this.#key(event));
    root.addEventListener("blur", () => this.#setCursor(null));
  }

  // ---- the cursor ----

  #point(event) {
    const box = this.rates.inside.getBoundingClientRect();
    const share = (event.clientX - box.left) / box.width;
    const {from, to} = this.#shown ?? {};
    this.#setCursor(from && share >= 0 && share <= 1 ? from + share * (to - from) : null);
  }

  #key(event) {
    if (!this.#shown) {
      return;
    }
    const {from, to, size} = this.#shown;
    const now = this.#cursor ?? to;
    const moves = {ArrowLeft: now - size, ArrowRight: now + size, PageUp: now - 10 * size,
                   PageDown: now + 10 * size, Home: from, End: to, Escape: null};
    if (!(event.key in moves)) {
      return;
    }
    event.preventDefault();
    const moved = moves[event.key];
    this.#setCursor(moved === null || moved >= to ? null : Math.max(from, moved));
  }

  #setCursor(time) {
    this.#cursor = time;
    this.#read();
  }

  // Return the values at the cursor, or the latest.
  #read() {
    if (!this.#shown) {
      return;
    }
    const {from, to, size, first, means} = this.#shown;
    const past = this.#cursor !== null && this.#cursor >= from;
    const i = past ? Math.floor(this.#cursor / size) - first : -1;
    for (const line of this.cursors) {
      attribute(line, "visibility", past ? "visible" : "hidden");
      const x = past ? ((this.#cursor - from) / (to - from) * 100).toFixed(2) + "%" : 0;
      attribute(line, "x1", x);
      attribute(line, "x2", x);
    }
    const {now} = this.#view;
    const valueOf = name => past ? means.get(name)[i] ?? null : now[name];
    const texts = kFates.map(name => {
      const value = valueOf(name);
      const shown = value === null ? "\u2013" : packetRate(value);
      setFigure(this.entries.get(name).value, past ? null : "now." + name, value, shown);
      return `${name} ${shown}`;
    });
    const received = valueOf("received");
    const share = received > 0 ? percent(valueOf("echoes") / received) : "\u2013";
    setFigure(this.shareEntry.value, null, null, share);
    for (const [name] of kBitLines) {
      const value = valueOf(name);
      write(this.bitEntries.get(name).value, value === null ? "\u2013" : bitRate(value));
    }
    const when = past ? bothClocks(this.#cursor, to) : "Now";
    write(this.when, when);
    attribute(this.rates.root, "aria-valuetext", `${when}: ${texts.join(", ")}, echoes ${share}`);
    attribute(this.rates.root, "aria-valuemin", 0);
    attribute(this.rates.root, "aria-valuemax", Math.round((to - from) / 1000));
    attribute(this.rates.root, "aria-valuenow",
              Math.round(((past ? this.#cursor : to) - from) / 1000));
  }

  // ---- drawing ----

  #fit(view) {
    if (!this.#picked) {
      const known = (view.timeMs - (view.hour.times[0] ?? view.timeMs)) / 1000;
      [this.#range] = kRanges.find(([seconds]) => seconds >= known) ?? kRanges[kRanges.length - 1];
      this.#choices.get(this.#range).checked = true;
    }
  }

  show(view) {
    this.#view = view;
    this.#fit(view);
    const to = view.timeMs;
    const from = to - this.#range * 1000;
    const size = this.#range * 1000 / kBuckets;
    const first = Math.floor(from / size);
    const columns = ["received", "echoes", ...kFates, ...kBitLines.map(([name]) => name)];
    const means = new Map(columns.map(name => [name, view.hour.means(name, from, to, size)]));
    this.#shown = {from, to, size, first, means};
    const xOf = i =>
      Math.min(kWidth, Math.max(0, ((first + i) * size - from) / (to - from) * kWidth));
    this.#drawRates(means, xOf);
    this.#drawBits(means, xOf);
    this.#drawShare(means, xOf);
    this.#drawTime(from, to);
    this.#drawEvents(view, from, to);
    this.#read();
  }

  #drawRates(means, xOf) {
    const height = kRateHeight;
    const length = means.get("forwarded").length;
    const tops = [];
    let below = new Array(length).fill(0);
    const layers = kFates.map(name => {
      const above = means.get(name).map((value, i) => value === null ? null : below[i] + value);
      const layer = [name, below, above];
      below = above.map((value, i) => value ?? below[i]);
      tops.push(...above.filter(value => value !== null));
      return layer;
    });
    const scale = roundScale(tops.reduce((a, b) => Math.max(a, b), 0));
    const yOf = value => height * (1 - value / scale.top);
    for (const [name, lower, upper] of layers) {
      attribute(this.areas.get(name), "d", bandPath(lower, upper, xOf, yOf));
    }
    this.rates.setY(scale.ticks.map(tick => ({at: tick / scale.top,
                                              label: tick === 0 ? "0" : packetRate(tick)})));
  }

  #drawBits(means, xOf) {
    const most = kBitLines.flatMap(([name]) => means.get(name))
      .reduce((a, b) => Math.max(a, b ?? 0), 0);
    const scale = roundScale(most);
    const yOf = value => kBitsHeight * (1 - value / scale.top) + 0.5;
    for (const [name] of kBitLines) {
      attribute(this.bitLines.get(name), "d", stepPath(means.get(name), xOf, yOf));
    }
    this.bits.setY([0, 0.5, 1].map(at => ({at, label: at ? bitRate(at * scale.top) : "0"})));
  }

  #drawShare(means, xOf) {
    const shares = means.get("received").map((all, i) => {
      const echoes = means.get("echoes")[i];
      return all === null || echoes === null ? null : all > 0 ? Math.min(1, echoes / all) : 0;
    });
    const most = shares.reduce((a, b) => Math.max(a, b ?? 0), 0);
    const scale = roundScale(most * 0.5);
    const top = Math.min(1, scale.top * 2);
    const yOf = value => kShareHeight * (1 - value / top) + 0.5;
    attribute(this.line, "d", stepPath(shares, xOf, yOf));
    this.share.setY([0, 0.5, 1].map(at => ({at, label: at ? percent(at * top) : "0"})));
  }

  #drawTime(from, to) {
    const seconds = (to - from) / 1000;
    const step = 1000 * kSteps.find(each => seconds / each <= 7);
    const ticks = [];
    // Align to the reader's local time, whose offset from UTC may include half an hour.
    const shift = new Date(to).getTimezoneOffset() * 60000;
    let time = Math.ceil((from - shift) / step) * step + shift;
    for (; time <= to; time += step) {
      ticks.push({at: (time - from) / (to - from), label: hourMinute(time),
                  second: isUtc() ? null : utcHourMinute(time),
                  minor: Math.round((time - shift) / step) % 2 !== 0});
    }
    this.share.setX(ticks, isUtc() ? "time of day, UTC" : `time of day, ${zone()} above UTC`);
  }

  #drawEvents(view, from, to) {
    const events = view.appliance.events.filter(event =>
      eventTime(event) >= from && eventTime(event) <= to);
    keep(this.lane, events, (event, i) => event.number ?? i, () => {
      const tip = draw("title");
      const line = draw("line", {class: "event", y1: 0, y2: kRateHeight + kLane - 4});
      const dot = draw("circle", {class: "event-dot", cy: kRateHeight + kLane, r: 4.5}, tip);
      return {root: draw("g", {}, line, dot), line, dot, tip};
    }, (own, event) => {
      const x = ((eventTime(event) - from) / (to - from) * 100).toFixed(2) + "%";
      attribute(own.root, "class", isLoud(event) ? "tone-lost" : "tone-mark");
      attribute(own.line, "x1", x);
      attribute(own.line, "x2", x);
      attribute(own.dot, "cx", x);
      write(own.tip, `${bothClocks(eventTime(event), to)}: ${event.text}`);
    });
  }
}
