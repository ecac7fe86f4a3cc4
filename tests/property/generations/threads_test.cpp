// SPDX-License-Identifier: BSD-3-Clause
// Rotation timer and worker on two real threads and the machine's clock, both stalled at random.
// Must be clean under a thread sanitizer.
#include <array>
#include <atomic>
#include <chrono>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <type_traits>

#include <gtest/gtest.h>

#include "appliance/timers/rotation_timer.h"
#include "filters/ageing.h"
#include "property/generations/lane.h"
#include "support/seed.h"

namespace unecho::test {
namespace {

constexpr unsigned kThreadKeys = 32;
constexpr std::uint64_t kGenerations = 3000;
constexpr Nanoseconds kLength = 60 * kMicrosecond;

// One cycle of the counter is taken for 1 ns: the real length of a window does not matter here.
Nanoseconds cycles() {
#ifdef __x86_64__
    return __builtin_ia32_rdtsc();
#else
    return static_cast<Nanoseconds>(std::chrono::steady_clock::now().time_since_epoch() /
                                    std::chrono::nanoseconds(1));
#endif
}

// Stalls: mostly none, otherwise some microseconds of spinning, or a sleep of many generations.
class Stalls {
  public:
    explicit Stalls(std::uint64_t seed) : random_(seed) {}

    void maybe() {
        const std::uint64_t draw = random_() % 2048;
        if (draw == 0) {
            std::this_thread::sleep_for(std::chrono::microseconds(random_() % 400));
        } else if (draw < 24) {
            const Nanoseconds until = cycles() + random_() % (2 * kLength);
            while (cycles() < until) {
            }
        }
    }
    std::uint64_t draw() { return random_(); }

  private:
    std::mt19937_64 random_;
};

struct WorkerFindings {
    std::uint64_t echoes_due = 0;
    std::uint64_t news = 0;  // answered as new for keys seen before
    Nanoseconds oldest_echo = 0;
    std::string wrong;
};

template <typename F>
WorkerFindings work(const Shape& shape, const dataplane::FilterShared& shared, TestedLane<F>& lane,
                    const std::atomic<bool>& stop) {
    Stalls stalls(seed() + 1);
    WorkerFindings out;
    std::array<std::optional<Nanoseconds>, kThreadKeys> inserted;
    std::uint64_t adopted = 0;
    filter::Ageing ageing(
        {.window = shape.l * kLength, .length = kLength, .retained_generations = shape.l});
    while (!stop.load(std::memory_order_acquire) && out.wrong.empty()) {
        stalls.maybe();
        const Nanoseconds now = cycles();
        stalls.maybe();
        const filter::Moment moment = ageing.advance_to({now, shared.turns});
        stalls.maybe();
        lane.maintain();
        lane.filter().advance(moment);
        if (moment.generation != adopted) {
            lane.exchange();
            adopted = moment.generation;
        }
        const std::size_t key = stalls.draw() % kThreadKeys;
        const bool echo = lane.filter().test_and_insert(remix(key, 5));
        if (inserted[key]) {
            const Nanoseconds age = moment.now - *inserted[key];
            out.echoes_due += age < shape.l * kLength ? 1 : 0;
            out.news += echo ? 0 : 1;
            out.oldest_echo = echo ? std::max(out.oldest_echo, age) : out.oldest_echo;
            if (age < shape.l * kLength && !echo) {
                out.wrong = "a miss at age " + std::to_string(age);
            }
        }
        if (!echo) {
            inserted[key] = moment.now;
        }
    }
    return out;
}

template <typename F>
class GenerationThreads : public testing::Test {};
using Filters = testing::Types<filter::Apbf, filter::Apbbf, filter::LineFilter>;
TYPED_TEST_SUITE(GenerationThreads, Filters);

TYPED_TEST(GenerationThreads, never_miss_inside_the_window_and_forget_behind_slack_and_delays) {
    SCOPED_TRACE(seed_note());
    const Shape shape = std::is_same_v<TypeParam, filter::LineFilter>
                            ? Shape{2 * 4, 6 * 4, filter::EchoPolicy::kFixed}
                            : Shape{4, 5, filter::EchoPolicy::kFixed};
    dataplane::FilterShared shared;
    TestedLane<TypeParam> lane(shape);
    appliance::RotationTimer rotation(shared, kLength, cycles());
    std::atomic<bool> stop{false};

    WorkerFindings found;
    std::thread worker([&] { found = work(shape, shared, lane, stop); });
    Stalls stalls(seed());
    const auto stalled_clock = [&] {
        stalls.maybe();
        const Nanoseconds now = cycles();
        stalls.maybe();
        return now;
    };
    while (shared.turns < kGenerations) {
        rotation.tick(stalled_clock);
        lane.zeroer().step();
    }
    stop.store(true, std::memory_order_release);
    worker.join();
    // Turn once more, so that the last generation that the worker saw is over too.
    while (!rotation.tick(cycles)) {
    }

    EXPECT_EQ(found.wrong, "");
    EXPECT_LE(found.oldest_echo, (shape.l + shape.k) * rotation.longest() + kMicrosecond);
    EXPECT_GT(found.echoes_due, 1000U);
    EXPECT_GT(found.news, 100U);
    EXPECT_EQ(lane.zeroer().zeroed() > 0U, TestedLane<TypeParam>::kSegmented);
}

}  // namespace
}  // namespace unecho::test
