// SPDX-License-Identifier: BSD-3-Clause
// The last hour of an appliance, one sample a second. A sample is a counter's rate since the
// previous reply, over the appliance's own time, so that a late reply makes no peak. Gaps are null.
// Series are kept as JSON text, and every response is a copy of its end.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "monitor/client/json_access.h"

namespace unecho::monitor {

class History {
  public:
    static constexpr std::size_t kSamples = 3600;

    // Add a result of query_appliance() at this time since 1970. There are no rates between two
    // processes.
    void add(const Json& seen, Nanoseconds time, bool same_process);
    // Add a sample without a reply.
    void add_gap(Nanoseconds time);

    // Return the last `samples` as JSON members without braces: "times_ms": [...], "totals": {NAME:
    // [...]}, "reasons": {NAME: [...]}, "ports": {NAME: {...}}, "routes": {NAME: {...}}, "workers":
    // {LCORE: {...}}, "audit": {FILTER: {...}}. Values are rates per second, null where unknown.
    [[nodiscard]] std::string columns(std::size_t samples) const;

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

    // Columns by path, such as "ports", "tap-a", "rx_packets". A later column begins with nulls.
    using Path = std::vector<std::string>;
    struct Column {
        std::uint64_t last = 0;
        bool known = false;  // `last` is valid
        Series rates;
    };

    Column& column_of(const Path& path);
    void add_echo_shares(const std::map<Path, double>& rates);
    void close_sample();

    Series times_;
    std::map<Path, Column> columns_;
    Nanoseconds last_seen_ = 0;
    Nanoseconds last_uptime_ = 0;
};

}  // namespace unecho::monitor
