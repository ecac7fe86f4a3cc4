// SPDX-License-Identifier: BSD-3-Clause
// Makes and keeps elements. Foreign text is inserted as text or as an attribute, never as HTML; the
// page's policy (Trusted Types) refuses anything else.

const kSvg = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    attribute(element, name, value);
  }
  element.append(...children);
  return element;
}

export const make = (tag, attributes = {}, ...children) =>
  fill(document.createElement(tag), attributes, children);
export const draw = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS(kSvg, tag), attributes, children);
// Format a share from 0 to 1 as a CSS length.
export const part = share => (share * 100).toFixed(2) + "%";
export const byId = id => document.getElementById(id);

// Both write only differences: an untouched node costs no layout.
export function attribute(element, name, value) {
  if (value === null || value === undefined || value === false) {
    element.removeAttribute(name);
  } else if (element.getAttribute(name) !== String(value)) {
    element.setAttribute(name, value === true ? "" : value);
  }
}

export function write(element, text) {
  if (element.textContent !== text) {
    element.textContent = text;
  }
}

// A figure of the API: its path, its value, and the text shown.
export function figure(path, value, shown) {
  const element = make("data");
  setFigure(element, path, value, shown);
  return element;
}

export function setFigure(element, path, value, shown) {
  attribute(element, "data-is", path);
  attribute(element, "value", value);
  write(element, shown);
}

// Keep one child per list item: made once for each key, then moved and updated.
export function keep(parent, items, keyOf, build, update) {
  const old = parent.kept ?? new Map();
  const kept = new Map();
  let place = parent.firstChild;
  items.forEach((item, i) => {
    const key = String(keyOf(item, i));
    const entry = old.get(key) ?? build(item, i);
    old.delete(key);
    kept.set(key, entry);
    if (entry.root === place) {
      place = place.nextSibling;
    } else {
      parent.insertBefore(entry.root, place);
    }
    update?.(entry, item, i);
  });
  for (const entry of old.values()) {
    entry.root.remove();
  }
  parent.kept = kept;
}

export function meter(tone = "") {
  const bar = make("i");
  const root = make("span", {class: `meter ${tone}`, "aria-hidden": "true"}, bar);
  return {root, set(share) {
    bar.style.width = part(Math.min(1, Math.max(0, share)));
  }};
}

const kManyRows = 12;

// A table from columns {name, head, css, cell() -> {roots, update(item, i)}}. The first column
// heads the row. A table with many rows scrolls by itself.
export function table(columns, css, label) {
  const head = make("tr", {}, ...columns.map(column =>
    make("th", {scope: "col", class: column.css}, column.head ?? column.name)));
  const body = make("tbody");
  const own = make("table", {class: css}, make("thead", {}, head), body);
  const root = make("div", {class: "rows"}, own);
  const build = () => {
    const cells = columns.map(column => column.cell());
    const row = make("tr", {}, ...cells.map((cell, i) => make(
      i === 0 ? "th" : "td",
      {scope: i === 0 ? "row" : null, class: columns[i].css, "data-label": columns[i].name},
      ...cell.roots)));
    return {root: row, cells};
  };
  return {root, show(items, keyOf) {
    const many = items.length > kManyRows;
    attribute(root, "tabindex", many ? 0 : null);
    attribute(root, "role", many ? "region" : null);
    attribute(root, "aria-label", many ? label : null);
    keep(body, items, keyOf, build, (row, item, i) => {
      attribute(row.root, "class", item.off ? "off" : null);
      row.cells.forEach(cell => cell.update(item, i));
    });
  }};
}

// A cell with a figure and a line below it.
export function twoLines(update) {
  const value = make("data");
  const below = make("span", {class: "sub"});
  return () => {
    const own = {value: value.cloneNode(), below: below.cloneNode()};
    return {roots: [own.value, own.below], update: (item, i) => update(own, item, i)};
  };
}
