// SPDX-License-Identifier: BSD-3-Clause
// Made-up status of an appliance, as the monitor reads it.
#pragma once

#include <memory>
#include <string>

#include "monitor/client/appliance_status.h"

namespace unecho::monitor {

// Two taps, a tool, a worker, and a filter with an audit; all is well.
inline Json healthy() {
    static const Json all = Json::parse(R"({
      "info": {"version": "1.2.3", "uptime_ns": 5000000000, "pid": 77},
      "counters": {"received": 1000, "forwarded": 600, "diverted": 0, "dropped": 390,
                   "in_flight": 10},
      "reasons": {"new": 600, "echo": 390, "doubt": 0, "tx_lost": 0},
      "ports": [
        {"name": "tap-a", "link_up": true, "rx_packets": 500, "rx_bytes": 50000, "tx_packets": 0,
         "tx_bytes": 0, "rx_missed": 0, "rx_no_mbuf": 0},
        {"name": "tap \"b\"\\", "link_up": true, "rx_packets": 500, "rx_bytes": 50000,
         "tx_packets": 0, "tx_bytes": 0, "rx_missed": 0, "rx_no_mbuf": 0}],
      "routes": [{"name": "tap-a+tap-b>tool", "from": ["tap-a", "tap-b"], "to": "tool",
        "filter": "echo", "received": 1000, "forwarded": 600, "diverted": 0, "dropped": 390,
        "in_flight": 10, "reasons": {"new": 600, "echo": 390, "doubt": 0, "tx_lost": 0}}],
      "workers": [{"lcore": 3, "answering": true, "rx_packets": 1000, "rx_bytes": 100000,
        "polls": 4000, "empty_polls": 3000, "longest_gap_ns": 1500000, "handed_in": 0,
        "poll_times": {"below_64_ns": 5, "below_128_ns": 7, "longer": 1}}],
      "filters": [{"name": "echo", "engine": "line", "window_ns": 50000000,
        "slack_ns": 7000000, "predicted_false_drop": 1.5e-7, "achieved_window_ns": 50000000,
        "shortest_window_ns": 40000000, "insertions": 600, "early_turns": 2, "fill": 300,
        "planned_fill": 400, "generation_ns": 7142858, "longest_generation_ns": 8142858,
        "answers": [{"first": "tap-b", "repeated": "tap-a", "packets": 21}],
        "audit": {"enabled": true, "share": 0.0625, "entries": 10, "capacity": 100,
          "memory_bytes": 4096, "counters": {"sampled": 64, "false_drops": 0, "misses": 0},
          "false_drops": {"count": 3, "of": 290000000, "rate": 1e-8, "low": 2e-9, "high": 3e-8,
                          "bound": 1e-6, "verdict": "held", "confirmed_in_ns": 0},
          "misses": {"count": 0, "of": 20, "rate": 0.0, "low": 0.0, "high": 0.17,
                     "explained": {"stall": 0, "evicted": 0}, "verdict": "open"},
          "ages": [{"from_ns": 100000, "to_ns": 112202, "packets": 5},
                   {"from_ns": 180000, "to_ns": 199526, "packets": 7},
                   {"from_ns": 20000000000, "to_ns": 22000000000, "packets": 1}],
          "crossings": [{"first": "tap-a", "repeated": "tap-b", "packets": 13}],
          "causes": {"identical": 12, "routed": 1},
          "window_999_ns": 380000, "advice": ["1/100 of the memory would do"]}}],
      "audit": [], "events": []})");
    return all;
}

// A path with traffic, and its way back, on which nothing went.
inline Json two_paths() {
    static const Json all = Json::parse(R"([
      {"name": "tap-a>tap-b", "filter": "echo", "from": "tap-a", "to": "tap-b", "stated": true,
       "window_ns": 50000000, "share": 0.25, "arrived": 9950, "missing": 50, "unannounced": 3,
       "alone": 0, "came": 9960, "directed": 9960, "timed": 9000, "late": 0, "overtaken": 2,
       "untimed": 960,
       "loss": {"count": 50, "of": 10000, "rate": 0.005, "low": 0.0037, "high": 0.0066,
                "lost_here": 0.0},
       "max_path_loss": 0.01,
       "delay": {"packets": 9000, "mean_ns": 150000, "variation_ns": 9000, "min_ns": 40000,
                 "median_ns": 120000, "p99_ns": 480000, "p999_ns": 900000, "max_ns": 3000000},
       "max_path_delay_ns": 1000000, "changes": {"ttl": 9960, "tags_added": 996}, "hops": 1.5,
       "delays": [{"from_ns": 20000, "to_ns": 50000, "packets": 10},
                  {"from_ns": 100000, "to_ns": 200000, "packets": 8989},
                  {"from_ns": 50000000000, "to_ns": 1099511627776, "packets": 1}]},
      {"name": "tap-b>tap-a", "filter": "echo", "from": "tap-b", "to": "tap-a", "stated": true,
       "window_ns": 50000000, "share": 0.25, "arrived": 0, "missing": 0, "unannounced": 0,
       "alone": 7, "came": 0, "directed": 0, "timed": 0, "late": 0, "overtaken": 0,
       "untimed": 0,
       "loss": {"count": 0, "of": 0, "rate": 0.0, "low": 0.0, "high": 1.0, "lost_here": 0.0},
       "max_path_loss": 0.01, "delay": {"packets": 0}, "max_path_delay_ns": 1000000,
       "changes": {}, "hops": 0.0, "delays": []}])");
    return all;
}

inline Json kinds() {
    return Json::parse(R"({
      "reasons": {"new": "forwarded", "echo": "dropped", "doubt": "forwarded",
                  "tx_lost": "dropped"},
      "routes": {"received": "packets counter", "in_flight": "packets gauge"},
      "ports": {"rx_packets": "packets counter", "rx_bytes": "bytes counter",
                "rx_missed": "packets counter"},
      "workers": {"polls": "count counter", "longest_gap_ns": "nanoseconds gauge",
                  "busy_ns": "nanoseconds counter"},
      "filters": {"achieved_window_ns": "nanoseconds gauge", "insertions": "count counter",
                  "fill": "count gauge", "generation_ns": "nanoseconds gauge"},
      "paths": {"arrived": "packets counter", "missing": "packets counter",
                "late": "packets counter"}})");
}

inline Json help() {
    return Json::parse(R"({
      "reasons": {"new": "not seen", "echo": "dropped", "doubt": "a match", "tx_lost": "full"},
      "routes": {"received": "taken from ports", "in_flight": "none of the others yet"},
      "ports": {"rx_packets": "packets", "rx_bytes": "their bytes", "rx_missed": "lost \\ \"so\""},
      "workers": {"polls": "rounds", "longest_gap_ns": "away", "busy_ns": "at work"},
      "filters": {"achieved_window_ns": "kept now", "insertions": "digests written",
                  "fill": "how full", "generation_ns": "planned"},
      "paths": {"arrived": "that came", "missing": "that did not", "late": "too late"}})");
}

inline ApplianceStatus running(Json seen = healthy()) {
    ApplianceStatus out;
    out.name = "taps";
    out.state = ApplianceState::kRunning;
    out.since = 1'700'000'000 * kSecond;
    out.answered = 1'700'000'001 * kSecond + kSecond / 2;
    out.starts = 1;
    out.seen = std::move(seen);
    out.descriptions =
        std::make_shared<const CounterDescriptions>(CounterDescriptions{help(), kinds()});
    return out;
}

}  // namespace unecho::monitor
