// SPDX-License-Identifier: BSD-3-Clause
// The verdict in words: what is wrong with an appliance, the worst first, or that nothing is.

import {audited, kLostReasons, lostByPort, lostOf, overall} from "./data.js";
import {clock, compact, count, duration, list, packetRate, percent, since, tiny, words}
  from "./text.js";

const kRecent = 60;  // seconds in which a loss is news
const kSure = "with 95\u00a0% confidence";

const verdict = (tone, title, lead) => ({tone, title, lead});

// Such as "3 of 290,112,004 new packets that the audit checked were dropped falsely: 1.0e-8, ..."
function droppedText(all) {
  const {count: falsely, of, worst} = all;
  if (of === 0) {
    return "The audit has had no new packet to check yet.";
  }
  const bound = worst.bound > 0 ? `; the bound is ${tiny(worst.bound)}` : "";
  const who = all.several ? `, in filter ${worst.filter.name}` : "";
  return falsely === 0
    ? `The audit checked ${count(of)} new packets, and none was dropped: ${kSure} at most ` +
      `${tiny(worst.high)} of them${who}${bound}.`
    : `The audit checked ${count(of)} new packets, and ${count(falsely)} ` +
      `${falsely === 1 ? "was" : "were"} dropped: ${tiny(worst.rate)} of them${who}, ${kSure} ` +
      `between ${tiny(worst.low)} and ${tiny(worst.high)}${bound}.`;
}

export function confirmText(part) {
  const ns = part.confirmed_in_ns;
  return part.verdict === "open" && ns > 0 ? `Sure in about ${duration(ns)}, at this rate.` : "";
}

export function explainedText(explained) {
  const parts = Object.entries(explained ?? {}).filter(([, value]) => value > 0)
    .sort((a, b) => b[1] - a[1]);
  return parts.map(([reason, value]) => `${words(reason)} ${count(value)}`).join(", ");
}

const copies = value => `${count(value)} ${value === 1 ? "copy" : "copies"}`;

function missesText(misses) {
  const why = explainedText(misses.explained);
  if (misses.count > 0) {
    return `${copies(misses.count)} inside the window got through and nothing explains it` +
      `${why ? `; others are explained: ${why}` : ""}.`;
  }
  const explained = Object.values(misses.explained).reduce((a, b) => a + b, 0);
  return explained > 0 ? `${copies(explained)} got through, and it is known why: ${why}.`
    : misses.of > 0 ? "No copy inside the window got through." : "";
}

// ---- one appliance ------------------------------------------------------------------------------

function absent(view) {
  const {appliance, timeMs} = view;
  const from = appliance.since_ns / 1e6;
  const last = view.heardMs ? ` Below is what it said last, at ${clock(view.heardMs)}.` : "";
  if (appliance.state === "gone") {
    return verdict("bad", `${appliance.name} is gone.`,
                  `Since ${clock(from)}, ${since(timeMs - from)} ago, nobody answers by that ` +
                  `name. It shows here again as soon as it runs.${last}`);
  }
  return verdict("bad", `${appliance.name} does not answer.`,
                `Since ${clock(from)}, ${since(timeMs - from)} ago` +
                (appliance.problem ? `: it ${appliance.problem}` : ", nothing comes back") +
                `.${last}`);
}

function lostSince(view) {
  const parts = view.appliance.ports.filter(port => lostByPort(port) > 0)
    .map(port => `${port.name} ${count(lostByPort(port))}`);
  const more = parts.length > 3 ? ` and ${parts.length - 3} others` : "";
  const missed = parts.length ? `missed by ports: ${parts.slice(0, 3).join(", ")}${more}` : "";
  const sent = kLostReasons.map(reason => [reason, view.appliance.reasons[reason] ?? 0])
    .filter(([, value]) => value > 0).map(([reason, value]) => `${words(reason)}: ${count(value)}`);
  return list([missed, ...sent].filter(Boolean));
}

function auditOff(view) {
  const share = view.now.received > 0 ? view.now.echoes / view.now.received : null;
  return verdict("doubt", share === null ? "Running." : `${percent(share)} are echoes.`,
                "The audit is off: nobody measures what is dropped falsely. It is on with " +
                "enabled = true in [audit] of the configuration.");
}

function byAudit(view, dropped, misses) {
  const text = `${droppedText(dropped)} ${missesText(misses)}`;
  if (dropped.verdict === "broken") {
    return verdict("bad", "The bound is broken.",
                  `More new packets are dropped than promised. ${text}`);
  }
  if (misses.verdict === "broken") {
    return verdict("bad", "Copies get through.", `${missesText(misses)} ${droppedText(dropped)}`);
  }
  const lost = lostOf(view.appliance);
  if (dropped.verdict === "open") {
    return verdict("doubt", dropped.count === 0 ? "Nothing lost so far." : "Not certain yet.",
                  `${text} ${confirmText(dropped.worst)}`);
  }
  const title = dropped.count > 0 ? "The bound is kept."
    : lost > 0 ? "Nothing dropped falsely." : "Nothing lost.";
  return verdict("fine", title, text);
}

export function judge(view) {
  const {appliance, hour} = view;
  if (appliance.state !== "running") {
    return absent(view);
  }
  const late = appliance.workers.filter(worker => worker.answering === false);
  const filters = audited(appliance);
  const dropped = filters.length ? overall(filters, "false_drops") : null;
  const misses = filters.length ? overall(filters, "misses") : null;
  if (dropped) {
    dropped.several = filters.length > 1;
  }
  const audit = dropped ? byAudit(view, dropped, misses) : null;
  if (audit?.tone === "bad") {
    return audit;
  }
  if (late.length) {
    return verdict("bad", late.length === 1 ? "A worker stands still." : "Workers stand still.",
                  `On ${late.length === 1 ? "lcore" : "lcores"} ` +
                  `${list(late.map(worker => String(worker.lcore)))}: no answer within a second. ` +
                  "What comes to their queues waits, and is lost when these are full.");
  }
  const recent = hour.total("lost", kRecent);
  if (recent >= 1) {
    return verdict("bad", "Packets are being lost.",
                  `${count(recent)} in the last minute. Since the start ${lostSince(view)}. ` +
                  (dropped ? droppedText(dropped) : ""));
  }
  if (view.now.received === 0) {
    return verdict("doubt", "No traffic.",
                  "Nothing comes from any port now. " + (dropped ? droppedText(dropped) : ""));
  }
  return audit ?? auditOff(view);
}

// ---- the four figures ---------------------------------------------------------------------------

const kTones = {held: "good", broken: "wrong", open: "unsure", unbound: "good"};
const kWords = {held: "held", broken: "broken", open: "open", unbound: "no bound"};
export const verdictTone = found => kTones[found] ?? "unsure";
export const verdictWord = found => kWords[found] ?? "open";
export const boundText = bound => bound > 0 ? `bound ${tiny(bound)}` : "no bound";

function auditTile(view, kind, name, below) {
  const filters = audited(view.appliance);
  if (!filters.length) {
    return {name, tone: "quiet", path: null, value: null, shown: "\u2013",
            small: "not measured: the audit is off"};
  }
  const all = overall(filters, kind);
  const path = filters.length === 1
    ? `filters.${view.appliance.filters.indexOf(filters[0])}.audit.${kind}.count`
    : `sum.${kind}.count`;
  return {name, tone: verdictTone(all.verdict), path, value: all.count, shown: count(all.count),
          small: below(all, filters.length)};
}

function lostTile(view) {
  const lost = lostOf(view.appliance);
  const recent = Math.round(view.hour.total("lost", kRecent));
  return {name: "Lost elsewhere", tone: lost === 0 ? "good" : recent > 0 ? "wrong" : "unsure",
          path: "sum.lost", value: lost, shown: count(lost),
          small: lost === 0 ? "no port missed any, all could be sent"
                            : `${count(recent)} in the last minute; ${lostSince(view)}`};
}

function echoTile(view) {
  const {received, echoes} = view.now;
  const all = view.hour.total("received", 3600);
  const share = all > 0 ? percent(view.hour.total("echoes", 3600) / all) : "";
  const hour = share && `; ${share} in the last hour`;
  const now = received === null ? null : received > 0 ? echoes / received : 0;
  return {name: "Echoes now", tone: "echo", path: "now.share", value: now,
          shown: now === null ? "\u2013" : percent(now),
          small: received === null ? "as soon as it runs"
                                   : `${packetRate(echoes)} of ${packetRate(received)}${hour}`};
}

export function tiles(view) {
  const all = (filters, found) =>
    (filters > 1 ? `${filters} filters: ` : "") + verdictWord(found);
  return [
    auditTile(view, "false_drops", "Dropped falsely", (sum, filters) =>
      sum.of === 0 ? "no new packet checked yet"
        : `of ${compact(sum.of)} new packets checked; at most ${tiny(sum.worst.high)}, ` +
          `${boundText(sum.worst.bound)}: ${all(filters, sum.verdict)}`),
    auditTile(view, "misses", "Copies missed", (sum, filters) => {
      const why = explainedText(sum.explained);
      return sum.of === 0 ? "no copy checked yet"
        : `of ${compact(sum.of)} echoes checked` +
          (why ? `; and explained: ${why}` : `: ${all(filters, sum.verdict)}`);
    }),
    lostTile(view),
    echoTile(view),
  ];
}
