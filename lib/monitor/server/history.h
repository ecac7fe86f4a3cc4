// SPDX-License-Identifier: BSD-3-Clause
// The last hour of an appliance, a sample a second: what was counted from one look to the next, as
// a rate in its second, so that a look that came late makes no peak. What was not seen is nothing.
// It is kept as the text that is asked for, whose end any answer is: a copy, however many ask.
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

    // What a look saw at this time (since 1970), as of query_appliance(). Between two processes
    // nothing is known.
    void add(const Json& seen, Nanoseconds time, bool same_process);
    // Nothing was seen.
    void add_gap(Nanoseconds time);

    // "times_ms": [...], "totals": {NAME: [...]}, "reasons": {NAME: [...]}, "ports": {NAME: {...}},
    // "routes": {NAME: {...}}, "workers": {LCORE: {...}}, "audit": {FILTER: {...}} of the last
    // `samples`, as JSON without the braces around it: rates a second, null where nothing is known.
    [[nodiscard]] std::string columns(std::size_t samples) const;

  private:
    // Numbers as JSON, a comma behind each.
    class Series {
      public:
        void append(const std::string& number);
        void drop_first();
        // The last ones, without the last comma; at most as many as there are.
        [[nodiscard]] std::string_view last(std::size_t samples) const;
        [[nodiscard]] std::size_t size() const { return size_; }
        [[nodiscard]] bool is_nothing() const { return nulls_ == size_; }

      private:
        std::string text_;
        std::size_t begin_ = 0;  // in the text: what was dropped leaves it now and then
        std::size_t size_ = 0;
        std::size_t nulls_ = 0;
    };

    // Columns by their way: "ports", "tap-a", "rx_packets". One that came later begins with
    // nothing.
    using Path = std::vector<std::string>;
    struct Column {
        std::uint64_t last = 0;
        bool known = false;  // last is
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
