// SPDX-License-Identifier: BSD-3-Clause
// An oracle for the union rule of one filter on one worker, written from docs/same-packet.md. It
// knows the order of packets exactly and their times within bounds. If the bounds leave a
// comparison open, it answers kUnknown until everything that depends on the comparison has expired.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>

#include "base/units.h"
#include "filters/repeats/union_rule.h"

namespace unecho::test {

// A time between `lo` and `hi`, both included.
struct Moment {
    Nanoseconds lo = 0;
    Nanoseconds hi = 0;
    std::uint64_t burst = 0;  // packets of one burst have equal times; 0: unknown
};

enum class Disposition : std::uint8_t { kKept, kCopy, kUnknown };

// A packet seen at a point of observation.
struct Sight {
    std::uint64_t key = 0;
    std::uint64_t point = 0;
    std::uint64_t population = 0;
    unsigned tags = 0;  // 0: none
    unsigned ttl = 0;
    Moment at;
};

class RepeatOracle {
  public:
    explicit RepeatOracle(const filter::UnionSpec& spec);

    // Return what must become of an unidentified packet; kUnknown: either is allowed.
    Disposition see(const Sight& sight);
    // Record what became of an identified packet.
    void observe_identified(const Sight& sight, Disposition fate);

    // Forget all packets up to `now`.
    void doubt_all(Nanoseconds now);

    // Bounds on what the rule must have counted since the last call.
    struct Counted {
        filter::RepeatCounters least;
        filter::RepeatCounters most;
    };
    Counted take_counted();

  private:
    struct Population {
        double first = 0;
        double doubled = 0;
        double even = 0;
        bool known = true;
    };
    struct Look {
        unsigned count = 1;  // 0: a second look that matches no first one
        Moment first;
        unsigned tags = 0;
        unsigned ttl = 0;
        std::optional<Moment> second;  // the first second look within same_port
        bool even = false;             // the look belonged to a cycle
    };
    struct Transmission {
        Moment at;
        std::uint64_t pushed_lo = 0;
        std::uint64_t pushed_hi = 0;
        bool twin = false;  // opened by a second look that was not trusted
        std::map<std::uint64_t, Look> looks;
    };
    struct Key {
        Nanoseconds doubted = 0;  // nothing is known of the key before this time
        std::deque<Transmission> live;
    };
    struct Accepted {
        std::uint64_t number = 0;
        Moment at;
        std::uint64_t point = 0;
        bool doubled = false;
    };
    struct Node {
        bool opens = false;
        Moment at;
    };
    class Unknown {};  // thrown if a comparison is open

    [[nodiscard]] bool has_evidence() const { return spec_.needs_evidence && spec_.same_port != 0; }
    // Return true if less than `limit` has passed.
    static bool is_within(const Moment& then, const Moment& now, Nanoseconds limit);
    [[nodiscard]] static bool is_one_burst(const Moment& one, const Moment& other) {
        return one.burst != 0 && one.burst == other.burst;
    }
    [[nodiscard]] bool is_remembered(const Transmission& one) const;
    Disposition judge(const Sight& sight, Key& key);
    static bool is_doubled(const Population& population);
    static void add_first(Population& population);
    static void judge_cycle(Key& key, const Transmission* present, const Sight& sight,
                            Population& population);
    void push(bool opens, const Moment& at);
    void count(std::uint64_t filter::RepeatCounters::*counter);

    filter::UnionSpec spec_;
    std::uint64_t capacity_;
    std::uint64_t accepted_capacity_;
    Nanoseconds doubted_ = 0;
    bool populations_known_ = true;  // known state of populations not seen yet
    std::uint64_t accepted_pushed_ = 0;
    std::uint64_t pushed_lo_ = 0;
    std::uint64_t pushed_hi_ = 0;
    std::deque<Node> ring_;  // the last `capacity_` nodes, while all are known
    std::unordered_map<std::uint64_t, Key> keys_;
    std::unordered_map<std::uint64_t, Accepted> accepted_;
    std::unordered_map<std::uint64_t, Population> populations_;
    Counted counted_;
};

}  // namespace unecho::test
