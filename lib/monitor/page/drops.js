// SPDX-License-Identifier: BSD-3-Clause
// Packets that were not sent on, by reason: now, since the start, and over the last hour. Each
// reason has a scale of its own, because losses are far fewer than duplicates.

import {spark} from "./chart.js";
import {dropsOf, kDrops} from "./data.js";
import {attribute, byId, make, setFigure, table, write} from "./dom.js";
import {hourOf, hourStart, nameCell} from "./places.js";
import {bothClocks, compact, count, packetRate, words} from "./text.js";

const kMeanings = {
  echo: "duplicates, dropped on purpose",
  tx_lost: "lost: the output port did not take them",
  stopped: "lost: still between workers at a stop",
  rx_missed: "lost before unecho: the device's queue was full",
  rx_no_mbuf: "lost before unecho: no packet buffer was free",
};

function rateCell() {
  const value = make("data");
  return {roots: [value], update({view, name}) {
    const rate = view.now.drops[name];
    setFigure(value, "now.drops." + name, rate, rate === null ? "\u2013" : packetRate(rate));
  }};
}

function totalCell() {
  const value = make("data");
  return {roots: [value], update({view, name}) {
    const total = dropsOf(view.appliance, name);
    setFigure(value, "drops." + name, total, compact(total));
    attribute(value, "title", count(total));
  }};
}

// The last hour of valuesOf(item), and its highest value as text(value).
export function hourCell(valuesOf, toneOf, text) {
  return () => {
    const own = spark("");
    const below = make("span", {class: "sub"});
    return {roots: [own.root, below], update(item) {
      const {view} = item;
      const values = valuesOf(item);
      const most = values.reduce((a, b) => Math.max(a, b ?? 0), 0);
      const {from, size} = hourStart(view);
      attribute(own.root, "class", "spark " + toneOf(item));
      own.set(values);
      write(below, most > 0 ? `at most ${text(most)}, at ` +
                              bothClocks(from + values.indexOf(most) * size, view.timeMs)
                            : "none in the last hour");
    }};
  };
}

export class Drops {
  constructor() {
    this.table = table([
      {name: "Reason", css: "", cell: nameCell(({name}) => [words(name), kMeanings[name] ?? ""])},
      {name: "Now", css: "n", cell: rateCell},
      {name: "In all", css: "n", cell: totalCell},
      {name: "Last hour", css: "wide",
       cell: hourCell(({view, name}) => hourOf(view, "drop " + name),
                      ({name}) => name === "echo" ? "tone-dropped" : "tone-lost", packetRate)},
    ], "cards drops", "Drops by reason");
    byId("drops").append(this.table.root);
  }

  show(view) {
    this.table.show(kDrops.map(name => ({view, name, off: dropsOf(view.appliance, name) === 0})),
                    ({name}) => name);
  }
}
