// SPDX-License-Identifier: BSD-3-Clause
// Blocks pass through stages on threads. Counters that are not atomic belong to one stage, so that
// TSan reports two threads in it.
#include "captures/analyze/collect/stage_runner.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace unecho::analyze {
namespace {

constexpr std::size_t kStages = 4;
constexpr std::uint64_t kBlocks = 3000;

// Counts the blocks at each stage, and checks at each step that the order is allowed.
class Watched {
  public:
    explicit Watched(std::size_t places) : places_(places), blocks_(places) {}

    void run(unsigned threads) {
        StageSet stages;
        stages.begin = [this](std::size_t place) { return begin(place); };
        stages.can_begin = [this] { return lone_ == 0; };
        for (std::size_t stage = 1; stage < kStages; ++stage) {
            stages.others.emplace_back([this, stage](std::size_t place) { take(stage, place); });
        }
        stages.exclusive_stage = 1;
        stages.is_exclusive = [this](std::size_t place) { return blocks_[place] % 97 == 5; };
        run_stages(stages, threads, places_);
    }

    [[nodiscard]] std::uint64_t done(std::size_t stage) const { return done_[stage]; }
    [[nodiscard]] unsigned wrong() const { return wrong_; }

  private:
    bool begin(std::size_t place) {
        const std::uint64_t number = done_[0];
        check(lone_ == 0 || done_[kStages - 1] == number);
        if (number == kBlocks) {
            return false;
        }
        check(number - done_[kStages - 1] < places_);
        blocks_[place] = number;
        lone_ = number % 53 == 7 ? 1 : lone_.load();  // nothing begins until this block has left
        ++done_[0];
        return true;
    }

    void take(std::size_t stage, std::size_t place) {
        const std::uint64_t number = blocks_[place];
        check(number == done_[stage] && number < done_[stage - 1]);
        if (stage == 2 && number % 97 == 5) {  // an exclusive block, behind the exclusive stage
            check(done_[kStages - 1] == number);
        }
        if (stage == kStages - 1 && number % 53 == 7) {
            lone_ = 0;
        }
        ++done_[stage];
    }

    void check(bool good) { wrong_ += good ? 0 : 1; }

    std::size_t places_;
    std::vector<std::uint64_t> blocks_;
    std::array<std::atomic<std::uint64_t>, kStages> done_{};
    std::atomic<unsigned> lone_ = 0;
    std::atomic<unsigned> wrong_ = 0;
};

TEST(StageSet, take_blocks_in_order_however_many_threads_there_are) {
    for (const unsigned threads : {1U, 2U, 3U, 4U, 8U, 1000U}) {
        for (const std::size_t places : {1U, 2U, 6U}) {
            Watched watched(places);
            watched.run(threads);
            EXPECT_EQ(watched.wrong(), 0U) << threads << " threads, " << places << " places";
            for (std::size_t stage = 0; stage < kStages; ++stage) {
                EXPECT_EQ(watched.done(stage), kBlocks);
            }
        }
    }
}

TEST(StageSet, without_a_block_nothing_is_called) {
    for (const unsigned threads : {1U, 4U}) {
        StageSet stages;
        unsigned called = 0;
        stages.begin = [](std::size_t) { return false; };
        stages.can_begin = [] { return true; };
        stages.others = {[&](std::size_t) { ++called; }};
        stages.is_exclusive = [](std::size_t) { return false; };
        run_stages(stages, threads, 3);
        EXPECT_EQ(called, 0U);
    }
}

}  // namespace
}  // namespace unecho::analyze
