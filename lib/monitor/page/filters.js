// SPDX-License-Identifier: BSD-3-Clause
// Filters: achieved against configured window, fill against plan, bound, generations, and losses.
// Also the workers that run them.

import {isFound} from "./answer.js";
import {sparkCell} from "./chart.js";
import {audited, listOf} from "./data.js";
import {attribute, byId, keep, make, meter, setFigure, table, twoLines, write} from "./dom.js";
import {hourOf, nameCell} from "./places.js";
import {compact, count, duration, packetRate, percent, tiny, words} from "./text.js";

const known = value => value !== undefined && value !== null;

function windowCell() {
  const value = make("data");
  const bar = meter();
  const below = make("span", {class: "sub"});
  return {roots: [value, bar.root, below], update({view, filter, path}) {
    const {achieved_window_ns: achieved, window_ns: due, shortest_window_ns: shortest} = filter;
    const short = isFound(view, "window-short", "filter " + filter.name);
    setFigure(value, path + ".achieved_window_ns", achieved,
              known(achieved) ? duration(achieved) : "\u2013");
    attribute(bar.root, "class", "meter " + (short ? "wrong" : "good"));
    bar.set(known(achieved) ? achieved / due : 0);
    const at = duration(filter.shortest_window_at_ns ?? 0);
    write(below, (short ? "short: " : "") + `of ${duration(due)}` +
          (known(shortest) && shortest < due
            ? `; was ${duration(shortest)}, ${at} after the start` : ""));
  }};
}

// Use fill and plan if the filter reports both, else the load of its generations.
function fillCell() {
  const value = make("data");
  const bar = meter();
  const below = make("span", {class: "sub"});
  return {roots: [value, bar.root, below], update({filter, path}) {
    const {fill, planned_fill: planned, shifts = 0, early_turns: early = 0} = filter;
    bar.root.hidden = !planned;
    if (planned) {
      bar.set(fill / Math.max(planned, fill));
      setFigure(value, path + ".fill", fill / planned, percent(fill / planned));
      write(below, `${compact(fill)} of ${compact(planned)}` +
            (early ? `; ${compact(early)} ended early` : ""));
      return;
    }
    write(value, early ? "above" : "within");
    write(below, early ? `${compact(early)} of ${compact(shifts)} generations ended by their load`
                       : "no generation ended by its load");
  }};
}

function generationText(filter) {
  const {generation_ns: due, longest_generation_ns: longest = 0, held_turns: held = 0} = filter;
  const parts = [longest ? `longest ${duration(longest)}` : "",
                 due ? `planned ${duration(due)}` : "",
                 held ? `${compact(held)} held open` : ""];
  return parts.filter(Boolean).join(", ");
}

const kGivenUp = ["evicted_early", "arena_full", "inline_clears", "late_visits"];

export class Filters {
  constructor() {
    this.table = table([
      {name: "Filter", css: "", cell: nameCell(({filter}) =>
        [filter.name, [filter.engine, filter.rule].filter(Boolean).map(words).join(", ")])},
      {name: "Window kept", css: "", cell: windowCell},
      {name: "Fill against plan", css: "", cell: fillCell},
      {name: "False drops by plan", css: "n", cell: twoLines((own, {filter, path}) => {
        setFigure(own.value, path + ".predicted_false_drop", filter.predicted_false_drop,
                  tiny(filter.predicted_false_drop));
        const bound = filter.max_false_drop ?? filter.audit?.false_drops?.bound;
        write(own.below, known(bound) ? `bound ${tiny(bound)}` : "");
      })},
      {name: "Generations", css: "n", cell: twoLines((own, {filter, path}) => {
        setFigure(own.value, path + ".shifts", filter.shifts, compact(filter.shifts ?? 0));
        write(own.below, generationText(filter));
      })},
      {name: "Given up", css: "n", cell: twoLines((own, {filter, path}) => {
        const early = filter.evicted_early ?? 0;
        setFigure(own.value, path + ".evicted_early", early, compact(early));
        write(own.below, kGivenUp.slice(1).filter(name => filter[name] > 0)
          .map(name => `${words(name)} ${compact(filter[name])}`).join(", "));
      })},
    ], "cards", "Filters");
    byId("filters").append(this.table.root);
  }

  show(view) {
    this.table.show(view.appliance.filters.map((filter, i) =>
      ({view, filter, path: `filters.${i}`})), (_, i) => i);
  }
}

// ---- what sites share ---------------------------------------------------------------------------

// [name, member, in which words others stand below it]
const kShared = [
  ["Asked", "asked", {not_asked: "not asked"}],
  ["Known elsewhere", "known", {late: "packets passed before the answer", untold: "untold"}],
  ["Unanswered", "unanswered", {no_room: "without room", doubted: "doubted"}],
];

export class Roots {
  constructor() {
    this.table = table([
      {name: "Filter", css: "", cell: nameCell(({filter: {name, root}}) =>
        [name, root.applies === false ? "counts alone" : `root ${root.name}`])},
      {name: "Masters that answer", css: "n", cell: twoLines((own, {filter: {root}, path}) => {
        setFigure(own.value, path + ".answering", root.answering, count(root.answering ?? 0));
        write(own.below, `of ${count(root.masters ?? 0)}`);
      })},
      ...kShared.map(([name, member, others]) => ({
        name, css: "n", cell: twoLines((own, {filter: {root}, path}) => {
          setFigure(own.value, `${path}.${member}`, root[member], compact(root[member] ?? 0));
          write(own.below, Object.keys(others).filter(other => root[other] > 0)
            .map(other => `${compact(root[other])} ${others[other]}`).join(", "));
        })})),
      {name: "Longest round trip", css: "n", cell: twoLines((own, {filter: {root}, path}) => {
        const longest = root.longest_round_trip ?? 0;
        setFigure(own.value, path + ".longest_round_trip", longest,
                  longest ? duration(longest) : "\u2013");
      })},
    ], "cards", "Shared with other sites");
    byId("roots").append(this.table.root);
  }

  show(view) {
    const items = view.appliance.filters
      .map((filter, i) => ({filter, path: `filters.${i}.root`}))
      .filter(({filter}) => known(filter.root));
    byId("roots").hidden = items.length === 0;
    this.table.show(items, (_, i) => i);
  }
}

// ---- workers ------------------------------------------------------------------------------------

function busyCell() {
  const value = make("data");
  const bar = meter();
  return {roots: [value, bar.root], update({view, now, worker, path}) {
    const share = now.busy;
    setFigure(value, `now.${path}.busy`, share, known(share) ? percent(share) : "\u2013");
    const overloaded = isFound(view, "overload", "lcore " + worker.lcore);
    attribute(bar.root, "class", "meter " + (overloaded ? "wrong" : ""));
    bar.set(share ?? 0);
  }};
}

export class Workers {
  constructor() {
    this.table = table([
      {name: "Worker", css: "", cell: nameCell(({worker}) =>
        [`lcore ${worker.lcore}`, worker.answering === false ? "does not answer" : "answers"])},
      {name: "Busy", css: "", cell: busyCell},
      {name: "Received", css: "n", cell: twoLines((own, {now, worker, path}) => {
        setFigure(own.value, `now.${path}.received`, now.received,
                  known(now.received) ? packetRate(now.received) : "\u2013");
        write(own.below, compact(worker.rx_packets));
        attribute(own.below, "title", `${path}.rx_packets: ${count(worker.rx_packets)}`);
      })},
      {name: "Stalls", css: "n", cell: twoLines((own, {worker, path}) => {
        const stalls = worker.stalls ?? worker.gaps ?? 0;
        setFigure(own.value, path + (known(worker.stalls) ? ".stalls" : ".gaps"), stalls,
                  count(stalls));
        write(own.below, worker.late_echoes ? `${compact(worker.late_echoes)} late echoes` : "");
      })},
      {name: "Longest gap", css: "n", cell: twoLines((own, {worker, path}) => {
        const gap = worker.longest_gap_ns ?? 0;
        setFigure(own.value, path + ".longest_gap_ns", gap, gap ? duration(gap) : "\u2013");
        write(own.below, worker.tx_retries ? `${compact(worker.tx_retries)} tx retries` : "");
      })},
      {name: "Busy, last hour", css: "spark-cell",
       cell: sparkCell("tone-forwarded",
                       ({view, worker}) => hourOf(view, "busy " + worker.lcore), 1)},
    ], "cards", "Workers");
    byId("workers").append(this.table.root);
  }

  show(view) {
    this.table.show(view.appliance.workers.map((worker, i) => ({
      view, worker, now: view.now.workers[i], path: `workers.${i}`, off: worker.answering === false,
    })), (_, i) => i);
  }
}

// ---- advice -------------------------------------------------------------------------------------

export class Advice {
  constructor() {
    this.list = make("ul", {class: "advice"});
    this.none = make("p", {class: "empty"});
    byId("advice").append(this.list, this.none);
  }

  show(view) {
    const filters = audited(view.appliance);
    const lines = filters.flatMap(filter => listOf(filter.audit.advice).map(text =>
      filters.length > 1 ? `${filter.name}: ${text}` : text));
    keep(this.list, lines, (line, i) => i, () => ({root: make("li")}),
         ({root}, line) => write(root, line));
    this.none.hidden = lines.length > 0;
    write(this.none, filters.length ? "The audits have no advice."
                                    : "With the audit on, what it sees is compared with what is " +
                                      "configured.");
  }
}
