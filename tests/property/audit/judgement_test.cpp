// SPDX-License-Identifier: BSD-3-Clause
// The audit's verdict on every packet against the definitions. The filter answers at random, right
// or wrong, and claims any achieved window. The table has ample or hardly any memory, the budget
// may be too small, and the sampled share changes meanwhile.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "filters/audit/audit.h"
#include "support/audit_oracle.h"
#include "support/filter_memory.h"
#include "support/killed_child.h"
#include "support/seed.h"

namespace unecho::test {
namespace {

using filter::Answer;
using filter::Audit;
using filter::AuditParams;
using filter::AuditSpec;
using filter::EchoPolicy;
using filter::Verdict;

constexpr Nanoseconds kWindow = kSecond;
constexpr Nanoseconds kSlack = 250 * kMillisecond;
constexpr Nanoseconds kGrace = 100 * kMillisecond;
constexpr std::uint64_t kAmpleMemory = std::uint64_t{4} << 20;

struct Case {
    const char* name;
    AuditSpec spec;
    unsigned packets = 40'000;
    unsigned keys = 60;   // number of keys that recur
    double often = 0.7;   // share of packets with such a key
    unsigned slower = 1;  // gaps are so many times as long in the second half of every 8000 packets
    unsigned burst = 1;   // at most so many packets are passed to the audit at once
    unsigned before = 0;  // packets before the audit began
    unsigned bursts_of_one = 0;  // bursts until another audit takes over, on average; 0: never
};

AuditSpec spec_of(EchoPolicy policy, unsigned first, Nanoseconds grace = 0) {
    return {.memory = kAmpleMemory,
            .window = kWindow,
            .slack = kSlack,
            .grace = grace,
            .policy = policy,
            .first = first,
            .begins_whole = true,
            .secret = 0x1234567};
}

class Stream {
  public:
    explicit Stream(const Case& tested)
        : case_(tested),
          params_(*AuditParams::make(tested.spec)),
          memory_(std::make_unique<FilterMemory>(Audit::bytes(params_))),
          audit_(std::in_place, params_, memory_->span()),
          oracle_({tested.spec.window, tested.spec.slack, tested.spec.grace,
                   tested.spec.policy == EchoPolicy::kRefresh, tested.spec.first}),
          random_(seed()) {}

    void run() {
        for (unsigned i = 0; i < case_.packets && !testing::Test::HasFailure();) {
            std::vector<Packet> burst(1 + below(case_.burst));
            for (Packet& packet : burst) {
                packet = next(i++);
            }
            if (i > case_.before) {
                show(burst);
            }
            if (case_.bursts_of_one != 0 && below(case_.bursts_of_one) == 0 &&
                audit_->counters().sampled != 0) {
                hand_over();
            }
            most_bits_ = std::max(most_bits_, audit_->bits());
        }
    }

    [[nodiscard]] const Audit& audit() const { return *audit_; }
    [[nodiscard]] std::uint64_t judged() const { return judged_; }
    [[nodiscard]] std::uint64_t false_drops() const { return false_drops_; }
    [[nodiscard]] unsigned handed_over() const { return handed_over_; }
    [[nodiscard]] unsigned most_bits() const { return most_bits_; }
    [[nodiscard]] std::uint64_t excused() const { return excused_; }

  private:
    struct Packet {
        Nanoseconds time;
        std::uint64_t name;
        Answer answer;
        Verdict expected;
    };

    unsigned below(std::uint64_t n) { return static_cast<unsigned>(random_() % n); }

    // Restore the audit from a copy of its memory at another address, with new counters.
    void hand_over() {
        ASSERT_TRUE(Audit::is_consistent(params_, memory_->span()));
        auto memory = std::make_unique<FilterMemory>(memory_->span().size());
        std::memcpy(memory->span().data(), memory_->span().data(), memory->span().size());
        memory_ = std::move(memory);
        audit_.emplace(params_, memory_->span(), filter::Contents::kRestored);
        ASSERT_EQ(audit_->counters().sampled, 0U);
        handed_over_at_ = state_.last;
        state_.stalls = 0;
        ++handed_over_;
    }

    // Draw the achieved window: mostly the whole one, and it never grows faster than time passes.
    void keep_some_window() {
        achieved_ = std::min(kWindow, achieved_ + (now_ - last_));
        if (below(1000) == 0) {
            achieved_ = below(kWindow);
            ++state_.window.early_turns;
        }
        last_ = now_;
        state_.last = now_;
        state_.window.achieved = achieved_;
    }

    Packet next(unsigned i) {
        constexpr Nanoseconds kMaxGap = 40 * kMillisecond;
        now_ += below(kMaxGap) * (i % 8000 < 4000 ? 1 : case_.slower);
        keep_some_window();
        const bool again = below(1000) < 1000 * case_.often;
        const std::uint64_t name = again ? below(case_.keys) : 1000 + random_() % (1U << 30);
        const auto answer = static_cast<Answer>(below(3));
        return {now_, name, answer, oracle_.observe(name, now_, answer, achieved_)};
    }

    void show(const std::vector<Packet>& burst) {
        state_.first = burst.front().time;
        bool begun = false;
        for (const Packet& packet : burst) {
            const Digest digest = remix(packet.name, 17);
            if (audit_->sample().of({&digest, 1}) == 0) {
                continue;
            }
            if (!begun) {
                audit_->begin_burst(state_);
                begun = true;
                trouble_ = state_.window.early_turns != told_turns_ ? state_.last : trouble_;
                told_turns_ = state_.window.early_turns;
            }
            observe(packet, digest);
        }
    }

    // The audit knows the achieved window of a burst, not of each packet. So a load miss is
    // accepted in place of a miss if the window had shrunk shortly before.
    void observe(const Packet& packet, Digest digest) {
        const filter::AuditKey key{digest, {remix(packet.name, 3), remix(packet.name, 4)}, {}};
        const auto found = audit_->observe(key, {packet.time, packet.answer}, {packet.name});
        if (found.verdict == Verdict::kUnsettled || found.verdict == Verdict::kNotHeld) {
            return;
        }
        ++judged_;
        if (found.verdict == Verdict::kFalseDrop) {
            ++false_drops_;
            ASSERT_TRUE(handed_over_ == 0 || packet.time >= handed_over_at_ + audit_->reach())
                << "of what the filter may have recorded unseen";
        }
        const bool later = case_.spec.policy == EchoPolicy::kRefresh;  // in the same run
        if (found.verdict == Verdict::kMissLoad && packet.expected == Verdict::kMiss &&
            (packet.time != state_.last || later) &&
            trouble_ + 2 * case_.spec.first * audit_->reach() > state_.first) {
            ++excused_;
            return;
        }
        ASSERT_EQ(found.verdict, packet.expected)
            << "packet at " << packet.time << " of key " << packet.name;
        if (found.repeats) {
            ASSERT_EQ(found.first[0], packet.name);
        }
    }

    Case case_;
    AuditParams params_;
    std::unique_ptr<FilterMemory> memory_;
    std::optional<Audit> audit_;
    AuditOracle oracle_;
    std::mt19937_64 random_;
    filter::AuditState state_;
    Nanoseconds now_ = 5'000'000'000;
    Nanoseconds last_ = 0;
    Nanoseconds trouble_ = 0;  // when the audit learnt that the window had shrunk
    std::uint64_t told_turns_ = 0;
    Nanoseconds achieved_ = kWindow;
    std::uint64_t judged_ = 0;
    std::uint64_t excused_ = 0;
    std::uint64_t false_drops_ = 0;
    unsigned handed_over_ = 0;
    Nanoseconds handed_over_at_ = 0;
    unsigned most_bits_ = 0;
};

class Judgement : public testing::TestWithParam<Case> {};

TEST_P(Judgement, of_every_packet_is_by_the_definitions) {
    SCOPED_TRACE(seed_note());
    Stream stream(GetParam());
    stream.run();
    const filter::AuditCounters& counters = stream.audit().counters();
    EXPECT_EQ(filter::accounted(counters), counters.sampled);
    EXPECT_GT(stream.judged(), GetParam().packets / 200);
    EXPECT_LT(stream.excused(), counters.misses);
    EXPECT_GT(counters.false_drops, 0U);
    EXPECT_GT(counters.misses, 0U);
    EXPECT_EQ(counters.collisions, 0U);
}

std::vector<Case> cases() {
    std::vector<Case> out;
    for (const unsigned first : {1U, 2U, 3U, 7U}) {
        for (const Nanoseconds grace : {Nanoseconds{0}, kGrace}) {
            out.push_back({"fixed", spec_of(EchoPolicy::kFixed, first, grace), 40'000,
                           90 / (first * first) + 1});
            out.push_back({"refresh", spec_of(EchoPolicy::kRefresh, first, grace)});
        }
    }
    for (const EchoPolicy policy : {EchoPolicy::kFixed, EchoPolicy::kRefresh}) {
        // The table is too small for all keys, so the sample shrinks.
        AuditSpec small = spec_of(policy, 1);
        small.slack = kWindow;
        small.memory = 4096;
        out.push_back({"small", small, 400'000, 40, 0.9});
        // The budget is too small until packets come more slowly.
        AuditSpec frugal = spec_of(policy, 1, kSecond);
        frugal.samples_per_second = 20;
        out.push_back({"frugal", frugal, 400'000, 20, 0.9, 15});
        // The audit begins later than the filter.
        AuditSpec late = spec_of(policy, 1, kSecond);
        late.begins_whole = false;
        out.push_back({"late", late, 2'000, 90, 0.9, 1, 1, 500});
        out.push_back({"bursts", spec_of(policy, 1), 100'000, 60, 0.7, 1, 8});
        out.push_back({"long_bursts", spec_of(policy, 2), 100'000, 60, 0.7, 1, 64});
    }
    return out;
}

// A restored audit knows what its predecessor knew and judges at once. It reports a false drop only
// once it has seen everything that the filter may remember.
TEST(Kept, audit_judges_as_the_one_before_would_have) {
    SCOPED_TRACE(seed_note());
    for (Case tested : cases()) {
        SCOPED_TRACE(tested.name);
        tested.bursts_of_one = std::max(20U, tested.packets / tested.burst / 20);
        Stream stream(tested);
        stream.run();
        EXPECT_GT(stream.handed_over(), 3U);
        EXPECT_GT(stream.judged(), tested.packets / 200);
        EXPECT_GT(stream.false_drops(), 0U);
    }
}

TEST(Kept, memory_that_no_audit_left_or_was_cut_off_is_seen) {
    const auto params = *AuditParams::make(spec_of(EchoPolicy::kFixed, 1));
    const FilterMemory memory(Audit::bytes(params));
    EXPECT_FALSE(Audit::is_consistent(params, memory.span()));
    std::memset(memory.span().data(), 0xFF, memory.span().size());
    EXPECT_FALSE(Audit::is_consistent(params, memory.span()));
}

// The process ends behind any single instruction of a packet that is new, known or forgotten.
TEST(Kept, audit_that_was_cut_off_behind_any_instruction_says_so_or_knows_all_before) {
    SCOPED_TRACE(seed_note());
    const auto params = *AuditParams::make(spec_of(EchoPolicy::kRefresh, 1));
    const SharedMemory shared(Audit::bytes(params));
    const FilterMemory seen(Audit::bytes(params));
    const FilterMemory copy(Audit::bytes(params));
    constexpr std::uint64_t kOld = 6;  // keys that have expired when the others arrive
    constexpr std::uint64_t kKnown = 40;
    const Nanoseconds now = kSecond + 1000 * kWindow;
    const auto observe = [](Audit& audit, std::uint64_t name, Nanoseconds time) {
        filter::AuditState state;
        state.first = state.last = time;
        state.window.achieved = kWindow;
        audit.begin_burst(state);
        return audit.observe({remix(name, 1), {name, name}, {}}, {time, Answer::kNew}, {}).verdict;
    };
    const auto prepare = [&] {
        Audit audit(params, shared.span());
        for (std::uint64_t name = 0; name < kOld; ++name) {
            observe(audit, kKnown + 2 + name, kSecond);
        }
        for (std::uint64_t name = 0; name < kKnown; ++name) {
            observe(audit, name, now);
        }
        return audit;
    };
    const auto act = [&](Audit& audit) {
        observe(audit, kKnown, now + 1);      // a new key
        observe(audit, kKnown / 2, now + 2);  // a known key, in the middle of the list
        audit.learn(remix(3, 1), now + 3);
        observe(audit, kKnown + 1, now + 4);
    };
    std::uint64_t states = 0;
    std::uint64_t torn = 0;
    const auto look = [&] {
        if (std::memcmp(seen.span().data(), shared.span().data(), seen.span().size()) == 0) {
            return true;
        }
        std::memcpy(seen.span().data(), shared.span().data(), seen.span().size());
        std::memcpy(copy.span().data(), shared.span().data(), seen.span().size());
        ++states;
        if (!Audit::is_consistent(params, copy.span())) {
            ++torn;
            return true;
        }
        Audit audit(params, copy.span(), filter::Contents::kRestored);
        for (std::uint64_t name = 0; name < kKnown; ++name) {
            EXPECT_EQ(observe(audit, name, now + 5), Verdict::kMiss) << name;
        }
        return !testing::Test::HasFailure();
    };
    if (step_through(20'000, prepare, act, look) == 0) {
        GTEST_SKIP() << "no process may be traced here";
    }
    EXPECT_GT(states, 20U);
    EXPECT_GT(torn, states / 2) << "most of it is within a packet";
    EXPECT_LT(torn, states);
}

TEST(Sample, shrinks_with_its_budget_and_grows_again) {
    SCOPED_TRACE(seed_note());
    AuditSpec spec = spec_of(EchoPolicy::kFixed, 1);
    spec.samples_per_second = 10;  // 50 packets come, then 2
    Stream stream({"frugal", spec, 8'000, 60, 0.7, 25});
    stream.run();
    EXPECT_EQ(stream.most_bits(), 3U);
    EXPECT_EQ(stream.audit().bits(), 0U);
    EXPECT_EQ(stream.audit().counters().not_held, 0U);
}

TEST(Sample, shrinks_with_its_memory_and_judges_on) {
    SCOPED_TRACE(seed_note());
    AuditSpec spec = spec_of(EchoPolicy::kFixed, 1);
    spec.memory = 4096;
    Stream stream({"small", spec, 100'000, 300, 0.8});
    stream.run();
    const filter::AuditCounters& counters = stream.audit().counters();
    EXPECT_GT(stream.audit().bits(), 0U);
    EXPECT_GT(counters.discarded, 0U);
    EXPECT_GT(stream.judged(), counters.sampled * 9 / 10);
}

filter::AuditState at_first() {
    filter::AuditState state;
    state.first = state.last = kSecond;
    state.window.achieved = kWindow;
    return state;
}

TEST(Collision, of_digests_is_a_false_drop_and_told) {
    const auto params = *AuditParams::make(spec_of(EchoPolicy::kFixed, 1));
    const FilterMemory memory(Audit::bytes(params));
    Audit audit(params, memory.span());
    audit.begin_burst(at_first());
    const std::array<std::uint8_t, 3> bytes{1, 2, 3};
    EXPECT_EQ(audit.observe({7, {1, 2}, {}}, {kSecond, Answer::kNew}, {}).verdict, Verdict::kNew);
    EXPECT_EQ(audit.observe({7, {1, 3}, {}}, {kSecond, Answer::kEcho}, {}).verdict,
              Verdict::kFalseDrop);
    EXPECT_EQ(audit.observe({7, {1, 2}, {}}, {kSecond, Answer::kEcho}, {}).verdict, Verdict::kEcho);
    EXPECT_EQ(audit.counters().collisions, 1U);

    AuditSpec with_bytes = spec_of(EchoPolicy::kFixed, 1);
    with_bytes.key_bytes = 2;
    const auto longer = *AuditParams::make(with_bytes);
    const FilterMemory more(Audit::bytes(longer));
    Audit exact(longer, more.span());
    exact.begin_burst(at_first());
    const std::span<const std::uint8_t> all(bytes);
    EXPECT_EQ(exact.observe({7, {1, 2}, all.first(2)}, {kSecond, Answer::kNew}, {}).verdict,
              Verdict::kNew);
    EXPECT_EQ(exact.observe({7, {1, 2}, all.last(2)}, {kSecond, Answer::kEcho}, {}).verdict,
              Verdict::kFalseDrop);
    EXPECT_EQ(exact.observe({7, {1, 2}, all.first(2)}, {kSecond, Answer::kEcho}, {}).verdict,
              Verdict::kEcho);
    EXPECT_EQ(exact.counters().collisions, 1U);
}

// The flow was seen at another site, so its second packet is an echo although the first three pass.
TEST(Learned, flow_that_is_known_elsewhere_is_an_echo_for_a_window) {
    for (const EchoPolicy policy : {EchoPolicy::kFixed, EchoPolicy::kRefresh}) {
        const auto params = *AuditParams::make(spec_of(policy, 3));
        const auto judged = [&](bool learned, Nanoseconds later, Answer answer) {
            const FilterMemory memory(Audit::bytes(params));
            Audit audit(params, memory.span());
            audit.begin_burst(at_first());
            EXPECT_EQ(audit.observe({7, {1, 2}, {}}, {kSecond, Answer::kNew}, {}).verdict,
                      Verdict::kNew);
            EXPECT_EQ(audit.observe({8, {1, 2}, {}}, {kSecond, Answer::kNew}, {}).verdict,
                      Verdict::kNew);
            if (learned) {
                audit.learn(7, kSecond + 1);
                audit.learn(9, kSecond + 1);  // a flow that this site does not know
            }
            filter::AuditState state = at_first();
            state.first = state.last = kSecond + later;
            audit.begin_burst(state);
            EXPECT_NE(audit.observe({8, {1, 2}, {}}, {state.first, Answer::kNew}, {}).verdict,
                      Verdict::kMiss);
            return audit.observe({7, {1, 2}, {}}, {state.first, answer}, {}).verdict;
        };
        EXPECT_EQ(judged(false, 2, Answer::kEcho), Verdict::kFalseDrop);
        EXPECT_EQ(judged(true, 2, Answer::kEcho), Verdict::kEcho);
        EXPECT_EQ(judged(true, 2, Answer::kNew), Verdict::kMiss);
        EXPECT_EQ(judged(true, kWindow, Answer::kEcho), Verdict::kEcho);
        EXPECT_EQ(judged(true, 3 * kWindow, Answer::kNew), Verdict::kNew);
    }
}

// The mask for a burst equals that of its packets one by one, for samples of all, some and no keys.
TEST(Sample, of_a_burst_is_that_of_each_packet) {
    SCOPED_TRACE(seed_note());
    std::mt19937_64 random(seed());
    for (const unsigned bits : {0U, 1U, 5U, 9U}) {
        const std::uint64_t secret = random();
        const filter::AuditSample sample(secret, bits);
        for (unsigned count = 0; count <= 64; ++count) {
            std::vector<Digest> digests(count);
            std::generate(digests.begin(), digests.end(), std::ref(random));
            std::uint64_t expected = 0;
            for (unsigned i = 0; i < count; ++i) {
                const auto product = static_cast<std::uint32_t>(digests[i] * (secret | 1));
                expected |= std::uint64_t{bits == 0 || product >> (32 - bits) == 0} << i;
            }
            ASSERT_EQ(sample.of(digests), expected) << count << " digests, " << bits << " bits";
        }
    }
    const std::array<Digest, 16> zeros{};
    EXPECT_EQ(filter::AuditSample().of(zeros), 0U);
}

// A full audit with keys of full length uses the planned memory to the last byte, and no more.
TEST(AuditMemory, is_used_to_the_last_entry_and_no_further) {
    for (const unsigned key_bytes : {0U, 3U, 256U}) {
        AuditSpec spec = spec_of(EchoPolicy::kFixed, 3);
        spec.memory = 100'000;
        spec.key_bytes = key_bytes;
        const AuditParams params = *AuditParams::make(spec);
        const std::uint64_t bytes = Audit::bytes(params);
        ASSERT_LE(bytes, spec.memory);
        const FilterMemory memory(bytes + filter::kCacheLine);
        const std::span<std::byte> beside = memory.span().subspan(bytes);
        std::fill(beside.begin(), beside.end(), std::byte{0xA5});
        Audit audit(params, memory.span().first(bytes));
        audit.begin_burst(at_first());
        const std::vector<std::uint8_t> key(key_bytes, 0xFF);
        for (std::uint64_t i = 0; i < params.entries(); ++i) {
            audit.observe({i << 32, {~i, ~i}, key}, {kSecond, Answer::kNew}, {});
        }
        EXPECT_EQ(audit.entries(), params.entries());
        EXPECT_EQ(audit.counters().not_held + audit.counters().discarded, 0U);
        EXPECT_TRUE(std::all_of(beside.begin(), beside.end(),
                                [](std::byte b) { return b == std::byte{0xA5}; }));
        const auto last = memory.span().subspan(bytes - 64, 64);  // the line of the last entry
        EXPECT_TRUE(
            std::any_of(last.begin(), last.end(), [](std::byte b) { return b != std::byte{0}; }));
    }
}

INSTANTIATE_TEST_SUITE_P(Of, Judgement, testing::ValuesIn(cases()),
                         [](const testing::TestParamInfo<Case>& info) {
                             return std::string(info.param.name) + "_first_" +
                                    std::to_string(info.param.spec.first) + "_" +
                                    std::to_string(info.index);
                         });

}  // namespace
}  // namespace unecho::test
