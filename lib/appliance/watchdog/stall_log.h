// SPDX-License-Identifier: BSD-3-Clause
// Stalls of all workers (appliance/dataplane/stall.h): the newest of each, and lines for people at
// a limited rate. Samples of device counters show which packets were lost meanwhile.
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

namespace unecho::appliance {

struct StallRecord {
    std::uint64_t number = 0;   // counts from 1 for each worker
    std::uint64_t unix_ns = 0;  // when it began
    std::uint64_t lost = 0;     // packets that the devices of the worker's ports lost meanwhile
    dataplane::Stall stall;
};

// Losses of the ports' devices, from samples of their counters. Each loss is attributed to one
// stall.
class LossLog {
  public:
    explicit LossLog(std::size_t ports) : ports_(ports) {}

    // Record how many packets a port's device has lost in all until now.
    void sample(std::size_t port, Nanoseconds now, std::uint64_t lost);
    // Return the losses since the last sample at or before begin that no stall has taken yet.
    std::uint64_t take(std::size_t port, Nanoseconds begin);

  private:
    // Samples of a port. A stall longer than all of them gets the losses since the oldest.
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
    static constexpr std::size_t kKept = 64;  // per worker
    // The first stall is logged at once. Further lines follow after pauses of 1, 2, 4 s and so on,
    // at most a minute. After a minute without stalls this starts over.
    static constexpr Nanoseconds kShortestPause = kSecond;
    static constexpr Nanoseconds kLongestPause = 60 * kSecond;

    explicit StallLog(std::vector<std::string> workers)
        : names_(std::move(workers)), kept_(names_.size()), numbers_(names_.size()) {}

    void add(std::size_t worker, std::uint64_t unix_ns, std::uint64_t lost,
             const dataplane::Stall& stall);
    // Return a line to log; nothing without a new stall, or too soon after the last line.
    std::optional<std::string> line(Nanoseconds now);

    // Return a worker's stalls, the oldest first. From any thread.
    [[nodiscard]] std::vector<StallRecord> of(std::size_t worker) const;

  private:
    std::vector<std::string> names_;  // "worker 0 on lcore 1"
    mutable std::mutex mutex_;        // guards kept_
    std::vector<std::deque<StallRecord>> kept_;
    std::vector<std::uint64_t> numbers_;  // of the last stall

    std::uint64_t waiting_ = 0;  // stalls since the last line
    std::uint64_t waiting_lost_ = 0;
    std::size_t worst_worker_ = 0;
    dataplane::Stall worst_;
    Nanoseconds next_ = 0;  // the next line may be logged
    Nanoseconds pause_ = 0;
};

}  // namespace unecho::appliance
