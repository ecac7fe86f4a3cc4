// SPDX-License-Identifier: BSD-3-Clause
// Chooses the appliance shown, and shows how fresh its data is. The choice is in the address after
// #, so that it can be bookmarked and shared.

import {dotOf, headline, sinceText, tiles} from "./answer.js";
import {Audit} from "./audit.js";
import {Connection, fetchJson} from "./connection.js";
import {Store, listOf} from "./data.js";
import {attribute, byId, keep, make, setFigure, write} from "./dom.js";
import {Drops} from "./drops.js";
import {Echoes} from "./echoes.js";
import {Events} from "./events.js";
import {Advice, Filters, Roots, Workers} from "./filters.js";
import {Paths} from "./paths.js";
import {Ports, Routes} from "./places.js";
import {Presence} from "./presence.js";
import {clock, since} from "./text.js";
import {Traffic} from "./traffic.js";

const kHourSeconds = 3600;
const kHourPatience = 30000;  // of 32 ports, routes and workers it is some megabytes
const kMissed = 2500;  // ms between two states after which the hour has a hole to be filled

const body = document.body;
const store = new Store();
const title = document.querySelector("h1");
const [lead, runbook] = document.querySelector("#answer .lead").children;
const others = byId("findings");
const answer = document.querySelector("dl.answer");
const live = document.querySelector("#live span");
const presence = new Presence();
const sections = [new Traffic(() => show()), new Drops(), new Routes(), new Ports(), new Audit(),
                  new Paths(), new Echoes(), new Advice(), new Filters(), new Roots(),
                  new Workers(), new Events()];
let last = 0;          // when the last state came, by the browser's own clock
let asked = new Map(); // appliance -> when its hour was asked for
const kAskAgain = 10000;

// ---- the choice ---------------------------------------------------------------------------------

const chosen = () => {
  const wanted = new URLSearchParams(location.hash.slice(1)).get("appliance");
  return store.appliances.find(each => each.name === wanted) ??
    store.appliances.find(each => each.state === "running") ?? store.appliances[0];
};

function showChoices() {
  const current = chosen();
  keep(byId("appliances"), store.appliances, each => each.name, each => {
    const dot = make("i", {class: "dot"});
    const name = make("span");
    const address = "#" + new URLSearchParams({appliance: each.name});
    return {root: make("a", {href: address}, dot, name), dot, name};
  }, (own, each) => {
    attribute(own.dot, "class", "dot " + dotOf(each));
    const name = each.state === "running" ? each.name : `${each.name}, ${each.state}`;
    write(own.name, name);
    attribute(own.name, "title", name);
    attribute(own.root, "aria-current", each === current ? "page" : null);
  });
}

// ---- the answer ---------------------------------------------------------------------------------

// Keep "1e-6" on one line in running text.
const unbroken = text => text.replace(/e-(?=[0-9])/g, "e\u2011");

function say({tone, title: words, lead: text, rule}) {
  attribute(title, "class", tone);
  write(title, words);
  write(lead, unbroken(text));
  attribute(runbook, "hidden", !rule);
  attribute(runbook, "href", rule && "runbook#" + rule);
  write(runbook, rule ?? "");
}

// What else is wrong, each with a link to its section of the runbook.
function showFindings(findings, view) {
  others.hidden = findings.length === 0;
  keep(others, findings, each => `${each.rule} ${each.where}`, each => {
    const name = make("strong");
    const text = make("span");
    const link = make("a", {href: "runbook#" + each.rule}, each.rule);
    return {root: make("li", {}, name, " ", text, " ", link), name, text};
  }, (own, each) => {
    attribute(own.root, "class", each.acknowledged ? "quiet"
      : each.severity === "critical" ? "wrong" : "unsure");
    write(own.name, each.acknowledged ? "Acknowledged:" : each.headline);
    write(own.text, unbroken(`${each.text}. ${each.remedy} ${sinceText(each, view)}`));
  });
}

function showTiles(view) {
  keep(answer, tiles(view), (_, i) => i, () => {
    const name = make("dt");
    const big = make("data", {class: "big"});
    const small = make("div", {class: "small"});
    return {root: make("div", {}, name, make("dd", {}, big, small)), name, big, small};
  }, (own, tile) => {
    attribute(own.root, "class", tile.tone);
    write(own.name, tile.name);
    setFigure(own.big, tile.path, tile.value, tile.shown);
    write(own.small, unbroken(tile.small));
  });
}

const nobody = () => ({
  tone: "doubt", title: "No appliance is running.",
  lead: ["As soon as one is started on this host, with unecho run, it shows here by its name.",
         ...listOf(store.server.problems)].join(" "),
});

function show() {
  if (!last) {
    return;
  }
  const appliance = chosen();
  showChoices();
  const view = appliance && store.view(appliance.name);
  // An appliance that never replied has no data to show.
  const told = view?.appliance.counters.received !== undefined;
  attribute(body, "data-known", told ? "yes" : "no");
  const verdict = !appliance ? nobody() : headline(view);
  say(verdict);
  showFindings(verdict.findings ?? [], view);
  document.title = (appliance ? `${verdict.title} ${appliance.name} \u00b7 ` : "") + "unecho";
  presence.show(appliance, store.server);
  if (told) {
    showTiles(view);
    sections.forEach(section => section.show(view));
  }
  showFooter(appliance);
}

function showFooter(appliance) {
  const version = appliance?.info?.version ?? store.server.version;
  write(byId("version"), version ? `unecho ${version}` : "unecho");
}

// ---- what comes ---------------------------------------------------------------------------------

async function loadHour(name) {
  const now = performance.now();
  if (now - (asked.get(name) ?? -kAskAgain) < kAskAgain) {
    return;
  }
  asked.set(name, now);
  try {
    const query = new URLSearchParams({name, seconds: kHourSeconds});
    store.hour(name).load(await fetchJson("api/v1/history?" + query, kHourPatience));
    attribute(body, "data-hour", name);
    show();
  } catch {
    // The page shows less until the next try.
  }
}

function take(state, how) {
  const now = performance.now();
  if (now - last > kMissed) {
    asked = new Map();  // while nothing came, or while the tab slept, the hour went on
    store.appliances.forEach(each => { store.hour(each.name).loaded = false; });
  }
  last = now;
  store.take(state);
  const appliance = chosen();
  if (appliance && !store.hour(appliance.name).loaded) {
    loadHour(appliance.name);
  }
  attribute(body, "data-state", "live");
  attribute(body, "data-how", how);
  write(live, "live");
  show();
  attribute(body, "data-time", Math.round(store.timeMs));
}

function lost(sinceMs) {
  attribute(body, "data-state", "unreachable");
  const length = Date.now() - sinceMs;
  write(live, `no answer from the server for ${since(length)}`);
  if (!last) {
    say({tone: "bad", title: "The server does not answer.",
         lead: "It is asked again each second."});
    return;
  }
  say({tone: "bad", title: "The server does not answer.",
       lead: `Since ${clock(sinceMs)}; it is asked again each second. What the appliances do ` +
         "meanwhile is not known here. Below is what was said last."});
  document.title = "No server \u00b7 unecho";
}

attribute(body, "data-known", "no");
addEventListener("hashchange", () => {
  const appliance = chosen();
  if (appliance && !store.hour(appliance.name).loaded) {
    loadHour(appliance.name);
  }
  show();
});
document.addEventListener("visibilitychange", () => document.hidden || show());
new Connection(take, lost);
