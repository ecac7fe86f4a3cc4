// SPDX-License-Identifier: BSD-3-Clause
// The stalls of all workers (appliance/dataplane/stall.h): the newest of each, and lines for
// people, of which there are never many. What devices lost meanwhile is found by looking at their
// counters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "appliance/dataplane/stall.h"
#include "base/units.h"

namespace unecho::control {

struct StallRecord {
    std::uint64_t number = 0;   // from 1, of the worker
    std::uint64_t unix_ns = 0;  // when it began
    std::uint64_t lost = 0;     // packets, by the devices of the worker's ports, meanwhile
    dataplane::Stall stall;
};

// What the devices of ports have lost, by looks at their counters. What one stall explains explains
// no other.
class LossLog {
  public:
    explicit LossLog(std::size_t ports) : ports_(ports) {}

    // So many packets in all, at this time, says the device of a port.
    void sample(std::size_t port, Nanoseconds now, std::uint64_t lost);
    // Since the last look at the port that was not after begin, as far as nobody has been told yet.
    std::uint64_t take(std::size_t port, Nanoseconds begin);

  private:
    // Stalls that are longer than so many looks are told what was lost since the oldest.
    static constexpr std::size_t kLooks = 16;

    struct Sample {
        Nanoseconds time;
        std::uint64_t lost;
    };
    struct Port {
        std::deque<Sample> looks;
        std::uint64_t told = 0;
    };
    std::vector<Port> ports_;
};

class StallLog {
  public:
    static constexpr std::size_t kKept = 64;  // of each worker
    // A line at once; while it goes on the next ones come after a second, two, four, up to a
    // minute. After a minute without one it is as in the beginning.
    static constexpr Nanoseconds kShortestPause = kSecond;
    static constexpr Nanoseconds kLongestPause = 60 * kSecond;

    explicit StallLog(std::vector<std::string> workers)
        : names_(std::move(workers)), kept_(names_.size()), numbers_(names_.size()) {}

    void add(std::size_t worker, std::uint64_t unix_ns, std::uint64_t lost,
             const dataplane::Stall& stall);
    // What there is to say now; nothing, if nothing happened or something was said just before.
    std::optional<std::string> line(Nanoseconds now);

    // The oldest first. Any thread.
    [[nodiscard]] std::vector<StallRecord> of(std::size_t worker) const;

  private:
    std::vector<std::string> names_;  // "worker 0 on lcore 1"
    mutable std::mutex mutex_;        // of kept_
    std::vector<std::deque<StallRecord>> kept_;
    std::vector<std::uint64_t> numbers_;  // of the last one

    std::uint64_t waiting_ = 0;  // stalls that no line was said of
    std::uint64_t waiting_lost_ = 0;
    std::size_t worst_worker_ = 0;
    dataplane::Stall worst_;
    Nanoseconds next_ = 0;  // when the next line may be said
    Nanoseconds pause_ = 0;
};

}  // namespace unecho::control
