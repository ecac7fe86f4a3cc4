// SPDX-License-Identifier: BSD-3-Clause
// Axes, and charts over time. Widths are shares of the chart, so that it follows the page. Only the
// drawing inside is stretched, never the lettering.

import {attribute, draw, keep, make, part, write} from "./dom.js";

export const kWidth = 1000;  // of what is stretched
export const kRow = 14;  // pixels from one row of labels to the next
const at = value => value.toFixed(2);

// Return 0 and up to four round values above it; the last one is at least `most`.
export function roundScale(most) {
  if (!(most > 0)) {
    return {top: 1, ticks: [0]};
  }
  const power = 10 ** Math.floor(Math.log10(most / 4));
  const step = [1, 2, 2.5, 5, 10].map(each => each * power).find(each => each * 4 >= most * 0.9999);
  const steps = Math.ceil(most / step - 1e-9);
  return {top: steps * step, ticks: Array.from({length: steps + 1}, (_, i) => i * step)};
}

export class Plot {
  constructor(id, title, height, below = 24) {
    this.height = height;
    this.grid = draw("g");
    this.under = draw("g");
    this.inside = draw("svg", {viewBox: `0 0 ${kWidth} ${height}`, width: "100%", height,
                               preserveAspectRatio: "none"});
    this.over = draw("g");
    this.labels = draw("g");
    this.axis = draw("g");
    this.name = draw("text", {x: "100%", y: height + 23 + kRow, "text-anchor": "end"});
    this.description = draw("desc", {id: id + "-d"});
    this.root = draw("svg", {class: "plot", role: "img", height: height + below,
                             "aria-labelledby": `${id}-t ${id}-d`},
                     draw("title", {id: id + "-t"}), this.description, this.grid, this.under,
                     this.inside, this.over, this.labels, this.axis, this.name);
    this.root.querySelector("title").textContent = title;
  }

  describe(text) {
    write(this.description, text);
  }

  // ticks: {at: 0 to 1, label}
  setY(ticks) {
    keep(this.grid, ticks, tick => tick.label, () => {
      const line = draw("line", {x1: 0, x2: "100%"});
      const text = draw("text", {x: -8, dy: "0.35em", "text-anchor": "end"});
      return {root: draw("g", {}, line, text), line, text};
    }, ({line, text}, tick) => {
      const y = at(this.height * (1 - tick.at));
      attribute(line, "class", tick.at > 0 ? "grid" : "base");
      attribute(line, "y1", y);
      attribute(line, "y2", y);
      attribute(text, "y", y);
      write(text, tick.label);
    });
  }

  // ticks: {at: 0 to 1, label, minor}, and a second label below the first, if there are two rows.
  setX(ticks, name = "") {
    const rows = ticks.some(tick => tick.second) ? 2 : 1;
    keep(this.axis, ticks, tick => tick.label, () => {
      const line = draw("line", {class: "tick", y1: this.height, y2: this.height + 5});
      const texts = [0, 1].map(row => draw("text", {y: this.height + 19 + row * kRow}));
      return {root: draw("g", {}, line, ...texts), line, texts};
    }, ({line, texts}, tick) => {
      attribute(line, "x1", part(tick.at));
      attribute(line, "x2", part(tick.at));
      texts.forEach((text, row) => {
        attribute(text, "x", part(tick.at));
        // Half of a long label would leave the chart, and a phone's screen.
        attribute(text, "text-anchor", tick.at > 0.98 && tick.label.length > 6 ? "end" : "middle");
        attribute(text, "class", tick.minor ? "minor" : null);
        write(text, [tick.label, tick.second ?? ""][row]);
      });
    });
    attribute(this.name, "y", this.height + 23 + rows * kRow);
    write(this.name, name);
  }

  // marks: {at: 0 to 1, label, css}; labels stand above the picture, one line each
  setMarks(marks) {
    keep(this.over, marks, (_, i) => i, () => ({root: draw("line")}), ({root}, mark, i) => {
      attribute(root, "class", "mark " + (mark.css ?? ""));
      attribute(root, "x1", part(mark.at));
      attribute(root, "x2", part(mark.at));
      attribute(root, "y1", -8 - 16 * i);
      attribute(root, "y2", this.height);
    });
    keep(this.labels, marks, (_, i) => i, () => ({root: draw("text")}), ({root}, mark, i) => {
      attribute(root, "class", "mark-label " + (mark.css ?? ""));
      attribute(root, "x", part(mark.at));
      attribute(root, "y", -12 - 16 * i);
      attribute(root, "text-anchor", mark.at < 0.3 ? "start" : mark.at > 0.7 ? "end" : "middle");
      write(root, mark.label);
    });
  }
}

// ---- lines over time ----------------------------------------------------------------------------

// Return the runs of known values, [first, end) each.
function runs(values) {
  const out = [];
  values.forEach((value, i) => {
    if (value === null) {
      return;
    }
    const last = out[out.length - 1];
    if (last && last[1] === i) {
      last[1] = i + 1;
    } else {
      out.push([i, i + 1]);
    }
  });
  return out;
}

// Steps, one per bucket. xOf(i) is the left edge of value i.
export function stepPath(values, xOf, yOf) {
  return runs(values).map(([first, end]) => {
    let path = `M${at(xOf(first))} ${at(yOf(values[first]))}`;
    for (let i = first + 1; i < end; i += 1) {
      path += `H${at(xOf(i))}V${at(yOf(values[i]))}`;
    }
    return path + `H${at(xOf(end))}`;
  }).join("");
}

// The area between two rows of values.
export function bandPath(lower, upper, xOf, yOf) {
  return runs(upper).map(([first, end]) => {
    let path = `M${at(xOf(first))} ${at(yOf(lower[first]))}`;
    for (let i = first; i < end; i += 1) {
      path += `V${at(yOf(upper[i]))}H${at(xOf(i + 1))}`;
    }
    for (let i = end - 1; i >= first; i -= 1) {
      path += `V${at(yOf(lower[i]))}H${at(xOf(i))}`;
    }
    return path + "Z";
  }).join("");
}

const kSparkHeight = 28;

// A small line chart of an hour, for a table cell.
export function spark(tone) {
  const fill = draw("path", {class: "fill"});
  const line = draw("path", {"vector-effect": "non-scaling-stroke"});
  const root = draw("svg", {class: "spark " + tone, viewBox: `0 0 ${kWidth} ${kSparkHeight}`,
                            preserveAspectRatio: "none", "aria-hidden": "true"}, fill, line);
  return {root, set(values, top) {
    const most = top ?? Math.max(0, ...values.filter(value => value !== null));
    const xOf = i => i * kWidth / values.length;
    attribute(root, "visibility", most > 0 ? null : "hidden");
    const yOf = value => kSparkHeight - 1.5 - (most > 0 ? value / most : 0) * (kSparkHeight - 3);
    attribute(line, "d", stepPath(values, xOf, yOf));
    attribute(fill, "d", bandPath(values.map(() => 0), values, xOf, yOf));
  }};
}

export function sparkCell(tone, valuesOf, top) {
  return () => {
    const own = spark(tone);
    return {roots: [own.root], update: (item, i) => own.set(valuesOf(item, i), top)};
  };
}

export function legendEntry(tone, name) {
  const value = make("data");
  const root = make("span", {class: "entry"}, make("i", {class: "swatch tone-" + tone}),
                    name + " ", value);
  return {root, value};
}
