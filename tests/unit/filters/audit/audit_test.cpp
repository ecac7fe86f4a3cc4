// SPDX-License-Identifier: BSD-3-Clause
// Cases that the random streams of tests/property/audit do not reach: reasons of misses, the slack
// zone, how long keys are remembered, a changed slack.
#include "filters/audit/audit.h"

#include <array>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/units.h"
#include "support/filter_memory.h"

namespace unecho::filter::audit_test {
namespace {

constexpr Nanoseconds kWindow = kSecond;
constexpr Nanoseconds kSlack = 200 * kMillisecond;
constexpr Nanoseconds kStart = 100 * kSecond;

AuditSpec spec_of() {
    return {.memory = 1 << 16,
            .window = kWindow,
            .slack = kSlack,
            .begins_whole = true,
            .secret = 0x1234567};
}

class AuditTest : public testing::Test {
  protected:
    explicit AuditTest(const AuditSpec& spec = spec_of())
        : params_(*AuditParams::make(spec)),
          memory_(Audit::bytes(params_)),
          audit_(params_, memory_.span()) {
        state_.window.achieved = kWindow;
    }

    // Observe a burst of one packet with this key, `after` the start.
    AuditFinding observe(std::uint64_t key, Nanoseconds after, Answer answer = Answer::kNew,
                         const AuditTag& tag = {}) {
        state_.first = state_.last = kStart + after;
        audit_.begin_burst(state_);
        return audit_.observe({key, {key, ~key}, {}}, {state_.last, answer}, tag);
    }
    Verdict verdict(std::uint64_t key, Nanoseconds after, Answer answer = Answer::kNew) {
        return observe(key, after, answer).verdict;
    }

    AuditParams params_;
    test::FilterMemory memory_;
    Audit audit_;
    AuditState state_;
};

TEST(AuditParams, limits_are_named) {
    const auto message = [](void (*change)(AuditSpec & spec)) {
        AuditSpec spec = spec_of();
        change(spec);
        const auto made = AuditParams::make(spec);
        return made ? "valid" : made.error().context;
    };
    constexpr std::string_view kLimits =
        "audit: allowed: a window of 1ns or more, first from 1 to 64, at most 256 bytes of keys "
        "and 31 bits";
    EXPECT_EQ(message([](AuditSpec& spec) { spec.first = 64; }), "valid");
    EXPECT_EQ(message([](AuditSpec& spec) { spec.window = 0; }), kLimits);
    EXPECT_EQ(message([](AuditSpec& spec) { spec.first = 0; }), kLimits);
    EXPECT_EQ(message([](AuditSpec& spec) { spec.first = 65; }), kLimits);
    EXPECT_EQ(message([](AuditSpec& spec) { spec.key_bytes = ~0U; }), kLimits);
    EXPECT_EQ(message([](AuditSpec& spec) { spec.bits = 32; }), kLimits);
}

// The message says how much is enough.
TEST(AuditParams, of_too_little_memory_are_refused) {
    AuditSpec spec = spec_of();
    spec.memory = 1000;
    const auto made = AuditParams::make(spec);
    ASSERT_FALSE(made);
    const std::string& said = made.error().context;
    const std::string_view before = "is too little for a filter; allowed: ";
    ASSERT_NE(said.find(before), std::string::npos) << said;
    std::string literal = said.substr(said.find(before) + before.size());
    literal.resize(literal.find(' '));
    const auto enough = parse_size(literal);
    ASSERT_TRUE(enough) << literal;
    spec.memory = *enough;
    EXPECT_TRUE(AuditParams::make(spec)) << literal;
}

// The window is short at 10 ms, and the event was then, before, or never.
TEST_F(AuditTest, a_miss_has_the_reason_that_the_filter_gives) {
    const auto missed = [&](std::uint64_t key, auto&& happens) {
        const Nanoseconds begin = key * 10 * kSecond;
        state_.window.achieved = kWindow;
        observe(key, begin);
        happens();
        state_.window.achieved = 5 * kMillisecond;
        return verdict(key, begin + 10 * kMillisecond);
    };
    EXPECT_EQ(missed(1, [] {}), Verdict::kMissLoad);
    EXPECT_EQ(missed(2, [&] { ++state_.stalls; }), Verdict::kMissStall);
    EXPECT_EQ(missed(3, [&] { ++state_.window.early_turns; }), Verdict::kMissLoad);
    EXPECT_EQ(missed(4, [&] { ++state_.counters.evicted_early; }), Verdict::kMissEvicted);
    EXPECT_EQ(missed(5, [&] { ++state_.counters.arena_full; }), Verdict::kMissArenaFull);
    EXPECT_EQ(missed(6, [] {}), Verdict::kMissLoad) << "what was before the packet is no reason";
    EXPECT_EQ(missed(7,
                     [&] {
                         ++state_.stalls;
                         ++state_.window.early_turns;
                     }),
              Verdict::kMissLoad);
    EXPECT_EQ(missed(8,
                     [&] {
                         ++state_.window.early_turns;
                         ++state_.counters.evicted_early;
                     }),
              Verdict::kMissEvicted);
    EXPECT_EQ(missed(9,
                     [&] {
                         ++state_.counters.evicted_early;
                         ++state_.counters.arena_full;
                     }),
              Verdict::kMissArenaFull);
    EXPECT_EQ(audit_.counters().misses, 0U);
    EXPECT_EQ(audit_.counters().misses_load, 4U);
    EXPECT_EQ(audit_.counters().misses_stall, 1U);
    EXPECT_EQ(audit_.counters().misses_evicted, 2U);
    EXPECT_EQ(audit_.counters().misses_arena_full, 2U);
}

// The counter was reported with the packet's burst, and the event may have followed the packet.
TEST_F(AuditTest, what_happened_in_the_packet_s_own_burst_is_a_reason) {
    ++state_.counters.arena_full;
    observe(1, 0);
    state_.window.achieved = 5 * kMillisecond;
    EXPECT_EQ(verdict(1, 10 * kMillisecond), Verdict::kMissArenaFull);
}

TEST_F(AuditTest, a_reason_excuses_none_that_is_younger_than_what_is_kept) {
    observe(1, 0);
    ++state_.counters.evicted_early;
    ++state_.stalls;
    state_.window.achieved = 5 * kMillisecond;
    EXPECT_EQ(verdict(1, 4 * kMillisecond), Verdict::kMiss);
}

// Time while the worker was away counts, so the packet is that much older.
TEST_F(AuditTest, a_stall_excuses_so_much_behind_the_window_as_it_took) {
    for (const auto& [key, stall, expected] :
         {std::tuple{1U, 51 * kMillisecond, Verdict::kMissStall},
          {2U, 50 * kMillisecond, Verdict::kSlackNew}}) {
        const Nanoseconds begin = key * 10 * kSecond;
        observe(key, begin);
        ++state_.stalls;
        state_.stall = stall;
        EXPECT_EQ(verdict(key, begin + kWindow + 50 * kMillisecond), expected) << key;
    }
    observe(3, 90 * kSecond);
    EXPECT_EQ(verdict(3, 91 * kSecond + 1), Verdict::kSlackNew) << "that stall was before";
}

TEST_F(AuditTest, what_happened_before_the_first_burst_is_no_reason) {
    state_.stalls = 7;
    state_.stall = kSlack;
    observe(1, 0);
    EXPECT_EQ(verdict(1, kWindow + 1), Verdict::kSlackNew);
}

TEST_F(AuditTest, a_copy_in_the_slack_zone_repeats_its_original) {
    observe(1, 0, Answer::kNew, {11});
    const AuditFinding found = observe(1, kWindow + kSlack - 1, Answer::kEcho, {12});
    EXPECT_EQ(found.verdict, Verdict::kSlackEcho);
    EXPECT_TRUE(found.repeats);
    EXPECT_EQ(found.first[0], 11U);
    const AuditFinding later = observe(1, 2 * (kWindow + kSlack) - 1, Answer::kNew, {13});
    EXPECT_FALSE(later.repeats);
    EXPECT_EQ(observe(1, 2 * (kWindow + kSlack), Answer::kEcho).first[0], 13U);
}

// Ages of copies show which window would suffice, so they are counted beyond this one.
TEST_F(AuditTest, a_key_is_remembered_for_four_windows) {
    const auto aged = [&] {
        std::uint64_t sum = 0;
        for (unsigned i = 0; i < AgeHistogram::kBuckets; ++i) {
            sum += audit_.ages().at(i);
        }
        return sum;
    };
    observe(1, 0);
    observe(1, 4 * kWindow - 1);
    EXPECT_EQ(aged(), 1U);
    observe(1, 8 * kWindow - 1);
    EXPECT_EQ(aged(), 1U);
    EXPECT_EQ(audit_.entries(), 1U);
}

TEST_F(AuditTest, keys_of_another_length_are_others) {
    AuditSpec spec = spec_of();
    spec.key_bytes = 4;
    const auto params = *AuditParams::make(spec);
    const test::FilterMemory memory(Audit::bytes(params));
    Audit audit(params, memory.span());
    state_.first = state_.last = kStart;
    audit.begin_burst(state_);
    const std::array<std::uint8_t, 4> bytes{};
    const std::span<const std::uint8_t> all(bytes);
    audit.observe({7, {1, 2}, all}, {kStart, Answer::kNew}, {});
    EXPECT_EQ(audit.observe({7, {1, 2}, all.first(3)}, {kStart, Answer::kNew}, {}).verdict,
              Verdict::kNew);
    EXPECT_EQ(audit.counters().collisions, 1U);
}

TEST_F(AuditTest, packets_that_the_filter_was_not_shown_are_counted_apart) {
    audit_.add_overload(3);
    audit_.add_overload(4);
    EXPECT_EQ(audit_.counters().overload, 7U);
    EXPECT_EQ(audit_.counters().sampled, 0U);
}

AuditSpec small() {
    AuditSpec spec = spec_of();
    spec.memory = 4096;
    return spec;
}

class SmallAudit : public AuditTest {
  protected:
    SmallAudit() : AuditTest(small()) {}

    // Insert new keys until one more would evict an old one.
    void fill(Nanoseconds after) {
        for (std::uint64_t i = 0; i < params_.entries(); ++i) {
            observe(next_++, after);
        }
    }
    std::uint64_t next_ = 1;
};

TEST_F(SmallAudit, keys_that_no_longer_matter_make_room_and_are_counted) {
    fill(0);
    EXPECT_EQ(verdict(next_++, kWindow + kSlack), Verdict::kNew);
    EXPECT_EQ(audit_.counters().cut_short, 1U);
    EXPECT_EQ(audit_.bits(), 0U);
}

TEST_F(SmallAudit, keys_that_matter_stay_and_fewer_are_sampled) {
    fill(0);
    observe(next_++, kWindow + kSlack - 1);
    EXPECT_EQ(audit_.counters().cut_short, 0U);
    EXPECT_EQ(audit_.bits(), 1U);
}

// Keys forgotten under a shorter slack may matter under a longer one.
TEST_F(SmallAudit, of_a_longer_slack_nothing_is_judged_until_what_was_forgotten_is_over) {
    fill(0);
    observe(next_++, kWindow + kSlack);
    const Nanoseconds changed = kWindow + 2 * kSlack;
    audit_.change_slack(3 * kSlack, kStart + changed);
    EXPECT_EQ(audit_.reach(), kWindow + 3 * kSlack);
    EXPECT_EQ(verdict(next_++, changed + kWindow + 3 * kSlack - 1), Verdict::kUnsettled);
    EXPECT_EQ(verdict(next_++, changed + kWindow + 3 * kSlack), Verdict::kNew);
}

TEST_F(AuditTest, of_another_slack_all_is_judged_where_nothing_was_forgotten) {
    observe(1, 0);
    audit_.change_slack(3 * kSlack, kStart);
    EXPECT_EQ(verdict(1, kWindow + 3 * kSlack - 1, Answer::kEcho), Verdict::kSlackEcho);
    audit_.change_slack(kSlack, kStart + 5 * kSecond);
    observe(2, 6 * kSecond);
    EXPECT_EQ(verdict(2, 7 * kSecond + kSlack, Answer::kEcho), Verdict::kFalseDrop);
}

}  // namespace
}  // namespace unecho::filter::audit_test
