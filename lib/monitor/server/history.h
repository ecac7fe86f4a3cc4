// SPDX-License-Identifier: BSD-3-Clause
// The last hour of an appliance, one sample a second. A sample is a counter's rate since the
// previous reply, over the appliance's own time, so that a late reply makes no peak. Gaps are null.
// Series are kept as JSON text, and every response is a copy of its end. history_file.h keeps them
// over a restart of the server.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "monitor/client/json_access.h"

namespace unecho::monitor {

// The path of a column, such as {"ports", "tap-a", "rx_packets"} or {"totals", "received"}.
using HistoryPath = std::vector<std::string>;

// The rates per second that are known at a time since 1970.
struct HistorySample {
    Nanoseconds time = 0;
    std::map<HistoryPath, double> rates;
};

// Columns as long as `times`; NaN where the rate is unknown.
struct HistoryColumns {
    std::vector<Nanoseconds> times;
    std::map<HistoryPath, std::vector<float>> rates;
};

class History {
  public:
    static constexpr std::size_t kSamples = 3600;
    static constexpr Nanoseconds kSpan = kSamples * kSecond;
    static constexpr std::size_t kMaxColumns =
        2'000;  // about 50 MB; 32 ports, routes and filters have 700

    // Add a result of query_appliance() at this time since 1970, and return its sample. There are
    // no rates between two processes.
    HistorySample add(const Json& seen, Nanoseconds time, bool same_process);
    // Add a sample without a reply.
    HistorySample add_gap(Nanoseconds time);

    // Begin with these columns; only while nothing was added.
    void restore(const HistoryColumns& columns);
    // Return all samples as numbers.
    [[nodiscard]] HistoryColumns all() const;
    // Return true if a path may be that of a column.
    [[nodiscard]] static bool is_path(const HistoryPath& path);

    // Return the samples of the last `seconds` as JSON members without braces: "times_ms": [...],
    // "totals": {NAME: [...]}, "reasons": {NAME: [...]}, "ports": {NAME: {...}}, "routes": {NAME:
    // {...}}, "workers": {LCORE: {...}}, "paths": {NAME: {...}}, "audit": {FILTER: {...}}. Values
    // are rates per second, null where unknown.
    [[nodiscard]] std::string columns(std::size_t seconds) const;

  private:
    // Numbers as JSON text, each followed by a comma.
    class Series {
      public:
        void append(const std::string& number);
        void drop_first();
        // Return the last numbers without the final comma; at most as many as exist.
        [[nodiscard]] std::string_view last(std::size_t samples) const;
        [[nodiscard]] std::size_t size() const { return size_; }
        [[nodiscard]] bool is_nothing() const { return nulls_ == size_; }

      private:
        std::string text_;
        std::size_t begin_ = 0;  // offset in text_; dropped text is removed now and then
        std::size_t size_ = 0;
        std::size_t nulls_ = 0;
    };

    using Path = HistoryPath;
    // A later column begins with nulls.
    struct Column {
        std::uint64_t last = 0;
        bool known = false;  // `last` is valid
        Series rates;
    };

    Column& column_of(const Path& path);
    void add_echo_shares(std::map<Path, double>& rates) const;
    void append(const HistorySample& sample);

    std::deque<Nanoseconds> times_;
    std::map<Path, Column> columns_;
    Nanoseconds last_seen_ = 0;
    Nanoseconds last_uptime_ = 0;
};

}  // namespace unecho::monitor
