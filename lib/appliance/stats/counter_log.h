// SPDX-License-Identifier: BSD-3-Clause
// The counters of the last hour, a sample every ten seconds, and when each one grew. A reader that
// has only just come can so tell what happens now from what happened once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/units.h"

namespace unecho::appliance {

// The hour in which a filter took the most keys.
struct BusiestHour {
    double rate = 0;  // keys a second; 0: no hour has passed yet
    std::uint64_t begin_unix_ns = 0;
};

// One thread at a time.
class CounterLog {
  public:
    static constexpr Nanoseconds kStep = 10 * kSecond;
    static constexpr Nanoseconds kSpan = 3600 * kSecond;
    // Growth after so long a time without any begins anew.
    static constexpr Nanoseconds kQuiet = 300 * kSecond;

    // Add a report in the form of to_json() (stats.h).
    void add(const nlohmann::ordered_json& report, std::uint64_t unix_ns);

    // Return the counters as they were `ago`, or as long ago as is known. "totals": one object with
    // the time of the sample. "ports", "routes", "workers", "filters", "paths": a list, each with
    // its "name", and beside a counter that grew "COUNTER_from_ns", when its present growth began,
    // since 1970, and "COUNTER_quiet_ns", for how long it has not grown. Routes also have
    // "usual_echo_ppm": of a million packets, the echoes in the median step of the hour before.
    // Null for other lists.
    [[nodiscard]] nlohmann::ordered_json past(std::string_view list, Nanoseconds ago) const;

    [[nodiscard]] BusiestHour busiest_hour(const std::string& filter) const;

  private:
    struct Place {
        std::string list;
        std::string item;
        std::string counter;
        friend bool operator==(const Place&, const Place&) = default;
        friend auto operator<=>(const Place&, const Place&) = default;
    };
    using Places = std::vector<Place>;
    struct Sample {
        Nanoseconds uptime = 0;
        std::uint64_t unix_ns = 0;
        std::shared_ptr<const Places> places;  // of the values
        std::vector<std::uint64_t> values;
    };
    struct Growth {
        std::uint64_t value = 0;
        std::uint64_t from = 0;  // since 1970
        Nanoseconds last = 0;    // uptime; 0: it never grew
    };
    [[nodiscard]] const Sample* at(Nanoseconds ago) const;
    [[nodiscard]] std::optional<std::uint64_t> usual_echo_ppm(const std::string& route,
                                                              const Sample& until) const;
    void note_growth();  // in the newest sample
    void note_busiest(const Sample& first, const Sample& last);

    std::deque<Sample> samples_;  // the oldest first
    std::map<Place, Growth> growth_;
    std::map<std::string, BusiestHour> busiest_;
};

}  // namespace unecho::appliance
