// SPDX-License-Identifier: BSD-3-Clause
// The audit of each filter: false drops with the confidence interval of their rate and the bound,
// and copies that were missed.

import {found, kWorst} from "./data.js";
import {attribute, byId, draw, keep, make, part, setFigure, table, twoLines, write} from "./dom.js";
import {boundText, confirmText, explainedText, verdictTone, verdictWord} from "./answer.js";
import {nameCell} from "./places.js";
import {bytes, compact, count, percent, tiny} from "./text.js";

// The axis: whole powers of ten around all intervals and bounds, and around a usual rate.
export function rateAxis(intervals, usual) {
  const rates = intervals.flatMap(({high, bound, low}) => [high, bound, low])
    .filter(rate => rate > 0).map(Math.log10);
  const middle = Math.log10(usual);
  const high = Math.min(0, Math.ceil(Math.max(...rates, middle) + 0.5));
  let low = Math.floor(Math.min(...rates, middle)) - 1;
  low -= (high - low) % 2;  // so that there is a power in the middle
  return {low, high, at: rate => rate > 0
    ? Math.min(1, Math.max(0, (Math.log10(rate) - low) / (high - low))) : 0};
}

// A column's head with the numbers of the axis below its name.
export function scaleHead(name) {
  const scale = make("span", {class: "scale"});
  return {root: make("span", {}, name, scale), show(axis) {
    const powers = [axis.low, (axis.low + axis.high) / 2, axis.high];
    keep(scale, powers, power => power, power => ({root: make("span", {}, "1e" + power)}));
  }};
}

// partsOf(item) -> {low, high, rate, bound, tone, text}; item.axis is that of the column's head.
export function intervalCell(partsOf) {
  return () => {
    const rail = draw("line", {class: "rail", x1: 0, x2: "100%", y1: 11, y2: 11});
    const range = draw("line", {class: "range", y1: 11, y2: 11});
    const at = draw("circle", {class: "at", cy: 11, r: 4});
    const bound = draw("line", {class: "bound", y1: 1, y2: 21});
    const picture = draw("svg", {class: "interval", role: "img"}, rail, range, at, bound);
    const below = make("span", {class: "sub"});
    return {roots: [picture, below], update(item) {
      const {low, high, rate, bound: limit, tone, text} = partsOf(item);
      const {axis} = item;
      attribute(picture, "class", "interval " + tone);
      attribute(range, "x1", part(axis.at(low)));
      attribute(range, "x2", part(axis.at(high)));
      attribute(at, "cx", part(axis.at(rate)));
      attribute(at, "visibility", rate > 0 ? "visible" : "hidden");
      attribute(bound, "x1", part(axis.at(limit)));
      attribute(bound, "x2", part(axis.at(limit)));
      attribute(bound, "visibility", limit > 0 ? "visible" : "hidden");
      attribute(picture, "aria-label", text);
      write(below, text);
    }};
  };
}

const kUsualFalseDrops = 1e-7;

function falseDropParts({filter}) {
  const drops = found(filter, "false_drops");
  const {low, high, of, bound, verdict} = drops;
  const text = of === 0 ? "nothing checked yet"
    : low > 0 ? `${tiny(low)} to ${tiny(high)}` : `at most ${tiny(high)}`;
  return {...drops, tone: verdictTone(verdict), text: `${text}; ${boundText(bound)}`};
}

function verdictCell() {
  const word = make("span", {class: "verdict"});
  const below = make("span", {class: "sub"});
  return {roots: [word, below], update({filter}) {
    const drops = found(filter, "false_drops");
    attribute(word, "class", "verdict " + verdictTone(drops.verdict));
    write(word, verdictWord(drops.verdict));
    write(below, confirmText(drops));
  }};
}

export class Audit {
  constructor() {
    this.scale = scaleHead("95\u00a0% interval, and the bound");
    this.table = table([
      {name: "Filter", css: "", cell: nameCell(({filter}) => [filter.name, filter.engine])},
      {name: "Dropped falsely", css: "n", cell: twoLines((own, {filter, path}) => {
        const {count: dropped, of} = filter.audit.false_drops;
        setFigure(own.value, path + ".false_drops.count", dropped, count(dropped));
        write(own.below, `of ${compact(of)} new`);
      })},
      {name: "Copies missed", css: "n", cell: twoLines((own, {filter, path}) => {
        const {count: missed, of, explained} = filter.audit.misses;
        const why = explainedText(explained);
        setFigure(own.value, path + ".misses.count", missed, count(missed));
        write(own.below, `of ${compact(of)} echoes${why ? `; explained: ${why}` : ""}`);
      })},
      {name: "95\u00a0% interval, and the bound", head: this.scale.root, css: "wide",
       cell: intervalCell(falseDropParts)},
      {name: "Bound", css: "", cell: verdictCell},
    ], "cards audits", "Audits of the filters");
    this.none = make("p", {class: "empty"}, "The audit is off.");
    this.note = make("p", {class: "small"});
    byId("audit").append(this.none, this.table.root, this.note);
  }

  show(view) {
    const items = view.appliance.filters
      .map((filter, i) => ({filter, path: `filters.${i}.audit`}))
      .filter(({filter}) => filter.audit?.enabled);
    this.none.hidden = items.length > 0;
    this.table.root.hidden = items.length === 0;
    this.note.hidden = items.length === 0;
    if (!items.length) {
      return;
    }
    const axis = rateAxis(items.map(({filter}) => filter.audit.false_drops), kUsualFalseDrops);
    this.scale.show(axis);
    const order = item => kWorst.indexOf(found(item.filter, "false_drops").verdict);
    items.sort((a, b) => order(a) - order(b));
    this.table.show(items.map(item => ({...item, axis})), item => item.path);
    this.#drawNote(items.map(({filter}) => filter.audit));
  }

  #drawNote(audits) {
    const shares = audits.map(audit => audit.share).filter(share => share > 0);
    const memory = audits.reduce((sum, audit) => sum + (audit.memory_bytes ?? 0), 0);
    const held = audits.reduce((sum, audit) => sum + (audit.counters?.not_held ?? 0), 0);
    write(this.note, `It looks at ${percent(Math.min(...shares))}` +
          (Math.min(...shares) < Math.max(...shares) ? ` to ${percent(Math.max(...shares))}` : "") +
          ` of the keys, all their packets, in ${bytes(memory)} of memory` +
          (held ? `; ${compact(held)} did not fit and were not judged.` : "."));
  }
}
