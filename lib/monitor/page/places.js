// SPDX-License-Identifier: BSD-3-Clause
// Routes and ports: their rates now, totals since the start, and the last hour.

import {sparkCell} from "./chart.js";
import {listOf, lostByPort, routeEchoes, routeName} from "./data.js";
import {attribute, byId, make, meter, setFigure, table, twoLines, write} from "./dom.js";
import {bitRate, compact, count, list, packetRate, percent, words} from "./text.js";

const kHourMs = 3600e3;
const kLeastMs = 60e3;
const kPoints = 72;

// Return the last hour, or what is known of it.
export function hourOf(view, name) {
  const {from, size} = hourStart(view);
  return view.hour.means(name, from, view.timeMs, size);
}

// Return where the values of hourOf() begin, and the time between two of them, in ms.
export function hourStart(view) {
  const known = view.timeMs - (view.hour.times[0] ?? view.timeMs);
  const span = Math.min(kHourMs, Math.max(kLeastMs, known));
  return {from: view.timeMs - span, size: span / kPoints};
}

const orDash = (value, text) => value === null || value === undefined ? "\u2013" : text(value);

export function nameCell(update) {
  return () => {
    const name = make("span", {class: "name"});
    const below = make("span", {class: "name sub"});
    return {roots: [name, below], update(item, i) {
      const texts = update(item, i);
      [name, below].forEach((line, at) => {
        write(line, texts[at]);
        attribute(line, "title", texts[at]);
      });
    }};
  };
}

// The rate now above the count since the start; the column's head says so.
const ofBoth = name => make("span", {}, name, make("span", {class: "sub"}, "now, in all"));

function receivedCell() {
  const rate = make("data");
  const total = make("data", {class: "sub"});
  return {roots: [rate, total], update({now, path, route: {received}}) {
    setFigure(rate, `now.${path}.received`, now.received, orDash(now.received, packetRate));
    setFigure(total, path + ".received", received, compact(received));
    attribute(total, "title", count(received));
  }};
}

function shareCell() {
  const value = make("data");
  const bar = meter("tone-share");
  const total = make("data", {class: "sub"});
  return {roots: [value, bar.root, total], update({now, path, route}) {
    setFigure(value, `now.${path}.share`, now.share, orDash(now.share, percent));
    bar.set(now.share ?? 0);
    setFigure(total, path + ".echoes", routeEchoes(route), compact(routeEchoes(route)));
    attribute(total, "title", count(routeEchoes(route)));
  }};
}

export class Routes {
  constructor() {
    this.table = table([
      {name: "Route", css: "", cell: nameCell(({route}) => [
        routeName(route),
        `${list(listOf(route.from))} \u2192 ${route.to}, filter ${route.filter}`])},
      {name: "Received", head: ofBoth("Received"), css: "n", cell: receivedCell},
      {name: "Echoes", head: ofBoth("Echoes"), css: "n", cell: shareCell},
      {name: "Echoes, last hour", css: "spark-cell",
       cell: sparkCell("tone-share", ({view, route}) => hourOf(view, "share " + routeName(route)))},
    ], "rates", "Routes");
    byId("routes").append(this.table.root);
  }

  show(view) {
    this.table.show(view.appliance.routes.map((route, i) => ({
      view, route, now: view.now.routes[i], path: `routes.${i}`, off: route.received === 0,
    })), (_, i) => i);
  }
}

function lossText(port) {
  return ["rx_missed", "rx_no_mbuf", "rx_errors", "tx_errors"].filter(name => port[name] > 0)
    .map(name => `${words(name)} ${compact(port[name])}`).join(", ");
}

export class Ports {
  constructor() {
    const way = (packets, bits, total) => twoLines((own, {now, port, path}) => {
      const never = port[total] === 0;
      setFigure(own.value, `now.${path}.${packets}`, now[packets],
                never ? "\u2013" : orDash(now[packets], packetRate));
      write(own.below, never ? "" : orDash(now[bits], bitRate));
      attribute(own.value, "title", count(port[total]));
    });
    this.table = table([
      {name: "Port", css: "", cell: this.#nameCell()},
      {name: "Received", css: "n", cell: way("rx", "rxBits", "rx_packets")},
      {name: "Sent", css: "n", cell: way("tx", "txBits", "tx_packets")},
      {name: "Lost", css: "n", cell: twoLines((own, {port, path}) => {
        setFigure(own.value, path + ".lost", lostByPort(port), compact(lostByPort(port)));
        write(own.below, lossText(port));
      })},
      {name: "Last hour", css: "spark-cell",
       cell: sparkCell("tone-forwarded", ({view, port}) =>
         hourOf(view, (port.rx_packets > 0 ? "rx " : "tx ") + port.name))},
    ], "rates ports", "Ports");
    byId("ports").append(this.table.root);
  }

  #nameCell() {
    return nameCell(({port}) => [port.name, port.link_up === false ? "link down" : "link up"]);
  }

  show(view) {
    this.table.show(view.appliance.ports.map((port, i) => ({
      view, port, now: view.now.ports[i], path: `ports.${i}`, off: port.link_up === false,
    })), (_, i) => i);
  }
}
