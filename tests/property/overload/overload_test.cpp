// SPDX-License-Identifier: BSD-3-Clause
// Every engine at 0.1 to 30 times its planned rate, against exact times. A copy younger than the
// achieved window is found, however short that is. Up to the planned rate it is the configured
// window. False drops stay below the bound, and after the overload generations regain their length.
// Bursts give the same results as single packets.
#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include <gtest/gtest.h>

#include "support/bounds.h"
#include "support/every_engine.h"
#include "support/planned_engine.h"
#include "support/seed.h"

namespace unecho::test {
namespace {

using config::Engine;
using filter::EchoPolicy;

constexpr Nanoseconds kWindow = 20 * kMillisecond;
constexpr double kRate = 100'000;
constexpr double kBound = 1e-3;
constexpr double kUnevenSpread =
    1.25;  // as appliance/plan/plan.cpp plans for one of several workers

enum class Pattern { kSteady, kBursty, kRamping };

struct Case {
    Engine engine;
    EchoPolicy policy;
    unsigned first;
    unsigned workers;
    Pattern pattern;
    double level;  // factor of the planned rate

    [[nodiscard]] std::string text() const {
        static constexpr std::array kPatterns{"steady", "bursty", "ramping"};
        return name_of(engine) + (policy == EchoPolicy::kFixed ? " fixed" : " refresh") +
               ", first " + std::to_string(first) + ", " + std::to_string(workers) + " workers, " +
               kPatterns.at(static_cast<std::size_t>(pattern)) + " at " + std::to_string(level);
    }
    // Return true if insertions stay within the plan.
    [[nodiscard]] bool as_planned() const { return level <= 1 && pattern == Pattern::kSteady; }
};

struct Packet {
    Digest flow;
    Nanoseconds time;
    bool fresh;
};

// New flows, and packets of flows that occurred in the last two windows.
class Stream {
  public:
    Stream(const Case& c, std::uint64_t index) : case_(c), random_(remix(seed(), index)) {}

    Packet next(double level) {
        const double uniform = (static_cast<double>(random_() >> 11) + 1) * 0x1p-53;
        const double wait = -std::log(uniform) * kSecond / (kRate * std::max(level, 0.02));
        now_ += static_cast<Nanoseconds>(wait);
        while (!past_.empty() && now_ - past_.front().time > 2 * kWindow) {
            past_.pop_front();
        }
        const bool fresh = past_.empty() || random_() % 2 == 0;
        const Packet packet{fresh ? random_() : past_[past_.size() - 1 - back()].flow, now_, fresh};
        past_.push_back(packet);
        return packet;
    }
    // part: the position in the scenario, from 0 to 1.
    Packet next_at(double part) {
        switch (case_.pattern) {
            case Pattern::kSteady:
                return next(case_.level);
            case Pattern::kBursty:
                return next(now_ % (kWindow / 3) < kWindow / 24 ? 6 * case_.level
                                                                : case_.level / 4);
            case Pattern::kRamping:
                return next(2 * part * case_.level);
        }
        return {};
    }
    std::uint64_t draw() { return random_(); }

  private:
    // Draw how many packets to go back: mostly few, so that many copies are young.
    std::size_t back() {
        const std::size_t most = std::min<std::size_t>(past_.size(), 1ULL << random_() % 14);
        return random_() % most;
    }

    Case case_;
    std::mt19937_64 random_;
    Nanoseconds now_ = kSecond;
    std::deque<Packet> past_;
};

// The packets of a flow that are certainly in the filter.
struct Memory {
    std::deque<Nanoseconds> passed;  // policy fixed: times of its packets that passed
    std::vector<Nanoseconds> slots;  // policy refresh: last certain insertion, plus 1
    Nanoseconds last = 0;            // time of its last packet

    [[nodiscard]] unsigned certain(EchoPolicy policy, Nanoseconds now, Nanoseconds achieved) const {
        unsigned n = 0;
        if (policy == EchoPolicy::kFixed) {
            for (const Nanoseconds time : passed) {
                n += now - time < achieved ? 1 : 0;
            }
            return n;
        }
        while (n < slots.size() && slots[n] != 0 && now + 1 - slots[n] < achieved) {
            ++n;
        }
        return n;
    }
};

struct Tally {
    std::uint64_t fresh = 0;
    std::uint64_t false_drops = 0;
    std::uint64_t due = 0;    // copies that had to be found
    std::uint64_t stale = 0;  // found although too old
    std::uint64_t too_old = 0;
};

// Return a geometry computed once: sizing some engines takes longer than a scenario.
const engines::Geometry& sized(const EnginePlan& plan) {
    static std::map<std::tuple<Engine, double, unsigned>, engines::Geometry> known;
    const auto key = std::tuple(plan.engine, plan.targets.keys_per_second, plan.first);
    const auto found = known.find(key);
    return found != known.end()
               ? found->second
               : known.emplace(key, PlannedEngine::geometry_of(plan)).first->second;
}

// One worker's engine fed by bursts, a second one fed packet by packet, and the facts about flows.
class Watched {
  public:
    Watched(const Case& c, const EnginePlan& plan)
        : case_(c),
          engine_(plan, sized(plan)),
          alone_(plan, sized(plan)),
          end_(kWindow + engine_.prediction().slack + kWindow / 10) {}

    void add(const Packet& packet) { burst_.push_back(packet); }

    // Return "", or what is wrong.
    std::string flush(Tally& tally) {
        std::vector<Digest> digests;
        std::vector<Nanoseconds> times;
        for (const Packet& packet : burst_) {
            digests.push_back(packet.flow);
            times.push_back(packet.time);
        }
        const filter::Answers all = engine_.observe(digests, times.data());
        std::string wrong;
        for (std::size_t i = 0; i < burst_.size() && wrong.empty(); ++i) {
            const filter::Answers one = alone_.observe({&digests[i], 1}, &times[i]);
            if ((all.echoes >> i & 1) != one.echoes) {
                wrong = "another answer than one by one";
            } else {
                wrong = judge(burst_[i], one.echoes != 0, tally);
            }
        }
        burst_.clear();
        return wrong;
    }
    [[nodiscard]] filter::WindowState window(Nanoseconds now) { return engine_.window(now); }
    [[nodiscard]] bool same(Nanoseconds now) {
        const filter::WindowState a = engine_.window(now);
        const filter::WindowState b = alone_.window(now);
        return a.achieved == b.achieved && a.shortest == b.shortest &&
               a.shortest_at == b.shortest_at && a.early_turns == b.early_turns;
    }

  private:
    std::string judge(const Packet& packet, bool echo, Tally& tally) {
        const Nanoseconds now = packet.time;
        const Nanoseconds achieved = alone_.window(now).achieved;
        Memory& memory = flows_[packet.flow];
        const unsigned certain = memory.certain(case_.policy, now, achieved);
        tally.fresh += packet.fresh ? 1 : 0;
        tally.false_drops += packet.fresh && echo ? 1 : 0;
        if (!packet.fresh && now - memory.last >= end_) {
            ++tally.too_old;
            tally.stale += echo ? 1 : 0;
        }
        memory.last = now;
        if (certain >= case_.first) {
            ++tally.due;
            if (!echo) {
                return "a miss inside the achieved window of " + format_duration(achieved) +
                       " at " + format_duration(now);
            }
        }
        remember(memory, certain, echo, now);
        return "";
    }
    void remember(Memory& memory, unsigned certain, bool echo, Nanoseconds now) const {
        if (case_.policy == EchoPolicy::kFixed) {
            if (!echo) {
                memory.passed.push_back(now);
            }
            while (memory.passed.size() > case_.first) {
                memory.passed.pop_front();
            }
            return;
        }
        memory.slots.resize(case_.first);
        for (unsigned slot = 0; slot < case_.first && (echo || slot <= certain); ++slot) {
            memory.slots[slot] = now + 1;
        }
    }

    Case case_;
    PlannedEngine engine_;
    PlannedEngine alone_;
    Nanoseconds end_;  // the age at which everything is forgotten, without overload
    std::vector<Packet> burst_;
    std::unordered_map<Digest, Memory> flows_;
};

class Scenario {
  public:
    Scenario(const Case& c, std::uint64_t index)
        : case_(c),
          stream_(c, index),
          keys_(engines::most_keys_per_packet(c.engine, c.policy, c.first)) {
        const double share = c.workers == 1 ? 1 : kUnevenSpread / c.workers;
        for (unsigned w = 0; w < c.workers; ++w) {
            workers_.push_back(std::make_unique<Watched>(
                c, EnginePlan{c.engine,
                              {kWindow, kRate * share * keys_, kBound},
                              c.policy,
                              c.first,
                              c.engine == Engine::kTlbf ? config::OnFull::kGrow
                                                        : config::OnFull::kShrink}));
        }
    }

    void check() {
        SCOPED_TRACE(seed_note() + " " + case_.text());
        // Four windows at the level, then five at a third of the plan.
        const auto packets = static_cast<std::uint64_t>(
            std::clamp(kRate * case_.level * 4 * 0.02, 4'000.0, 12'000.0 * keys_));
        for (std::uint64_t i = 0; i < packets; ++i) {
            ASSERT_EQ(take(stream_.next_at(static_cast<double>(i) / static_cast<double>(packets))),
                      "");
        }
        ASSERT_EQ(flush(), "");
        filter::WindowState least = state();
        if (case_.as_planned()) {
            EXPECT_EQ(least.early_turns, 0U);
            EXPECT_EQ(least.shortest, kWindow);
        } else if (case_.level >= 30 && case_.engine != Engine::kTlbf) {
            EXPECT_LT(least.shortest, kWindow / 2);
        }
        tally_.too_old = tally_.stale = 0;
        for (std::uint64_t i = 0; i < kRate * 0.3 * 5 * 0.02; ++i) {
            ASSERT_EQ(take(stream_.next(0.3)), "");
        }
        ASSERT_EQ(flush(), "");
        least = state();
        EXPECT_EQ(least.achieved, kWindow);
        expect_rates();
    }

  private:
    std::string take(const Packet& packet) {
        now_ = packet.time;
        workers_[reduce(remix(packet.flow, 3), case_.workers)]->add(packet);
        return ++waiting_ >= size_ ? flush() : "";
    }
    std::string flush() {
        std::string wrong;
        for (const auto& worker : workers_) {
            wrong += wrong.empty() ? worker->flush(tally_) : "";
            wrong += wrong.empty() && !worker->same(now_) ? "another window than one by one" : "";
        }
        waiting_ = 0;
        size_ = 1 + stream_.draw() % 64;
        return wrong;
    }
    filter::WindowState state() {
        filter::WindowState least{kWindow, kWindow, 0, 0, 0};
        for (const auto& worker : workers_) {
            const filter::WindowState one = worker->window(now_);
            least.achieved = std::min(least.achieved, one.achieved);
            least.shortest = std::min(least.shortest, one.shortest);
            least.early_turns += one.early_turns;
        }
        return least;
    }
    void expect_rates() const {
        const auto most = [](std::uint64_t n) {
            return binomial_bounds(static_cast<double>(n), kBound).high;
        };
        EXPECT_LE(static_cast<double>(tally_.false_drops), most(tally_.fresh));
        EXPECT_LE(static_cast<double>(tally_.stale), most(tally_.too_old) + 1);
        EXPECT_GT(tally_.due, 500U);
    }

    Case case_;
    Stream stream_;
    unsigned keys_;  // digests that a packet may renew
    std::vector<std::unique_ptr<Watched>> workers_;
    Tally tally_;
    std::size_t waiting_ = 0;
    std::size_t size_ = 1;
    Nanoseconds now_ = 0;
};

class Overload : public testing::TestWithParam<Engine> {};

TEST_P(Overload, finds_every_copy_younger_than_the_achieved_window) {
    constexpr std::array kLevels{0.1, 1.0, 3.0, 30.0};
    constexpr std::array kPatterns{Pattern::kSteady, Pattern::kBursty, Pattern::kRamping};
    constexpr std::array kWorkers{1U, 2U, 4U};
    std::uint64_t index = 0;
    for (const EchoPolicy policy : {EchoPolicy::kFixed, EchoPolicy::kRefresh}) {
        for (const unsigned first : {1U, 3U}) {
            if (GetParam() == Engine::kShbfX && first == 1) {
                continue;
            }
            for (const double level : kLevels) {
                const Pattern pattern = level == 1.0 ? Pattern::kSteady : kPatterns.at(index % 3);
                const unsigned workers = kWorkers.at(index / 2 % 3);
                ++index;
                Scenario({GetParam(), policy, first, workers, pattern, level}, index).check();
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Of, Overload, testing::ValuesIn(every_engine()), case_name);

class Fill : public testing::TestWithParam<Engine> {};

// All digests are new, and at most as many a generation as planned, so the expected fill is known.
TEST_P(Fill, is_what_the_fullest_generation_took) {
    EnginePlan plan;
    plan.engine = GetParam();
    plan.targets = {.window = kWindow, .keys_per_second = kRate, .max_false_drop = kBound};
    plan.first = plan.engine == Engine::kShbfX ? 3 : 1;
    PlannedEngine engine(plan, sized(plan));
    const engines::FilterSetup setup{engine.geometry(), kWindow, plan.policy, filter::best_isa()};
    const bool aged = engines::info_of(plan.engine).by_generation;
    const Nanoseconds length = aged ? engine.prediction().generation : kWindow / 4;
    const unsigned retained_generations =
        engines::ageing_of(setup, length, std::nullopt).retained_generations;
    std::mt19937_64 random(seed());
    std::vector<std::uint64_t> took;
    for (unsigned generation = 0; generation < 3 * retained_generations + 4; ++generation) {
        const std::uint64_t most =
            aged ? engine.prediction().generation_keys : static_cast<std::uint64_t>(100);
        took.push_back(random() % (most + 1));
        const Nanoseconds time = generation * length + length / 2;
        for (std::uint64_t i = 0; i < took.back(); ++i) {
            const Digest digest = random();
            engine.observe({&digest, 1}, &time);
        }
        const std::size_t kept = std::min<std::size_t>(took.size(), retained_generations + 1);
        const std::uint64_t fullest =
            *std::max_element(took.end() - static_cast<std::ptrdiff_t>(kept), took.end());
        const std::uint64_t fill = engine.ops().fill(engine.address(), engine.ageing());
        if (aged) {
            // In a segment some digests find all their bits set already.
            const auto due = static_cast<double>(
                engines::planned_fill(setup, std::max(fullest, std::uint64_t{1})));
            ASSERT_LE(fill, fullest) << generation;
            ASSERT_NEAR(static_cast<double>(fill), fullest == 0 ? 0 : due,
                        2 + 0.01 * due + 5 * std::sqrt(due - std::min<double>(due, 0.9 * due)))
                << generation;
        } else if (plan.engine == Engine::kExact && generation < 4) {
            // Nothing has expired or been overwritten.
            ASSERT_EQ(fill, std::accumulate(took.begin(), took.end(), std::uint64_t{0}));
        }
        ASSERT_LE(fill,
                  engines::planned_fill(setup, sizing::load_for(engine.prediction().generation_keys,
                                                                engines::kRandomArrivals)));
        ASSERT_GT(fill, 0U);
    }
}

INSTANTIATE_TEST_SUITE_P(Of, Fill, testing::ValuesIn(every_engine()), case_name);

}  // namespace
}  // namespace unecho::test
