// SPDX-License-Identifier: BSD-3-Clause
// Filters that can be restored (filters/storage.h): another filter over the same memory continues,
// wherever its predecessor was cut off, also by SIGKILL between any two instructions.
#include <atomic>
#include <bit>
#include <optional>
#include <vector>

#include "property/contract/contract.h"
#include "support/killed_child.h"
#include "support/sanitizers.h"

namespace unecho::test {
namespace {

template <typename Filter>
class contract_kept : public testing::Test {};
TYPED_TEST_SUITE(contract_kept, Engines::Types, EngineNames);

// One filter runs on; the other is replaced every now and then by one over a copy of its memory.
TYPED_TEST(contract_kept, answers_are_those_of_one_that_went_on) {
    std::uint64_t echoes = 0;
    for_each_case_of_two_fills<TypeParam>([&](Case<TypeParam>& c) {
        typename Case<TypeParam>::Table whole(c.params);
        auto memory = std::make_unique<FilterMemory>(TypeParam::bytes(c.params));
        std::optional<TypeParam> part(std::in_place, c.params, memory->span());
        Digests digests(c.random);
        Clock clock(c.random, c.promise, 1 + c.draw.index % 2);  // never at time 0
        for (unsigned step = 0; step < 80; ++step) {
            const std::uint64_t now = clock.next();
            whole.filter.advance(moment_at(now));
            part->advance(moment_at(now));
            const std::vector<Digest> packets = random_burst(c.random, digests);
            const std::uint64_t expected = whole.filter.test_and_insert_burst(packets);
            ASSERT_EQ(part->test_and_insert_burst(packets), expected) << "step " << step;
            echoes += static_cast<unsigned>(std::popcount(expected));
            if constexpr (requires { part->maintain(); }) {
                for (std::uint64_t n = c.random.below(9); n != 0; --n) {
                    part->maintain();
                }
            }
            if (c.random.one_in(6)) {
                auto copy = std::make_unique<FilterMemory>(memory->span().size());
                std::memcpy(copy->span().data(), memory->span().data(), memory->span().size());
                memory = std::move(copy);
                ASSERT_TRUE(TypeParam::is_consistent(c.params, memory->span())) << "step " << step;
                part.emplace(c.params, memory->span(), filter::Contents::kRestored);
                if constexpr (requires { part->load(); }) {
                    // An interrupted burst may be written but not yet counted.
                    ASSERT_GE(part->load(), whole.filter.load() + kMaxBurst);
                }
                if constexpr (info_of<TypeParam>().estimates_chance) {
                    const Digest digest = digests.next();
                    ASSERT_GE(part->chance(digest), whole.filter.chance(digest));
                }
            }
        }
    });
    EXPECT_GT(echoes, 200 * Row<TypeParam>::kShapes);
}

TYPED_TEST(contract_kept, what_no_filter_left_is_not_taken) {
    if constexpr (!std::is_same_v<TypeParam, filter::Exact>) {  // it accepts any memory
        for_each_case<TypeParam>(Fill::kRoomy, [](Case<TypeParam>& c) {
            const FilterMemory memory(TypeParam::bytes(c.params));
            EXPECT_FALSE(TypeParam::is_consistent(c.params, memory.span()));
            std::memset(memory.span().data(), 0xFF, memory.span().size());
            EXPECT_FALSE(TypeParam::is_consistent(c.params, memory.span()));
        });
    }
}

// The digests of a burst follow from its number, and time advances by a step every few bursts. So
// most of the time has a turn in it, and few digests are remembered.
constexpr std::uint64_t kBurstsAStep = 2;

std::array<Digest, 3> digests_of(std::uint64_t burst) {
    return {remix(burst, 0), remix(burst, 1), remix(burst, 2)};
}
constexpr std::uint64_t kAllKept = 0b111;

// After a kill, every digest of a finished burst that is young enough is still known, or the memory
// says that it was interrupted during a turn.
TYPED_TEST(contract_kept, kill_at_any_moment_loses_nothing_or_is_seen) {
    unsigned whole = 0;
    unsigned torn = 0;
    for_each_case<TypeParam>(
        Fill::kRoomy,  // roomy: accidental matches are not recorded, so there must be none
        [&](Case<TypeParam>& c) {
            const SharedMemory shared(TypeParam::bytes(c.params));
            const auto time_of = [&](std::uint64_t burst) {
                return 1000 * c.promise.forgotten + burst / kBurstsAStep * c.promise.step;
            };
            const auto work = [&](const auto& round_ends) {
                TypeParam filter(c.params, shared.span());
                for (std::uint64_t burst = 0;; ++burst) {
                    filter.advance(moment_at(time_of(burst)));
                    const std::uint64_t echoes = filter.test_and_insert_burst(digests_of(burst));
                    shared.progress().other.fetch_add(static_cast<unsigned>(std::popcount(echoes)),
                                                      std::memory_order_relaxed);
                    if constexpr (requires { filter.maintain(); }) {
                        filter.maintain();
                    }
                    round_ends();
                }
            };
            kill_amid(shared, 10 + c.random.below(20), 1 + c.random.below(200'000), work);
            if (!TypeParam::is_consistent(c.params, shared.span())) {
                ++torn;
                return;
            }
            ++whole;
            TypeParam filter(c.params, shared.span(), filter::Contents::kRestored);
            const std::uint64_t bursts = shared.progress().rounds.load();
            const std::uint64_t now = time_of(bursts);
            filter.advance(moment_at(now));
            // The youngest that must be forgotten; a half-done turn would still show them.
            const std::uint64_t behind =
                (c.promise.forgotten + c.promise.step - 1) / c.promise.step * kBurstsAStep;
            std::uint64_t remembered = 0;
            for (std::uint64_t i = 0; i < 2 * kBurstsAStep && bursts > behind + i; ++i) {
                remembered += static_cast<unsigned>(std::popcount(
                    filter.test_and_insert_burst(digests_of(bursts - behind - i - 1))));
            }
            ASSERT_LE(remembered, shared.progress().other.load() + 1) << bursts << " bursts";
            std::uint64_t missed = 0;
            for (std::uint64_t burst = bursts; burst-- != 0;) {
                if (now - time_of(burst) > c.promise.kept) {
                    break;
                }
                const std::uint64_t echoes = filter.test_and_insert_burst(digests_of(burst));
                missed += static_cast<unsigned>(std::popcount(echoes ^ kAllKept));
            }
            ASSERT_LE(missed, shared.progress().other.load()) << bursts << " bursts";
        },
        0, 2);
    EXPECT_GT(whole, 0U);
    this->RecordProperty("torn", static_cast<int>(torn));
}

// The same exhaustively: the process is stopped after every instruction of a turn and of a burst,
// except for the end of a long clearing (and, under ASan, after 2500 instructions). Each step costs
// two process switches, so only a few shapes run: with every kernel, and policies alternate.
TYPED_TEST(contract_kept, cut_off_behind_every_instruction_of_a_turn_loses_nothing_or_is_seen) {
#ifdef UNECHO_GCOV  // by tools/coverage: many instructions surround each one that writes
    constexpr std::uint64_t kMaxSteps = 20'000;
#else
    constexpr std::uint64_t kMaxSteps = kUnderAsan ? 2500 : 5000;
#endif
    std::uint64_t steps = 0;
    std::uint64_t states = 0;
    unsigned torn = 0;
    for_each_case<TypeParam>(
        Fill::kRoomy,
        [&](Case<TypeParam>& c) {
            if (refreshes(c.draw) != (c.draw.index % 2 != 0)) {
                return;
            }
            const SharedMemory shared(TypeParam::bytes(c.params));
            const FilterMemory seen(TypeParam::bytes(c.params));
            const FilterMemory copy(TypeParam::bytes(c.params));
            const std::uint64_t bursts = kBurstsAStep * (30 + c.random.below(20));
            const auto time_of = [&](std::uint64_t burst) {
                return 1000 * c.promise.forgotten + burst / kBurstsAStep * c.promise.step;
            };
            const std::uint64_t behind =
                (c.promise.forgotten + c.promise.step - 1) / c.promise.step * kBurstsAStep;
            const auto fill = [&](TypeParam& filter) {
                for (std::uint64_t burst = 0; burst < bursts; ++burst) {
                    filter.advance(moment_at(time_of(burst)));
                    filter.test_and_insert_burst(digests_of(burst));
                }
            };
            const auto prepare = [&] {
                TypeParam filter(c.params, shared.span());
                fill(filter);
                return filter;
            };
            const auto act = [&](TypeParam& filter) {
                filter.advance(moment_at(time_of(bursts)));
                filter.test_and_insert_burst(digests_of(bursts));
            };
            // Turn, then return the answers to each earlier burst, oldest first.
            const auto answers_of = [&](TypeParam& filter) {
                std::vector<std::uint64_t> answers;
                filter.advance(moment_at(time_of(bursts)));
                for (std::uint64_t burst = 0; burst < bursts; ++burst) {
                    answers.push_back(filter.test_and_insert_burst(digests_of(burst)));
                }
                return answers;
            };
            const FilterMemory whole(TypeParam::bytes(c.params));
            std::vector<std::uint64_t> expected;
            {
                TypeParam filter(c.params, whole.span());
                fill(filter);
                expected = answers_of(filter);
            }
            const auto look = [&] {
                const std::size_t size = copy.span().size();
                if (std::memcmp(seen.span().data(), shared.span().data(), size) == 0) {
                    return true;  // most instructions write elsewhere
                }
                std::memcpy(seen.span().data(), shared.span().data(), size);
                std::memcpy(copy.span().data(), shared.span().data(), size);
                ++states;
                if (!TypeParam::is_consistent(c.params, copy.span())) {
                    ++torn;
                    return true;
                }
                TypeParam filter(c.params, copy.span(), filter::Contents::kRestored);
                const std::uint64_t now = time_of(bursts);
                filter.advance(moment_at(now));
                std::uint64_t remembered = 0;
                for (std::uint64_t i = 0; i < kBurstsAStep && bursts > behind + i; ++i) {
                    remembered += filter.test_and_insert_burst(digests_of(bursts - behind - i - 1));
                }
                std::uint64_t known = kAllKept;
                for (std::uint64_t burst = bursts;
                     burst-- != 0 && now - time_of(burst) <= c.promise.kept;) {
                    known &= filter.test_and_insert_burst(digests_of(burst));
                }
                EXPECT_EQ(remembered, 0U) << "of what is forgotten";
                EXPECT_EQ(known, kAllKept) << "of what is kept";
                // The slices of TLBF depend on all insertions, including the interrupted burst's.
                if constexpr (!std::is_same_v<TypeParam, filter::Tlbf>) {
                    std::memcpy(copy.span().data(), seen.span().data(), size);
                    TypeParam other(c.params, copy.span(), filter::Contents::kRestored);
                    EXPECT_EQ(answers_of(other), expected) << "as if it had turned, or will";
                }
                return !testing::Test::HasFailure();
            };
            steps += step_through(kMaxSteps, prepare, act, look);
        },
        0, std::max<std::uint64_t>(Row<TypeParam>::kShapes / 3, 1));
    if (steps == 0) {
        GTEST_SKIP() << "no process may be traced here";
    }
    EXPECT_GT(states, 20U);  // under a sanitizer many instructions surround each one that writes
    this->RecordProperty("torn", static_cast<int>(torn));
    this->RecordProperty("steps", std::to_string(steps));
}

}  // namespace
}  // namespace unecho::test
