// SPDX-License-Identifier: BSD-3-Clause
#include "dedup/pipeline/paths/host_sides.h"

#include <cstddef>
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "support/filter_memory.h"
#include "support/seed.h"

namespace unecho::pipeline {
namespace {

constexpr Nanoseconds kRemembered = 300 * kSecond;
constexpr Digest kNear = 101;
constexpr Digest kFar = 202;

class Sides {
  public:
    explicit Sides(std::size_t bytes = 1 << 16) : memory_(bytes), sides_(memory_.span()) {}

    HostSides& table() { return sides_; }
    [[nodiscard]] Course course(Digest from, Digest to, unsigned pair) const {
        return HostSides::course_of(sides_.of(from), sides_.of(to), pair);
    }
    // Let other hosts be confirmed.
    void others_at(Nanoseconds now) { sides_.learn(907, 908, 5, Course::kForward, now); }

  private:
    test::FilterMemory memory_;
    HostSides sides_;
};

TEST(PairIndex, numbers_all_pairs_of_points_once) {
    unsigned next = 0;
    for (unsigned j = 1; j < kMaxPathPoints; ++j) {
        for (unsigned i = 0; i < j; ++i) {
            EXPECT_EQ(pair_index(i, j), next++);
        }
    }
    EXPECT_EQ(next, kMaxPointPairs);
}

// Each pair of points has its own sides: what is learned of one says nothing of the others.
TEST(HostSides, know_the_course_of_packets_both_ways_for_each_pair) {
    for (unsigned learned = 0; learned < kMaxPointPairs; ++learned) {
        for (const Course course : {Course::kForward, Course::kBackward}) {
            const Course back = course == Course::kForward ? Course::kBackward : Course::kForward;
            Sides sides;
            sides.table().learn(kNear, kFar, learned, course, kSecond);
            for (unsigned pair = 0; pair < kMaxPointPairs; ++pair) {
                const bool known = pair == learned;
                EXPECT_EQ(sides.course(kNear, kFar, pair), known ? course : Course::kUnknown);
                EXPECT_EQ(sides.course(kFar, kNear, pair), known ? back : Course::kUnknown);
                EXPECT_EQ(sides.course(kNear, kNear, pair), Course::kUnknown);
                EXPECT_EQ(sides.course(kNear, 303, pair), Course::kUnknown);
            }
        }
    }
}

// A dark tap confirms nobody, and so forgets nobody.
TEST(HostSides, forget_what_is_not_confirmed_in_five_minutes_in_which_others_are) {
    Sides sides;
    sides.table().learn(kNear, kFar, 0, Course::kForward, kSecond);
    EXPECT_EQ(sides.course(kNear, kFar, 0), Course::kForward);
    sides.others_at(kRemembered + kSecond - 1);
    EXPECT_EQ(sides.course(kNear, kFar, 0), Course::kForward);
    sides.others_at(kRemembered + kSecond);
    EXPECT_EQ(sides.course(kNear, kFar, 0), Course::kUnknown);
    // A host that comes back is learned anew, and what was known of other pairs is not revived.
    sides.table().learn(kNear, kFar, 1, Course::kForward, 2 * kRemembered);
    EXPECT_EQ(sides.course(kNear, kFar, 0), Course::kUnknown);
    EXPECT_EQ(sides.course(kNear, kFar, 1), Course::kForward);
}

// A host on both sides is unknown whatever comes next. One that moved is learned anew when its
// side was not confirmed for long.
TEST(HostSides, know_no_side_of_a_host_that_was_on_both) {
    Sides sides;
    sides.table().learn(kNear, kFar, 0, Course::kForward, kSecond);
    for (unsigned i = 2; i < 20; ++i) {
        const Course course = i % 2 == 0 ? Course::kBackward : Course::kForward;
        sides.table().learn(kNear, 303, 0, course, i * kSecond);
        EXPECT_EQ(sides.course(kNear, kFar, 0), Course::kUnknown);
        EXPECT_EQ(sides.course(kFar, kNear, 0), Course::kUnknown);
    }
    for (Nanoseconds now = 20 * kSecond; now < kRemembered + 2 * kSecond; now += kSecond) {
        sides.table().learn(kNear, 404, 0, Course::kBackward, now);
    }
    EXPECT_EQ(sides.course(kNear, 404, 0), Course::kBackward);
}

// A host that sends packets to itself past both points is on neither side.
TEST(HostSides, know_no_side_of_a_host_that_speaks_to_itself) {
    Sides sides;
    sides.table().learn(kNear, kNear, 0, Course::kForward, kSecond);
    EXPECT_EQ(sides.course(kNear, kNear, 0), Course::kUnknown);
    EXPECT_EQ(sides.course(kNear, kFar, 0), Course::kUnknown);
}

TEST(HostSides, know_nothing_of_no_host) {
    Sides sides;
    sides.table().learn(0, kFar, 0, Course::kForward, kSecond);
    EXPECT_EQ(sides.table().of(0), 0U);
    EXPECT_NE(sides.table().of(kFar), 0U);
}

// Keys of several points are judged in another order than that of their arrivals.
TEST(HostSides, keep_what_they_know_when_an_earlier_arrival_is_learned_later) {
    Sides sides;
    sides.table().learn(kNear, kFar, 0, Course::kForward, 2 * kSecond);
    sides.table().learn(kNear, kFar, 1, Course::kForward, kSecond);
    EXPECT_EQ(sides.course(kNear, kFar, 0), Course::kForward);
    EXPECT_EQ(sides.course(kNear, kFar, 1), Course::kForward);
    // The later one confirmed them.
    sides.others_at(kRemembered + 2 * kSecond - 1);
    EXPECT_EQ(sides.course(kNear, kFar, 0), Course::kForward);
    sides.others_at(kRemembered + 2 * kSecond);
    EXPECT_EQ(sides.course(kNear, kFar, 0), Course::kUnknown);
}

// More hosts than there is room for: a host's sides are its own or unknown, and those that were
// confirmed last are known.
TEST(HostSides, replace_the_host_that_was_confirmed_longest_ago) {
    SCOPED_TRACE(test::seed_note());
    std::mt19937_64 draw(test::seed());
    Sides sides(1 << 10);  // at most 1 KiB, so of 30 or 40 hosts
    std::vector<Digest> hosts(400);
    std::map<Digest, bool> is_near;
    for (Digest& host : hosts) {
        host = draw() | 1;
        is_near[host] = draw() % 2 == 0;
    }
    std::uint64_t known = 0;
    std::uint64_t known_of_last = 0;
    std::uint64_t rounds = 0;
    Nanoseconds now = kSecond;
    for (const Digest host : hosts) {
        now += kMillisecond;
        sides.table().learn(host, 0, 3, is_near[host] ? Course::kForward : Course::kBackward, now);
        const auto side = [&](Digest of) {
            return static_cast<unsigned>(sides.table().of(of) >> 6);
        };
        EXPECT_NE(side(host), 0U);
        ++rounds;
        known_of_last += rounds > 1 && side(hosts[rounds - 2]) != 0 ? 1 : 0;
    }
    for (const Digest host : hosts) {
        const HostSides::Sides of = sides.table().of(host);
        known += of == 0 ? 0 : 1;
        EXPECT_TRUE(of == 0 || of == HostSides::Sides{is_near[host] ? 1U : 2U} << 6);
    }
    EXPECT_EQ(known_of_last, hosts.size() - 1);  // never the latest but one
    EXPECT_GE(known, 8U);
    EXPECT_LE(known, 40U);
}

}  // namespace
}  // namespace unecho::pipeline
