#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A server that answers as `unecho serve` does, with invented appliances. It serves the tests of
the page, pictures of it, and development.

    monitor_stand_in.py [SCENARIO] [PORT]

Each request assembles the page anew. Numbers are consistent (received = forwarded + diverted +
dropped + in_flight, sums over routes and workers) and only grow.
"""
import copy
import json
import math
import pathlib
import random
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "lib" / "monitor" / "page"))
import join_page  # noqa: E402
from reasons import FATES, NAMES as REASONS  # noqa: E402

SECOND, MS, US = 10**9, 10**6, 10**3
HOUR = 3600
ECHOES = ("echo", "echo_passed", "echo_diverted")
MEAN_BYTES = 620


def upper_bound(count, of):
    """Return (low, high), close enough to the exact 95 % interval for a picture."""
    if count == 0:
        return 0.0, 3.69 / of if of else 1.0
    spread = 1.96 * math.sqrt(count)
    return max(0.025, count - spread) / of, (count + spread + 1.9) / of


def finding(rule, severity, where, text, remedy, since=0, acknowledged=False):
    """One of the findings of the state's "health"."""
    return {"rule": rule, "severity": severity, "where": where,
            "headline": rule.replace("-", " ").capitalize() + ".", "text": text, "remedy": remedy,
            "since_ns": int(since * SECOND), "acknowledged": acknowledged,
            "runbook": "docs/runbook.md#" + rule}


class Appliance:
    """routes: [{name, from, to, filter, pps, share, divert}]. The caller supplies the time, in
    seconds."""

    def __init__(self, name, routes, filters, workers=2, seed=1):
        self.name, self.random = name, random.Random(seed)
        self.state, self.problem, self.silence, self.expected = "running", "", 0, False
        self.routes, self.filters = routes, filters
        ports = [port for route in routes for port in [*route["from"], route["to"]]]
        self.ports = {port: {"name": port, "link_up": True, **{key: 0 for key in (
            "rx_packets", "rx_bytes", "tx_packets", "tx_bytes", "rx_missed", "rx_no_mbuf",
            "rx_errors", "tx_errors")}} for port in dict.fromkeys(ports)}
        self.lcores, self.pid, self.starts = list(range(2, 2 + workers)), 4001, 1
        self.history, self.events = [], []
        self.pace = 1.0      # factor of all rates
        self.broken = 0.0    # false drops per packet
        self.missed = 0.0    # missed copies per echo
        self.lost = 0        # packets, in the time that was judged
        self.explained = 0   # misses that a stall explains
        self.findings = []   # as in the state's "health", the worst first
        self.spans = []      # paths that packets take: a_path()
        self.clear()

    def clear(self):
        self.uptime, self.changed = 0.0, 0.0
        self.counts = [dict.fromkeys(REASONS, 0) for _ in self.routes]
        self.workers = [{"rx_packets": 0, "busy_ns": 0, "idle_ns": 0, "polls": 0, "empty_polls": 0,
                         "stalls": 0, "longest_gap_ns": 31 * US} for _ in self.lcores]
        self.audits = {each["name"]: {"new": 0, "echoes": 0, "false_drops": 0, "misses": 0}
                       for each in self.filters}
        for path in getattr(self, "spans", ()):
            path.update(arrived=0, missing=0)
        for port in self.ports.values():
            port.update({key: 0 for key in port if key not in ("name", "link_up")})

    # ---- what happens ----

    def advance(self, now, seconds):
        """Take the reading at `now`, `seconds` after the one before."""
        if self.state != "running":
            self.history.append((now, None))
            return
        before = self.counters()
        self.uptime += seconds
        for number, route in enumerate(self.routes):
            self.pass_packets(number, route, now, seconds)
        for number, worker in enumerate(self.workers):
            load = min(0.97, 0.38 * self.pace * (1 + 0.3 * math.sin(now / 900 + number)))
            busy = int(load * seconds * SECOND)
            worker["busy_ns"] += busy
            worker["idle_ns"] += int(seconds * SECOND) - busy
        for number, path in enumerate(self.spans):
            judged = int(path["pps"] * self.pace * seconds)
            lost = int(judged * path["loss"] * (1 + 0.8 * math.sin(now / 300 + number)))
            path["arrived"] += judged - lost
            path["missing"] += lost
        after = self.counters()
        self.history.append((now, {key: (after[key] - before[key]) / seconds for key in after}))
        del self.history[:-HOUR]

    def pass_packets(self, number, route, now, seconds):
        wave = 1 + 0.25 * math.sin(now / 700 + number) + 0.12 * math.sin(now / 47 + 2 * number)
        packets = int(route["pps"] * wave * self.pace * seconds * self.random.uniform(0.94, 1.06))
        share = route["share"] * (1 + 0.3 * math.sin(now / 400 + number))
        counts, audit = self.counts[number], self.audits[route["filter"]]
        echoes = int(packets * share)
        other = packets // 5000
        fresh = packets - echoes - other
        lost = int(fresh * self.broken)
        counts["new"] += fresh
        counts["non_ip"] += other
        counts["echo_diverted" if route.get("divert") else "echo"] += echoes
        audit["new"] += fresh // 8
        audit["echoes"] += echoes // 8
        audit["false_drops"] += lost // 8
        audit["misses"] += int(echoes * self.missed) // 8
        for at, port in enumerate(route["from"]):
            part = packets // len(route["from"]) + (packets % len(route["from"]) if at == 0 else 0)
            self.ports[port]["rx_packets"] += part
            self.ports[port]["rx_bytes"] += part * MEAN_BYTES
        self.ports[route["to"]]["tx_packets"] += fresh + other
        self.ports[route["to"]]["tx_bytes"] += (fresh + other) * MEAN_BYTES
        for at, worker in enumerate(self.workers):
            part = packets // len(self.workers)
            worker["rx_packets"] += part + (packets % len(self.workers) if at == 0 else 0)

    def tell(self, kind, text, seconds_ago=0.0):
        self.events.append({"number": len(self.events) + 1, "kind": kind, "text": text,
                            "unix_ns": int((time.time() - seconds_ago) * SECOND)})
        del self.events[:-64]

    def restart(self):
        self.clear()
        self.state, self.problem, self.pid = "running", "", self.pid + 1
        self.starts, self.changed = self.starts + 1, time.time()
        self.tell("start", "started")

    def leave(self, state, problem):
        self.state, self.problem, self.changed = state, problem, time.time()

    # ---- what the API reports ----

    def counters(self):
        """Return all columns of /api/v1/history, by path."""
        out = {}
        for name in ("received", "forwarded", "diverted", "dropped", "in_flight"):
            out["totals", name] = sum(self.fates(counts)[name] for counts in self.counts)
        for reason in REASONS:
            out["reasons", reason] = sum(counts[reason] for counts in self.counts)
        for name, port in self.ports.items():
            for key in ("rx_packets", "rx_bytes", "tx_packets", "tx_bytes", "rx_missed",
                        "rx_no_mbuf"):
                out["ports", name, key] = port[key]
        for route, counts in zip(self.routes, self.counts):
            out["routes", route["name"], "received"] = self.fates(counts)["received"]
            out["routes", route["name"], "echoes"] = sum(counts[each] for each in ECHOES)
        for lcore, worker in zip(self.lcores, self.workers):
            for key in ("rx_packets", "busy_ns", "idle_ns", "stalls"):
                out["workers", str(lcore), key] = worker[key]
        for path in self.spans:
            for key in ("arrived", "missing"):
                out["paths", path["name"], key] = path[key]
        return out

    @staticmethod
    def path_of(spec):
        came, missing = spec["arrived"], spec["missing"]
        of, timed = came + missing, came - came // 50
        low, high = upper_bound(missing, of)
        median = spec["median_ns"]
        return {
            "name": spec["name"], "filter": spec["filter"], "from": spec["from"], "to": spec["to"],
            "stated": True, "window_ns": 50 * MS, "share": 0.125, "arrived": came,
            "missing": missing, "unannounced": 0, "alone": 0, "came": came, "directed": came,
            "timed": timed,
            "late": timed // 500, "overtaken": 0, "untimed": came - timed,
            "loss": {"count": missing, "of": of, "rate": missing / of if of else 0.0, "low": low,
                     "high": min(1.0, high), "lost_here": 0.0},
            "max_path_loss": spec["max_loss"],
            "delay": {"packets": timed, **({} if timed == 0 else {
                "mean_ns": median, "variation_ns": median // 9, "min_ns": median // 3,
                "median_ns": median, "p99_ns": median * 7, "p999_ns": median * 11,
                "max_ns": median * 40})},
            "max_path_delay_ns": spec["max_delay_ns"],
            "changes": {name: int(share * came) for name, share in spec["changes"].items()},
            "hops": 1.0,
            "delays": [{"from_ns": median // 3, "to_ns": median * 40, "packets": timed}]}

    @staticmethod
    def fates(counts):
        out = {fate: sum(counts[reason] for reason in reasons) for fate, reasons in FATES.items()}
        return {"received": sum(out.values()), **out, "in_flight": 0}

    def audit_of(self, spec):
        counts = self.audits[spec["name"]]
        if not spec.get("audit", True):
            return {"enabled": False}
        of, count = max(counts["new"], 1), counts["false_drops"]
        low, high = upper_bound(count, of)
        bound = spec["bound"]
        verdict = ("open" if bound is None else "broken" if low > bound
                   else "held" if high <= bound else "open")
        echoes, missed = max(counts["echoes"], 1), counts["misses"]
        miss_low, miss_high = upper_bound(missed, echoes)
        rate = sum(route["pps"] for route in self.routes if route["filter"] == spec["name"]) / 8
        ports = [port for route in self.routes if route["filter"] == spec["name"]
                 for port in route["from"]]
        ages = spec["ages"]
        return {
            "enabled": True, "share": 0.125, "entries": 51_200, "capacity": 65_536,
            "memory_bytes": 8_388_608,
            "counters": {"sampled": of + echoes, **counts, "not_held": 0},
            "false_drops": {"count": count, "of": of, "rate": count / of, "low": low, "high": high,
                            **({} if bound is None else {"bound": bound}), "verdict": verdict,
                            "confirmed_in_ns": 
                            int(max(0, 3.69 / bound - of) / max(rate, 1) * SECOND)
                            if bound and verdict == "open" else 0},
            "misses": {"count": missed, "of": echoes, "rate": missed / echoes, "low": miss_low,
                       "high": miss_high, "explained": {"stall": self.explained, "evicted": 0},
                       "verdict": "broken" if missed else "held"},
            "ages": [{"from_ns": int(low_), "to_ns": int(high_), "packets": int(part * echoes)}
                     for low_, high_, part in ages],
            "crossings": [{"first": first, "repeated": again, "packets": int(part * echoes)}
                          for first, again, part in spec.get("crossings") or around(ports)],
            "causes": {name: int(part * echoes) for name, part in spec["causes"].items()},
            "window_999_ns": spec["window_999_ns"], "advice": spec["advice"]}

    def filter_of(self, spec):
        out = {"name": spec["name"], "engine": spec["engine"], "rule": spec.get("rule", "fixed"),
               "window_ns": spec["window_ns"], "on_full": "none",
               "slack_ns": spec["window_ns"] // 4,
               "predicted_false_drop": (spec["bound"] or 0) * 0.62,
               "achieved_window_ns": spec.get("achieved_ns", spec["window_ns"]),
               "shortest_window_ns": spec.get("shortest_ns", spec["window_ns"]),
               "shortest_window_at_ns": 812 * SECOND if "shortest_ns" in spec else 0,
               "early_turns": spec.get("early_turns", 0), "held_turns": 0,
               "shifts": int(self.uptime * SECOND / spec["window_ns"] * 4), "insertions": 0,
               "inline_clears": 0, "evicted_early": spec.get("evicted", 0), "late_visits": 0,
               "arena_full": 0, "fill": spec.get("fill", 7_912), "planned_fill": 10_004,
               "generation_ns": spec["window_ns"] // 4,
               "longest_generation_ns": int(spec["window_ns"] / 4 * 1.01),
               "audit": self.audit_of(spec)}
        return {**out, **spec.get("more", {})}

    def health(self):
        """What the server judges (lib/monitor/health); here the scenario says it."""
        findings = [*self.findings]
        if self.state == "absent":
            findings.insert(0, finding("absent", "critical", "", "The appliance " + self.problem,
                                       "Start it."))
        elif self.state != "running":
            findings.insert(0, finding("down", "critical", "", "The appliance is %s" % self.state,
                                       "Start it."))
        worst = next((each for each in findings if not each["acknowledged"]), None)
        out = {"severity": "ok", "headline": "All is well.", "text": "No packet was lost."}
        if worst:
            out = {"severity": worst["severity"], "headline": worst["headline"],
                   "text": "%s. %s" % (worst["text"], worst["remedy"])}
        return {**out, "span_ns": 300 * SECOND, "lost": self.lost, "findings": findings}

    def as_state(self, now):
        if self.state == "running":
            self.answered = now
        totals = [self.fates(counts) for counts in self.counts]
        routes = [{"name": route["name"], "from": route["from"], "to": route["to"],
                   "filter": route["filter"], **fates, "reasons": dict(counts)}
                  for route, fates, counts in zip(self.routes, totals, self.counts)]
        filters = [self.filter_of(spec) for spec in self.filters]
        return {
            "name": self.name, "state": self.state, "problem": self.problem, "starts": self.starts,
            "expected": self.expected,
            "health": self.health(),
            "since_ns": int((self.changed or now - self.uptime) * SECOND),
            "answered_ns": int(getattr(self, "answered", now) * SECOND),
            "info": {"name": self.name, "version": "0.1.0", "pid": self.pid,
                     "start_ns": int((now - self.uptime) * SECOND),
                     "uptime_ns": int(self.uptime * SECOND), "workers": len(self.workers),
                     "routes": len(routes), "steering": "one worker"},
            "counters": {name: sum(fates[name] for fates in totals) for name in (totals or [{}])[0]},
            "reasons": {reason: sum(counts[reason] for counts in self.counts)
                        for reason in REASONS},
            "ports": copy.deepcopy(list(self.ports.values())), "routes": routes,
            "workers": [{"lcore": lcore, "answering": True, **worker}
                        for lcore, worker in zip(self.lcores, self.workers)],
            "filters": filters,
            "audit": [{"filter": each["name"], **each["audit"]} for each in filters],
            "paths": [self.path_of(each) for each in self.spans],
            "events": list(self.events)}

    def as_history(self, seconds):
        samples = self.history[-seconds:]
        out = {"times_ms": [int(when * 1000) for when, _ in samples], "totals": {}, "reasons": {},
               "ports": {}, "routes": {}, "workers": {}, "paths": {}, "audit": {}}
        paths = next((rates for _, rates in reversed(samples) if rates), {})
        for path in paths:
            at = out
            for step in path[:-1]:
                at = at.setdefault(step, {})
            at[path[-1]] = [None if rates is None else round(rates[path], 3)
                            for _, rates in samples]
        for route in out["routes"].values():
            route["echo_share"] = [echoes / received if received else None for received, echoes
                                   in zip(route["received"], route["echoes"])]
        return out


def around(ports):
    """Route the packets of each port to the next one."""
    return [(port, ports[(i + 1) % len(ports)], 1 / len(ports)) for i, port in enumerate(ports)]


# ---- the server ---------------------------------------------------------------------------------

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        stand_in = self.server.stand_in
        if stand_in.ended:
            self.close_connection = True  # the connection was kept open
            return
        path, _, query = self.path.partition("?")
        stand_in.asked.append(path)
        if path == "/":
            html, policy = join_page.page()
            self.reply(html.encode(), "text/html; charset=utf-8", policy)
        elif path == "/runbook":
            self.reply(join_page.runbook()[0].encode(), "text/html; charset=utf-8",
                       join_page.runbook()[1])
        elif path == "/api/v1/state" and not stand_in.deaf:
            self.reply(stand_in.text().encode(), "application/json")
        elif path == "/api/v1/history":
            fields = dict(urllib.parse.parse_qsl(query))
            named = [each for each in stand_in.appliances if each.name == fields["name"]]
            if named:
                with stand_in.lock:
                    history = named[0].as_history(int(fields["seconds"]))
                self.reply(json.dumps(history).encode(), "application/json")
            else:
                self.send_error(404)
        elif path == "/api/v1/stream" and stand_in.streams:
            self.stream(stand_in)
        else:
            self.send_error(503)

    def do_POST(self):
        """Forget an appliance, or answer what `stand_in.refusal` says."""
        stand_in = self.server.stand_in
        path, _, query = self.path.partition("?")
        name = dict(urllib.parse.parse_qsl(query)).get("name")
        stand_in.asked.append("POST " + path)
        if path != "/api/v1/forget" or "X-Unecho-Change" not in self.headers:
            self.send_error(403)
        elif stand_in.refusal:
            self.reply(stand_in.refusal.encode(), "text/plain", status=409)
        else:
            with stand_in.lock:
                stand_in.appliances[:] = [each for each in stand_in.appliances
                                          if each.name != name]
            self.reply(b"is forgotten\n", "text/plain")

    def reply(self, body, kind, policy=None, status=200):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if policy:
            self.send_header("Content-Security-Policy", policy)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(body)

    def stream(self, stand_in):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        seen = -1
        try:
            while stand_in.streams and not stand_in.ended:
                with stand_in.changed:
                    stand_in.changed.wait_for(
                        lambda: stand_in.serial != seen or stand_in.ended, timeout=1)
                    if stand_in.serial == seen or stand_in.ended:
                        continue
                    seen, text = stand_in.serial, stand_in.state
                if not stand_in.mute:
                    self.wfile.write(b"event: state\ndata: " + text.encode() + b"\n\n")
                    self.wfile.flush()
        except OSError:
            pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], ConnectionError):  # the browser has left
            super().handle_error(request, client_address)


class StandIn:
    """Takes a reading every `pace` seconds, or when look() is called. Leaving the with block stops
    it."""

    def __init__(self, appliances, port=0, pace=None):
        self.appliances, self.asked, self.port = appliances, [], port
        self.streams, self.mute, self.deaf, self.ended = True, False, False, False
        self.changes, self.refusal = True, ""
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.serial, self.state, self.last = 0, "", time.time()
        self.pace, self.paces = pace, None
        self.look(1)
        self.start()

    def start(self):
        self.ended = False
        self.http = Server(("127.0.0.1", self.port), Handler)
        self.http.stand_in = self
        self.port = self.http.server_address[1]
        threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True).start()
        if self.pace and not self.paces:
            self.paces = threading.Thread(target=self.run, daemon=True)
            self.paces.start()

    def stop(self):
        with self.changed:
            self.ended = True
            self.changed.notify_all()
        self.http.shutdown()
        self.http.server_close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.pace = None
        if not self.ended:
            self.stop()

    @property
    def url(self):
        return "http://127.0.0.1:%d/" % self.port

    def run(self):
        while self.pace:
            time.sleep(self.pace)
            self.look()

    def text(self):
        with self.lock:
            return self.state

    def look(self, seconds=None):
        """Advance by one second, or by `seconds`, and return the state that is then reported."""
        with self.changed:
            now = time.time()
            passed, self.last = seconds or now - self.last, now
            for appliance in self.appliances:
                appliance.advance(now, passed)
            state = {"server": {"version": "0.1.0", "now_ns": int(now * SECOND), "problems": [],
                                "changes": self.changes, "forget_after_ns": 24 * HOUR * SECOND},
                     "appliances": [each.as_state(now) for each in self.appliances]}
            self.serial, self.state = self.serial + 1, json.dumps(state)
            self.changed.notify_all()
            return state


def with_hour(appliance, seconds=HOUR, now=None):
    """Return the appliance after it has run for an hour."""
    now = now or time.time()
    for ago in range(seconds, 0, -1):
        appliance.advance(now - ago, 1.0)
    return appliance


# ---- scenarios ----------------------------------------------------------------------------------

def bell(middle, width, low=1e4, high=2e9, steps=20):
    """Return an age histogram [(from, to, share)] with `steps` bins a power of ten."""
    edges = [10 ** (each / steps) for each in range(int(steps * math.log10(low)),
                                                    int(steps * math.log10(high)) + 1)]
    weights = [math.exp(-0.5 * (math.log10(edge / middle) / width) ** 2) for edge in edges[:-1]]
    total = sum(weights)
    return [(edges[i], edges[i + 1], weight / total) for i, weight in enumerate(weights)
            if weight / total > 1e-5]


CAUSES = {"identical": 0.62, "routed": 0.29, "retagged": 0.07, "tunnelled": 0.015, "alike": 0.005}


def a_filter(name, window_ns=50 * MS, **more):
    return {"name": name, "engine": "apbf", "window_ns": window_ns, "bound": 1e-6,
            "ages": bell(180 * US, 0.45), "causes": CAUSES, "window_999_ns": 4_200_000,
            "advice": [],
            **more}


def a_route(name, ports, to, filter_, pps=600_000, share=0.3, **more):
    return {"name": name, "from": ports, "to": to, "filter": filter_, "pps": pps, "share": share,
            **more}


def a_path(start, end, filter_, loss=0.0, **more):
    return {"name": start + ">" + end, "from": start, "to": end, "filter": filter_, "pps": 6000,
            "loss": loss, "median_ns": 180 * US, "max_loss": None, "max_delay_ns": None,
            "changes": {"ttl": 1.0, "macs": 1.0, "dscp": 0.08}, "arrived": 0, "missing": 0, **more}


def two_taps(name="north", seconds=HOUR, **more):
    filters = [a_filter("campus", **more, advice=[
                   "99.9 % of the copies come within 4.2 ms, and the window is 50 ms: a window as "
                   "short as that needs about 1/10 of the memory."],
               crossings=[("tap-a", "tap-b", 0.46), ("tap-b", "tap-a", 0.38),
                          ("mirror", "tap-a", 0.1), ("tap-a", "tap-a", 0.06)]),
               a_filter("edge", window_ns=5 * MS, engine="line", ages=bell(40 * US, 0.3),
                        window_999_ns=600_000)]
    routes = [a_route("campus", ["tap-a", "tap-b", "mirror"], "tool-1", "campus"),
              a_route("edge", ["edge-in", "edge-out"], "tool-2", "edge", 190_000, 0.12,
                      divert=True)]
    out = Appliance(name, routes, filters)
    out.spans = [a_path("tap-a", "tap-b", "campus", 0.004, max_loss=0.001, max_delay_ns=MS),
                 a_path("tap-b", "tap-a", "campus", 0.0006, max_loss=0.002, changes={}),
                 a_path("tap-a", "mirror", "campus", 0.0002, pps=2000, median_ns=41 * US),
                 a_path("mirror", "tap-a", "campus", pps=0)]
    with_hour(out, seconds)
    out.tell("start", "started", 3500)
    out.tell("link", "port mirror: link down", 1500)
    out.tell("link", "port mirror: link up at 10 Gbit/s", 1460)
    out.tell("stall",
             "worker on lcore 3: 1.24 ms in transmit, 64 packets, queue 12 then 211; port tap-b "
             "missed none", 640)
    out.workers[1]["stalls"] = 1
    out.workers[1]["longest_gap_ns"] = 1_240_000
    return out


def broken(name="north"):
    out = two_taps(name)
    out.broken = 3e-5
    out.findings = [finding("false-drops-above-bound", "critical", "filter campus",
                            "Filter campus drops more new packets than it may", "Report it.")]
    with_hour(out, 600, time.time())
    return out


def quiet(name="north"):
    out = two_taps(name)
    out.pace = 0.0
    out.findings = [finding("no-traffic", "warning", "", "No packet has come from any input for "
                            "1 min 10 s", "Check the taps.", time.time() - 70)]
    return out


def gone(name, expected):
    out = two_taps(name, seconds=120)
    out.expected = expected
    out.leave("gone", "is not running")
    return out


def never_came(name="west"):
    """Of such an appliance the server knows only the name."""
    out = Appliance(name, [], [], workers=0)
    out.expected, out.answered = True, 0
    out.leave("absent", "is expected, and has not answered since this server started")
    return out


HOSTILE = '<script>window.hurt=1</script><img src=x onerror="window.hurt=1">"\'&'


def hostile(name="north", seconds=120):
    words = ["a" * 32, HOSTILE, "\u202eevil\u0000", "  ", "__proto__", "constructor"]
    filters = [a_filter(word + str(i), advice=[HOSTILE]) for i, word in enumerate(words)]
    routes = [a_route(word, [word + "-a%d" % i, HOSTILE + str(i)], HOSTILE + "to%d" % i,
                      word + str(i), 10_000 * (i + 1)) for i, word in enumerate(words)]
    out = Appliance(HOSTILE if name is None else name, routes, filters)
    out.spans = [a_path(word, HOSTILE, word, 0.01, max_loss=0.1, changes={word: 1.0, HOSTILE: 0.5})
                 for word in words]
    with_hour(out, seconds)
    out.tell("link", HOSTILE)
    out.tell(HOSTILE, HOSTILE)
    return out


def many(name="north", seconds=120):
    filters = [a_filter("filter-%d" % i, window_ns=(i + 1) * 5 * MS) for i in range(32)]
    routes = [a_route("link-%02d" % i, ["port-%02d" % i], "port-%02d" % ((i + 1) % 32),
                      "filter-%d" % i, 20_000 * (i + 1), 0.02 * (i % 20)) for i in range(32)]
    filters[0]["crossings"] = [("port-%02d" % i, "port-%02d" % (i * 7 % 32), (i + 1) / 528)
                               for i in range(32)]
    return with_hour(Appliance(name, routes, filters, workers=32), seconds)


SCENARIOS = {
    "running": lambda: [two_taps()],
    "two": lambda: [two_taps(), quiet("south")],
    "broken": lambda: [broken()],
    "quiet": lambda: [quiet()],
    "hostile": lambda: [hostile(None), two_taps()],
    "many": lambda: [many()],
    "nobody": list,
    "fleet": lambda: [two_taps(), gone("south", expected=False), gone("east", expected=True),
                      never_came("west")],
}


def main(scenario="two", port="9797"):
    with StandIn(SCENARIOS[scenario](), int(port), pace=1.0) as server:
        print("%s as in '%s'; others: %s" % (server.url, scenario, ", ".join(SCENARIOS)))
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main(*sys.argv[1:])
