// SPDX-License-Identifier: BSD-3-Clause
// Paths from one point to another, in the sample of the audit: the loss with its interval and bound,
// delays, and what changed on the way.

import {isFound} from "./answer.js";
import {intervalCell, rateAxis, scaleHead} from "./audit.js";
import {hasTraffic} from "./data.js";
import {attribute, byId, setFigure, table, twoLines, write} from "./dom.js";
import {hourCell} from "./drops.js";
import {hourOf, nameCell} from "./places.js";
import {compact, duration, percent, words} from "./text.js";

const kUsualLoss = 1e-4;
const rounded = share => share > 0 ? percent(share) : "0";

function lossTone(view, path) {
  const {loss, max_path_loss: bound} = path;
  return isFound(view, "path-loss", "path " + path.name) ? "wrong"
    : typeof bound === "number" && loss.of > 0 ? loss.high <= bound ? "good" : "unsure" : "";
}

function intervalText({of, low, high}) {
  const [from, to] = [percent(low), percent(high)];
  return of === 0 ? "not judged yet"
    : from === to ? to  // as both are under 0.001 %
      : low > 0 ? `${from} to ${to}` : high < 1e-5 ? to : `at most ${to}`;
}

function lossParts({view, path}) {
  const {loss, max_path_loss: bound} = path;
  const limit = typeof bound === "number" ? `bound ${rounded(bound)}` : "no bound";
  return {...loss, bound, tone: lossTone(view, path), text: `${intervalText(loss)}; ${limit}`};
}

function lossCell() {
  return twoLines((own, {path, at}) => {
    const {rate, count, of} = path.loss;
    setFigure(own.value, of > 0 ? at + ".loss.rate" : null, of > 0 ? rate : null,
              of > 0 ? rounded(rate) : "\u2013");
    write(own.below, of > 0 ? `${compact(count)} of ${compact(of)}`
                            : "of no packet is known that it had to come");
  })();
}

function delayCell() {
  return twoLines((own, {view, path, at}) => {
    const {packets, median_ns: median, p99_ns: most, max_ns: longest} = path.delay;
    const late = isFound(view, "path-delay", "path " + path.name);
    const some = packets > 0;
    setFigure(own.value, some ? at + ".delay.median_ns" : null, some ? median : null,
              some ? duration(median) : "\u2013");
    const bound = path.max_path_delay_ns;
    const limit = typeof bound === "number"
      ? `; ${late ? "too many, " : ""}${percent(path.late / Math.max(1, path.timed))} above ` +
        duration(bound) : "";
    write(own.below, some ? `99\u00a0% within ${duration(most)}, longest ${duration(longest)}` +
                            limit : "");
  })();
}

function changesCell() {
  return twoLines((own, {path}) => {
    const {changes, directed} = path;
    const parts = Object.entries(changes ?? {}).sort((a, b) => b[1] - a[1])
      .map(([name, packets]) => `${words(name)} ${percent(packets / Math.max(1, directed))}`);
    write(own.below, parts.join(", ") || "nothing");
  })();
}

// The share of the sampled packets, because their number depends on the sample.
function lossesOf({view, path}) {
  const missing = hourOf(view, "missing " + path.name);
  return hourOf(view, "judged " + path.name).map((judged, i) =>
    judged > 0 && missing[i] !== null ? missing[i] / judged : null);
}

export class Paths {
  constructor() {
    this.scale = scaleHead("95\u00a0% interval, and the bound");
    this.table = table([
      {name: "Path", css: "", cell: nameCell(({path}) => [
        `${path.from} \u2192 ${path.to}`,
        `filter ${path.filter}${path.stated ? ", as stated" : ""}`])},
      {name: "Lost", css: "n", cell: lossCell},
      {name: "95\u00a0% interval, and the bound", head: this.scale.root, css: "wide",
       cell: intervalCell(lossParts)},
      {name: "Delay, median", css: "n", cell: delayCell},
      {name: "Lost, last hour", css: "",
       cell: hourCell(lossesOf, () => "tone-lost", percent)},
      {name: "Changed on the way", css: "", cell: changesCell},
    ], "cards paths", "Paths");
    byId("paths").append(this.table.root);
  }

  show(view) {
    const items = view.appliance.paths.map((path, i) => ({view, path, at: `paths.${i}`}))
      .filter(({path}) => hasTraffic(path));
    attribute(byId("paths"), "hidden", items.length === 0);
    if (!items.length) {
      return;
    }
    const axis = rateAxis(items.map(lossParts), kUsualLoss);
    this.scale.show(axis);
    this.table.show(items.map(item => ({...item, axis})), item => item.at);
  }
}
