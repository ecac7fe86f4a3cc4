// SPDX-License-Identifier: BSD-3-Clause
// Data from the server in the form that the sections show: rates from two states, an hour of them,
// and sums over filters. Only this file knows the members of /api/v1/state and /api/v1/history.

const kKept = 3600;  // samples, a second each
const kEchoReasons = ["echo", "echo_passed", "echo_diverted"];
export const kLostReasons = ["tx_lost", "stopped"];
const kLostByPort = ["rx_missed", "rx_no_mbuf"];
// Reasons of packets that unecho received and did not send, then losses before it.
export const kDrops = ["echo", ...kLostReasons, ...kLostByPort];

const sumOf = (object, names) => names.reduce((sum, name) => sum + (object?.[name] ?? 0), 0);
export const listOf = value => Array.isArray(value) ? value : Object.values(value ?? {});

export const echoesOf = appliance => sumOf(appliance.reasons, kEchoReasons);
export const lostByPort = port => sumOf(port, kLostByPort);
export const lostOf = appliance => sumOf(appliance.reasons, kLostReasons) +
  appliance.ports.reduce((sum, port) => sum + lostByPort(port), 0);
const sumOfPorts = (appliance, name) =>
  appliance.ports.reduce((sum, port) => sum + (port[name] ?? 0), 0);
export const dropsOf = (appliance, name) =>
  kLostByPort.includes(name) ? sumOfPorts(appliance, name) : appliance.reasons[name] ?? 0;
export const routeEchoes = route => sumOf(route.reasons, kEchoReasons);
export const routeName = route => route.name ?? listOf(route.from).join("+") + ">" + route.to;

// Ordered pairs of points on which nothing went are not shown.
export const hasTraffic = path => path.came > 0 || path.missing > 0;

// Add missing lists, and put each audit into its filter.
export function normal(appliance) {
  const out = {...appliance, counters: appliance.counters ?? {}};
  out.reasons = appliance.reasons ?? out.counters.reasons ?? {};
  for (const name of ["ports", "routes", "workers", "filters", "paths", "events"]) {
    out[name] = listOf(appliance[name]);
  }
  const audits = listOf(appliance.audit);
  out.filters = out.filters.map((filter, i) => ({...filter, audit: filter.audit ?? audits[i]}));
  return out;
}

// For a gone appliance the server may know only the name: then show its last data.
function withLast(appliance, last) {
  const {name, state, since_ns, problem, health} = appliance;
  const empty = appliance.counters.received === undefined;
  return empty && last ? {...last, name, state, since_ns, problem, health} : appliance;
}

export const uptimeOf = appliance => appliance.counters.uptime_ns ?? appliance.info?.uptime_ns ?? 0;

// ---- rates --------------------------------------------------------------------------------------

// Two successive states of an appliance, about a second apart.
class Track {
  now = null;
  before = null;

  // Return true if the state is a new one. After a restart there is no earlier one to compare with.
  take(appliance, nowMs) {
    const timeMs = appliance.answered_ns ? appliance.answered_ns / 1e6 : nowMs;
    const last = this.now;
    this.now = {appliance, timeMs};
    if (last && uptimeOf(appliance) === uptimeOf(last.appliance)) {
      this.now.timeMs = last.timeMs;
      return false;
    }
    this.before = last && uptimeOf(appliance) > uptimeOf(last.appliance) ? last : null;
    return true;
  }

  get seconds() {
    return this.before ? (uptimeOf(this.now.appliance) - uptimeOf(this.before.appliance)) / 1e9 : 0;
  }

  // Return the rate per second of what pick() returns; null while unknown.
  rate(pick) {
    if (!(this.seconds > 0)) {
      return null;
    }
    const now = pick(this.now.appliance);
    const before = pick(this.before.appliance);
    return now === undefined || before === undefined ? null
                                                     : Math.max(0, now - before) / this.seconds;
  }

  share(part, whole) {
    const all = this.rate(whole);
    return all === null ? null : all > 0 ? Math.min(1, this.rate(part) / all) : 0;
  }
}

function busyPart(worker) {
  return worker?.busy_ns !== undefined ? [worker.busy_ns, worker.busy_ns + worker.idle_ns]
                                       : [worker?.polls - worker?.empty_polls, worker?.polls];
}

// Return the rates that one state adds to the hour, by column; null where unknown.
function sampleOf(track) {
  const {appliance} = track.now;
  const fate = name => track.rate(each => each.counters[name]);
  const at = (listName, i, pick) => track.rate(each => {
    const item = each[listName][i];
    return item === undefined ? undefined : pick(item);
  });
  return {
    received: fate("received"), forwarded: fate("forwarded"), diverted: fate("diverted"),
    dropped: fate("dropped"), echoes: track.rate(echoesOf), lost: track.rate(lostOf),
    bitsIn: track.rate(each => sumOfPorts(each, "rx_bytes") * 8),
    bitsOut: track.rate(each => sumOfPorts(each, "tx_bytes") * 8),
    drops: Object.fromEntries(kDrops.map(name =>
      [name, track.rate(each => dropsOf(each, name))])),
    ports: appliance.ports.map((port, i) => ({
      rx: at("ports", i, each => each.rx_packets), tx: at("ports", i, each => each.tx_packets),
      rxBits: at("ports", i, each => each.rx_bytes * 8),
      txBits: at("ports", i, each => each.tx_bytes * 8),
    })),
    routes: appliance.routes.map((route, i) => ({
      received: at("routes", i, each => each.received),
      share: track.share(each => routeEchoes(each.routes[i] ?? {}),
                         each => each.routes[i]?.received),
    })),
    workers: appliance.workers.map((worker, i) => ({
      received: at("workers", i, each => each.rx_packets),
      busy: track.share(each => busyPart(each.workers[i])[0], each => busyPart(each.workers[i])[1]),
    })),
    paths: appliance.paths.map((_, i) => ({
      missing: at("paths", i, each => each.missing),
      judged: at("paths", i, each => each.missing + each.arrived),
    })),
  };
}

// ---- the hour -----------------------------------------------------------------------------------

const kTotals = ["received", "forwarded", "diverted", "dropped", "echoes", "lost", "bitsIn",
                 "bitsOut"];

// Add columns value by value; null where all are null.
const added = columns => (columns[0] ?? []).map((_, i) => columns.reduce(
  (sum, {[i]: value}) => value === null || value === undefined ? sum : (sum ?? 0) + value, null));

// Samples may be a little early or late: a gap up to this long repeats the value before it.
const kHeldMs = 2500;

function held(means, told, size) {
  let since = Infinity;
  return means.map((mean, i) => {
    since = told[i] ? 0 : since + size;
    if (told[i] || since > kHeldMs) {
      return mean;
    }
    means[i] = means[i - 1];
    return means[i];
  });
}

export class Hour {
  times = [];
  columns = new Map();  // name -> values beside the times
  loaded = false;

  column(name) {
    let values = this.columns.get(name);
    if (!values) {
      values = new Array(this.times.length).fill(null);
      this.columns.set(name, values);
    }
    return values;
  }

  // Load an answer of /api/v1/history: rates per second by name, null where unknown.
  load(history) {
    const {totals = {}, reasons = {}, ports = {}, routes = {}, workers = {}, paths = {}} = history;
    const {times, columns} = this;
    this.times = listOf(history.times_ms).slice();
    this.columns = new Map();
    const set = (name, values) => {
      if (values?.length === this.times.length) {
        this.columns.set(name, values.slice());
      }
    };
    const pick = (object, names) => names.map(name => object[name]).filter(Boolean);
    for (const name of ["received", "forwarded", "diverted", "dropped"]) {
      set(name, totals[name]);
    }
    set("echoes", added(pick(reasons, kEchoReasons)));
    set("lost", added([...pick(reasons, kLostReasons),
                       ...Object.values(ports).flatMap(port => pick(port, kLostByPort))]));
    const bits = name => added(Object.values(ports).flatMap(port => pick(port, [name])))
      .map(rate => rate === null ? null : rate * 8);
    set("bitsIn", bits("rx_bytes"));
    set("bitsOut", bits("tx_bytes"));
    for (const name of kDrops) {
      set("drop " + name, added([...pick(kLostByPort.includes(name) ? {} : reasons, [name]),
        ...Object.values(ports).flatMap(port => pick(port, [name]))]));
    }
    for (const [name, port] of Object.entries(ports)) {
      set("rx " + name, port.rx_packets);
      set("tx " + name, port.tx_packets);
    }
    for (const [name, route] of Object.entries(routes)) {
      set("share " + name, route.echo_share);
    }
    for (const [lcore, worker] of Object.entries(workers)) {
      const all = added(pick(worker, ["busy_ns", "idle_ns"]));
      set("busy " + lcore, worker.busy_ns?.map((busy, i) =>
        busy === null ? null : all[i] > 0 ? busy / all[i] : 0));
    }
    for (const [name, path] of Object.entries(paths)) {
      set("missing " + name, path.missing);
      set("judged " + name, added(pick(path, ["missing", "arrived"])));
    }
    this.loaded = true;
    this.#append(times, columns);
  }

  // Append the samples that the stream delivered while the history was being fetched.
  #append(times, columns) {
    const first = times.findIndex(time => time > (this.end ?? 0));
    if (first >= 0) {
      columns.forEach((_, name) => this.column(name));
      this.times.push(...times.slice(first));
      this.columns.forEach((values, name) => values.push(
        ...(columns.get(name)?.slice(first) ?? times.slice(first).map(() => null))));
    }
  }

  add(timeMs, sample, appliance) {
    if (this.times.length && timeMs <= this.times[this.times.length - 1]) {
      return;
    }
    const named = new Map(kTotals.map(name => [name, sample[name]]));
    kDrops.forEach(name => named.set("drop " + name, sample.drops[name]));
    sample.ports.forEach((port, i) => {
      named.set("rx " + appliance.ports[i].name, port.rx);
      named.set("tx " + appliance.ports[i].name, port.tx);
    });
    sample.routes.forEach((route, i) =>
      named.set("share " + routeName(appliance.routes[i]), route.share));
    sample.workers.forEach((worker, i) =>
      named.set("busy " + appliance.workers[i].lcore, worker.busy));
    sample.paths.forEach((path, i) => {
      if (hasTraffic(appliance.paths[i])) {
        named.set("missing " + appliance.paths[i].name, path.missing);
        named.set("judged " + appliance.paths[i].name, path.judged);
      }
    });
    named.forEach((value, name) => this.column(name));
    this.times.push(timeMs);
    this.columns.forEach((values, name) => values.push(named.get(name) ?? null));
    const excess = this.times.length - kKept;
    if (excess > 0) {
      this.times.splice(0, excess);
      this.columns.forEach(values => values.splice(0, excess));
    }
  }

  get end() {
    return this.times[this.times.length - 1] ?? null;
  }

  // Return means over buckets of `size` ms, from `from` on; null where unknown. Bucket borders are
  // fixed on the clock.
  means(name, from, to, size) {
    const values = this.columns.get(name);
    const first = Math.floor(from / size);
    const buckets = Math.max(1, Math.floor(to / size) - first + 1);
    const sums = new Float64Array(buckets);
    const counts = new Float64Array(buckets);
    const told = new Uint8Array(buckets);  // there is a sample, if only one that knows nothing
    for (let i = this.times.length - 1; values && i >= 0 && this.times[i] >= from; i -= 1) {
      const at = Math.floor(this.times[i] / size) - first;
      if (at < buckets) {
        told[at] = 1;
        sums[at] += values[i] ?? 0;
        counts[at] += values[i] === null ? 0 : 1;
      }
    }
    return held(Array.from(sums, (sum, i) => counts[i] ? sum / counts[i] : null), told, size);
  }

  // Return the count of the last seconds, from rates per second.
  total(name, seconds) {
    const values = this.columns.get(name) ?? [];
    const from = (this.end ?? 0) - seconds * 1000;
    let sum = 0;
    for (let i = this.times.length - 1; i >= 0 && this.times[i] > from; i -= 1) {
      const step = i > 0 ? Math.min(5, (this.times[i] - this.times[i - 1]) / 1000) : 1;
      sum += (values[i] ?? 0) * step;
    }
    return sum;
  }
}

// ---- all appliances -----------------------------------------------------------------------------

export class Store {
  #tracks = new Map();
  #hours = new Map();
  server = {};
  appliances = [];
  timeMs = 0;

  take(state) {
    this.server = state.server ?? {};
    this.timeMs = this.server.now_ns ? this.server.now_ns / 1e6 : Date.now();
    this.appliances = listOf(state.appliances).map(normal);
    this.appliances = this.appliances.map(each => this.#follow(each));
  }

  #follow(given) {
    const track = this.track(given.name);
    if (given.state !== "running") {
      const appliance = withLast(given, track.now?.appliance);
      const answeredMs = appliance.answered_ns ? appliance.answered_ns / 1e6 : null;
      track.now = {appliance, timeMs: track.now?.timeMs ?? answeredMs};
      track.before = null;
      return appliance;
    }
    if (track.take(given, this.timeMs) && track.before) {
      this.hour(given.name).add(track.now.timeMs, sampleOf(track), given);
    }
    return given;
  }

  track(name) {
    if (!this.#tracks.has(name)) {
      this.#tracks.set(name, new Track());
    }
    return this.#tracks.get(name);
  }

  hour(name) {
    if (!this.#hours.has(name)) {
      this.#hours.set(name, new Hour());
    }
    return this.#hours.get(name);
  }

  // Return what the sections show of one appliance.
  view(name) {
    const appliance = this.appliances.find(each => each.name === name);
    const track = this.track(name);
    return {name, appliance, server: this.server, timeMs: this.timeMs, hour: this.hour(name),
            heardMs: track.now?.timeMs, now: appliance && sampleOf(track)};
  }
}

// ---- the audit ----------------------------------------------------------------------------------

export const kWorst = ["broken", "open", "held", "unbound"];

// False drops of a filter without a bound are neither held nor broken.
const verdictOf = ({bound, count, verdict}, kind) =>
  kind === "false_drops" && !(bound > 0) && count === 0 ? "unbound" : verdict ?? "open";

// Return a part of an audit, "false_drops" or "misses", with its verdict.
export const found = (filter, kind) =>
  ({...filter.audit[kind], verdict: verdictOf(filter.audit[kind], kind)});

export const audited = appliance => appliance.filters.filter(filter => filter.audit?.enabled);

// Return the counts over all filters, and the worst verdict with its filter.
export function overall(filters, kind) {
  const parts = filters.map(filter => ({filter, ...found(filter, kind)}));
  const order = part => kWorst.indexOf(part.verdict);
  const worst = parts.reduce((a, b) =>
    order(b) < order(a) || (order(b) === order(a) && (b.high ?? 0) > (a.high ?? 0)) ? b : a);
  const explained = {};
  for (const part of parts) {
    for (const [reason, value] of Object.entries(part.explained ?? {})) {
      explained[reason] = (explained[reason] ?? 0) + value;
    }
  }
  const sum = name => parts.reduce((total, part) => total + (part[name] ?? 0), 0);
  return {count: sum("count"), of: sum("of"), verdict: worst.verdict, worst, explained};
}

// ---- events -------------------------------------------------------------------------------------

export const eventTime = event => event.unix_ns / 1e6;

// Kinds of events that may have cost packets.
const kLoud = new Set(["stall", "worker", "time"]);
export const isLoud = event => kLoud.has(event.kind) || /\bdown\b/.test(event.text);
