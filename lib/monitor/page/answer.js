// SPDX-License-Identifier: BSD-3-Clause
// The headline, the list below it, and the four figures. The server judges (lib/monitor/health);
// this page shows what it says.

import {audited, kLostReasons, lostByPort, lostOf, overall} from "./data.js";
import {bothClocks, compact, count, duration, list, packetRate, percent, since, tiny, words}
  from "./text.js";

const kSeverityTones = {ok: "fine", warning: "doubt", critical: "bad"};
const kDots = {ok: "good", warning: "unsure", critical: "wrong"};
export const dotOf = appliance => kDots[appliance.health.severity];

export function sinceText(finding, view) {
  const begin = finding.since_ns / 1e6;
  const ago = view.timeMs - begin;
  return begin > 0 ? `Since ${bothClocks(begin, view.timeMs)}, ` +
    (ago < 1000 ? "just now." : `${since(ago)} ago.`) : "";
}

// Return true if the rule found something at this place ("port tap-a").
export const isFound = (view, rule, where) =>
  view.appliance.health.findings.some(each => each.rule === rule && each.where === where);

export function headline(view) {
  const {appliance} = view;
  const {severity, headline: title, text, findings} = appliance.health;
  const [worst, others] = severity === "ok" ? [null, findings]
    : [findings[0], findings.slice(1)];
  const last = appliance.state !== "running" && view.heardMs
    ? `Below is what it said last, at ${bothClocks(view.heardMs)}.` : "";
  return {tone: kSeverityTones[severity], title, rule: worst?.rule, findings: others,
          lead: [text, worst && sinceText(worst, view), last].filter(Boolean).join(" ")};
}

export function confirmText(part) {
  const ns = part.confirmed_in_ns;
  return part.verdict === "open" && ns > 0
    ? `Confirmed in about ${duration(ns)} at this rate; nothing is wrong until then.` : "";
}

export function explainedText(explained) {
  const parts = Object.entries(explained ?? {}).filter(([, value]) => value > 0)
    .sort((a, b) => b[1] - a[1]);
  return parts.map(([reason, value]) => `${words(reason)} ${count(value)}`).join(", ");
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
  const {findings, lost: recent, span_ns: span} = view.appliance.health;
  const lost = lostOf(view.appliance);
  const losing = findings.some(each => ["rx-missed", "tx-lost"].includes(each.rule));
  const now = recent > 0 ? `${count(recent)} in the last ${duration(span)}; ` : "";
  return {name: "Lost elsewhere", tone: losing ? "wrong" : lost === 0 ? "good" : "quiet",
          path: "sum.lost", value: lost, shown: count(lost),
          small: lost === 0 ? "no port missed any, all could be sent"
                            : `${now}since the start ${lostSince(view)}`};
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
