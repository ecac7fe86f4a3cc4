// SPDX-License-Identifier: BSD-3-Clause
// The echoes of the chosen filter: their ages, the ports between which they pass, and their causes.

import {Plot, roundScale} from "./chart.js";
import {attribute, byId, draw, keep, make, meter, part, setFigure, table, write} from "./dom.js";
import {compact, count, duration, percent, words} from "./text.js";

const kAgeHeight = 190;
const kMostPlaces = 8;
const kLabels = 6;  // of an axis, that have room beside each other
// ---- ages ---------------------------------------------------------------------------------------

// Whole powers of ten that enclose the echoes and the window.
function ageAxis(bins, marks) {
  const ages = [...bins.flatMap(bin => [Math.max(bin.from_ns, 1), bin.to_ns]), ...marks]
    .filter(age => age > 0).map(Math.log10);
  const low = Math.floor(Math.min(...ages) + 1e-9);
  const high = Math.max(low + 1, Math.ceil(Math.max(...ages) - 1e-9));
  return {low, high, at: ns => Math.min(1, Math.max(0, (Math.log10(Math.max(ns, 1)) - low) /
                                                       (high - low)))};
}

class Ages {
  constructor(host) {
    this.plot = new Plot("ages", "Ages of echoes", kAgeHeight, 44);
    this.slack = draw("rect", {class: "slack", y: 0, height: kAgeHeight});
    this.plot.under.append(this.slack);
    this.columns = draw("g");
    this.plot.under.append(this.columns);
    this.caption = make("figcaption", {},
                        "By age: the time since the packet before with the same key");
    this.root = make("figure", {}, this.caption, this.plot.root);
    attribute(this.plot.root, "class", "plot marked");
    host.append(this.root);
  }

  show(filter, audit) {
    const bins = audit.ages.filter(bin => bin.packets > 0);
    const marks = [filter.window_ns, audit.window_999_ns];
    const axis = ageAxis(bins, [...marks, filter.window_ns + (filter.slack_ns ?? 0)]);
    const scale = roundScale(bins.reduce((most, bin) => Math.max(most, bin.packets), 0));
    this.plot.setY(scale.ticks.map(tick => ({at: tick / scale.top, label: compact(tick)})));
    this.#drawAxis(axis);
    this.#drawColumns(bins, axis, scale);
    this.#drawMarks(filter, audit, axis);
  }

  #drawAxis(axis) {
    const ticks = [];
    const powers = axis.high - axis.low;
    const step = Math.ceil(powers / kLabels);
    for (let power = axis.low; power <= axis.high; power += step) {
      ticks.push({at: (power - axis.low) / powers, label: duration(10 ** power),
                  minor: step === 1 && powers > 4 && (power - axis.low) % 2 === 1});
    }
    this.plot.setX(ticks, "age");
  }

  #drawColumns(bins, axis, scale) {
    keep(this.columns, bins, bin => bin.from_ns, () => {
      const tip = draw("title");
      return {root: draw("rect", {class: "in"}, tip), tip};
    }, ({root, tip}, bin) => {
      const height = Math.max(1.5, bin.packets / scale.top * kAgeHeight);
      attribute(root, "data-from", bin.from_ns);
      attribute(root, "data-packets", bin.packets);
      attribute(root, "x", part(axis.at(bin.from_ns)));
      attribute(root, "width", part(Math.max(0, axis.at(bin.to_ns) - axis.at(bin.from_ns))));
      attribute(root, "y", (kAgeHeight - height).toFixed(2));
      attribute(root, "height", height.toFixed(2));
      write(tip, `${duration(bin.from_ns)} to ${duration(bin.to_ns)}: ${count(bin.packets)}`);
    });
  }

  #drawMarks(filter, audit, axis) {
    const end = axis.at(filter.window_ns + (filter.slack_ns ?? 0));
    attribute(this.slack, "x", part(axis.at(filter.window_ns)));
    attribute(this.slack, "width", part(Math.max(0, end - axis.at(filter.window_ns))));
    const marks = [{at: axis.at(filter.window_ns), label: `window ${duration(filter.window_ns)}`}];
    if (audit.window_999_ns) {
      marks.push({at: axis.at(audit.window_999_ns), css: "second",
                  label: `99.9\u00a0% within ${duration(audit.window_999_ns)}`});
    }
    this.plot.setMarks(marks);
    this.plot.describe(marks.map(mark => mark.label).join("; "));
  }
}

// ---- crossings ----------------------------------------------------------------------------------

// Return the ports with most echoes, in the order of all ports; the rest is counted together.
function placesOf(crossings, role) {
  const sums = new Map();
  for (const each of crossings) {
    sums.set(each[role], (sums.get(each[role]) ?? 0) + each.packets);
  }
  const most = [...sums].sort((a, b) => b[1] - a[1]).slice(0, kMostPlaces);
  return [...sums].filter(place => most.some(other => other[0] === place[0]))
    .map(([name, packets]) => ({name, packets}));
}

const kPlace = 40;   // px that a place has at least, for its two lines
const kFlow = 120;   // px for all echoes together
const kGap = 6;

// Give each port a slot, with its echoes as a bar in the middle.
function layOut(places, all, height) {
  const sizes = places.map(place => Math.max(2, place.packets / all * kFlow));
  const slots = sizes.map(size => Math.max(kPlace, size + kGap));
  let top = (height - slots.reduce((a, b) => a + b, 0)) / 2;
  places.forEach((place, i) => {
    place.slot = top;
    place.middle = top + slots[i] / 2;
    place.top = place.middle - sizes[i] / 2;
    place.size = sizes[i];
    place.used = 0;
    top += slots[i];
  });
}

const heightOf = (places, all) => places.reduce((sum, place) =>
  sum + Math.max(kPlace, Math.max(2, place.packets / all * kFlow) + kGap), 0);

class Crossings {
  constructor(host) {
    this.from = make("div", {class: "ends from"});
    this.to = make("div", {class: "ends to"});
    this.bars = draw("g");
    this.ribbons = draw("g");
    this.picture = draw("svg", {preserveAspectRatio: "none", role: "img",
                                "aria-label": "Echoes between ports; the table below has the same"},
                        this.ribbons, this.bars);
    this.cross = make("div", {class: "cross"}, this.from, this.picture, this.to);
    const caption = make("figcaption", {},
                         "First by the port on the left, again by the one on the right");
    this.body = make("tbody");
    this.left = make("p", {class: "small"});
    const more = make("details", {class: "small"}, make("summary", {}, "As a table"),
                      make("table", {}, make("thead", {}, make(
                        "tr", {}, ...["First by", "Again by", "Echoes"].map((name, i) =>
                          make("th", {scope: "col", class: i === 2 ? "n" : null}, name)))),
                           this.body));
    this.root = make("figure", {id: "crossings"}, caption, this.cross, this.left, more);
    host.append(this.root);
  }

  show(crossings) {
    const all = crossings.reduce((sum, each) => sum + each.packets, 0);
    const from = placesOf(crossings, "first");
    const to = placesOf(crossings, "repeated");
    const height = Math.max(kPlace, heightOf(from, all), heightOf(to, all));
    layOut(from, all, height);
    layOut(to, all, height);
    attribute(this.picture, "viewBox", `0 0 100 ${height}`);
    attribute(this.picture, "height", height.toFixed(0));
    this.#label(this.from, from, all);
    this.#label(this.to, to, all);
    const shown = this.#drawRibbons(crossings, from, to, all);
    this.#drawBars(from, to);
    const rest = all - shown;
    this.left.hidden = rest === 0;
    write(this.left, `Not in the picture: ${count(rest)} between other ports.`);
    this.#fillTable(crossings);
  }

  #label(host, places, all) {
    keep(host, places, place => place.name, () => {
      const name = make("b");
      const value = make("span", {class: "sub"});
      return {root: make("div", {}, name, value), name, value};
    }, (own, place) => {
      own.root.style.top = place.middle.toFixed(1) + "px";
      write(own.name, place.name);
      attribute(own.name, "title", place.name);
      write(own.value, percent(place.packets / all));
    });
  }

  #drawRibbons(crossings, from, to, all) {
    const flows = [];
    for (const each of crossings) {
      const left = from.find(place => place.name === each.first);
      const right = to.find(place => place.name === each.repeated);
      if (left && right && each.packets > 0) {
        flows.push({...each, left, right});
      }
    }
    flows.sort((a, b) => a.left.slot - b.left.slot || a.right.slot - b.right.slot);
    keep(this.ribbons, flows, flow => JSON.stringify([flow.first, flow.repeated]), () => {
      const tip = draw("title");
      return {root: draw("path", {class: "ribbon"}, tip), tip};
    }, ({root, tip}, {left, right, packets, first, repeated}) => {
      const y0 = left.top + left.used / left.packets * left.size;
      const y1 = right.top + right.used / right.packets * right.size;
      const h0 = packets / left.packets * left.size;
      const h1 = packets / right.packets * right.size;
      left.used += packets;
      right.used += packets;
      attribute(root, "d", `M2 ${y0.toFixed(1)}C50 ${y0.toFixed(1)} 50 ${y1.toFixed(1)} 98 ` +
        `${y1.toFixed(1)}V${(y1 + h1).toFixed(1)}C50 ${(y1 + h1).toFixed(1)} 50 ` +
        `${(y0 + h0).toFixed(1)} 2 ${(y0 + h0).toFixed(1)}Z`);
      attribute(root, "data-packets", packets);
      write(tip, `${first} \u2192 ${repeated}: ${count(packets)} (${percent(packets / all)})`);
    });
    return flows.reduce((sum, flow) => sum + flow.packets, 0);
  }

  #drawBars(from, to) {
    const bars = [...from.map(place => ({...place, x: 0})),
                  ...to.map(place => ({...place, x: 98}))];
    keep(this.bars, bars, bar => bar.x + " " + bar.name,
         () => ({root: draw("rect", {class: "end", width: 2})}),
         ({root}, bar) => {
           attribute(root, "x", bar.x);
           attribute(root, "y", bar.top.toFixed(1));
           attribute(root, "height", bar.size.toFixed(1));
         });
  }

  #fillTable(crossings) {
    const sorted = [...crossings].sort((a, b) => b.packets - a.packets);
    keep(this.body, sorted, each => JSON.stringify([each.first, each.repeated]), () => {
      const cells = [make("td"), make("td"), make("td", {class: "n"})];
      return {root: make("tr", {}, ...cells), cells};
    }, ({cells}, each) =>
      [each.first, each.repeated, count(each.packets)].forEach((text, i) => write(cells[i], text)));
  }
}

// ---- causes -------------------------------------------------------------------------------------

// Shorter forms of the names that `analyze` uses.
const kCauses = {
  loop: ["Loop", "a lower TTL each time: a routing loop"],
  tunnelled: ["Tunnelled", "plain and tunnelled, or tunnelled otherwise"],
  tunnels: ["Several tunnels", "in tunnels with other ends or tenants"],
  routed: ["Routed", "TTL and MAC addresses differ: before and behind a router"],
  "hop-limit": ["Hop limit", "TTL alone differs"],
  retagged: ["Retagged", "VLAN tags or MPLS labels differ"],
  relayed: ["Relayed", "MAC addresses alone differ"],
  resent: ["Resent", "sent again on the air: no copy"],
  remarked: ["Remarked", "TOS or traffic class differs"],
  padded: ["Padded", "bytes behind the IP packet differ"],
  checksum: ["Checksum", "a checksum alone differs, filled in by hardware"],
  outer: ["Outer headers", "only headers outside the tunnel differ"],
  identical: ["Identical", "the same frame"],
  alike: ["Looks alike", "the same key, but another packet"],
};

function causeCell() {
  const name = make("span");
  const below = make("span", {class: "sub"});
  const bar = meter("tone-share");
  return {roots: [name, below, bar.root], update({cause, share}) {
    const [title, sentence] = kCauses[cause.replaceAll("_", "-")] ?? [words(cause), ""];
    write(name, title);
    write(below, sentence);
    bar.set(share);
  }};
}

export class Echoes {
  #picked = null;
  #view = null;

  constructor() {
    this.picker = byId("filter-picker");
    this.picker.addEventListener("change", () => {
      this.#picked = this.picker.value;
      this.show(this.#view);
    });
    this.body = make("div");
    const parts = [make("div"), make("div"), make("div")];
    this.body.append(make("div", {class: "three"}, ...parts));
    this.ages = new Ages(parts[0]);
    this.crossings = new Crossings(parts[1]);
    const value = () => {
      const own = make("data");
      return {roots: [own], update: item =>
        setFigure(own, item.path, item.packets, compact(item.packets))};
    };
    const share = () => {
      const own = make("span");
      return {roots: [own], update: item => write(own, percent(item.share))};
    };
    this.causes = table([{name: "Cause", css: "", cell: causeCell},
                         {name: "Echoes", css: "n", cell: value},
                         {name: "Share", css: "n", cell: share}], "causes");
    parts[2].append(this.causes.root);
    this.none = make("p", {class: "empty"});
    byId("echoes").append(this.none, this.body);
  }

  show(view) {
    this.#view = view;
    const filters = view.appliance.filters;
    this.#choices(filters);
    const at = Math.max(0, filters.findIndex(filter => filter.name === this.#picked));
    const filter = filters[at];
    const audit = filter?.audit;
    const some = audit?.enabled && audit.ages?.some(bin => bin.packets > 0);
    this.body.hidden = !some;
    this.none.hidden = Boolean(some);
    write(this.none, audit?.enabled
      ? "The audit has seen no echo yet."
      : "The audit is off: nothing is known of them but their number.");
    if (!some) {
      return;
    }
    this.ages.show(filter, audit);
    this.crossings.root.hidden = !audit.crossings?.length;
    if (audit.crossings?.length) {
      this.crossings.show(audit.crossings);
    }
    this.#showCauses(audit.causes ?? {}, `filters.${at}.audit.causes.`);
  }

  #choices(filters) {
    const build = () => ({root: make("option")});
    keep(this.picker, filters, (_, i) => i, build, ({root}, filter) => {
      attribute(root, "value", filter.name);
      write(root, filter.name);
    });
    this.picker.parentElement.hidden = filters.length < 2;
  }

  #showCauses(causes, path) {
    const all = Object.values(causes).reduce((a, b) => a + b, 0);
    const items = Object.entries(causes).filter(([, packets]) => packets > 0)
      .map(([cause, packets]) => ({cause, packets, share: packets / all, path: path + cause}));
    this.causes.root.hidden = items.length === 0;
    this.causes.show(items, item => item.cause);
  }
}
