// SPDX-License-Identifier: BSD-3-Clause
// The union rule of one filter of one worker, written from docs/same-packet.md, for a judge who
// knows the order of packets exactly and their times within bounds. Where the bounds leave a
// comparison open the oracle does not know, until what it depends on has expired.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>

#include "base/units.h"
#include "filters/repeats/union_rule.h"

namespace unecho::test {

// A moment that is not before `lo` and not after `hi`.
struct Moment {
    Nanoseconds lo = 0;
    Nanoseconds hi = 0;
    std::uint64_t burst = 0;  // all packets of one have the same time; 0: unknown
};

enum class Fate : std::uint8_t { kKept, kCopy, kUnknown };

// A packet at a point of observation.
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

    // What becomes of an unidentified packet; kUnknown: either.
    Fate see(const Sight& sight);
    // What became of an identified one.
    void observe_identified(const Sight& sight, Fate fate);

    // Nothing is known any more of packets up to now.
    void doubt_all(Nanoseconds now);

    // What the rule must have counted since the last call, at least and at most.
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
        unsigned count = 1;  // 0: a second one answers nothing
        Moment first;
        unsigned tags = 0;
        unsigned ttl = 0;
        std::optional<Moment> second;  // the first one within same_port
        bool even = false;             // it was a cycle's
    };
    struct Transmission {
        Moment at;
        std::uint64_t pushed_lo = 0;
        std::uint64_t pushed_hi = 0;
        bool twin = false;  // opened by a second look that was not trusted
        std::map<std::uint64_t, Look> looks;
    };
    struct Key {
        Nanoseconds doubted = 0;  // nothing is known of it before this
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
    class Unknown {};  // thrown where a comparison is open

    [[nodiscard]] bool has_evidence() const { return spec_.needs_evidence && spec_.same_port != 0; }
    // Whether less than `limit` has passed.
    static bool is_within(const Moment& then, const Moment& now, Nanoseconds limit);
    [[nodiscard]] static bool is_one_burst(const Moment& one, const Moment& other) {
        return one.burst != 0 && one.burst == other.burst;
    }
    [[nodiscard]] bool is_remembered(const Transmission& one) const;
    Fate judge(const Sight& sight, Key& key);
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
    bool populations_known_ = true;  // of those not met yet
    std::uint64_t accepted_pushed_ = 0;
    std::uint64_t pushed_lo_ = 0;
    std::uint64_t pushed_hi_ = 0;
    std::deque<Node> ring_;  // the last `capacity_` of them, while all are known
    std::unordered_map<std::uint64_t, Key> keys_;
    std::unordered_map<std::uint64_t, Accepted> accepted_;
    std::unordered_map<std::uint64_t, Population> populations_;
    Counted counted_;
};

}  // namespace unecho::test
