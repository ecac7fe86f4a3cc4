// SPDX-License-Identifier: BSD-3-Clause
// Simulated clocks: a counter of a known rate, read by a thread that is sometimes preempted.
#include "appliance/timers/tsc_rate.h"

#include <random>

#include <gtest/gtest.h>

namespace unecho::appliance {
namespace {

class TestedClock {
  public:
    TestedClock(std::uint64_t hz, std::uint64_t seed) : hz_(hz), random_(seed) {}

    // Time passes in picoseconds, so readings fall anywhere between nanoseconds.
    void pass(std::uint64_t ps) { now_ += ps; }
    [[nodiscard]] std::uint64_t tsc() const {
        return kStart + static_cast<std::uint64_t>(uint128{now_} * hz_ / 1'000'000'000'000U);
    }
    [[nodiscard]] Nanoseconds time() const { return now_ / 1000; }

    ClockReading read() {
        const auto between = [&] {
            pass(10'000 + random_() % 90'000);  // 10 to 100 ns
            if (random_() % 3 == 0) {
                pass(random_() % 5'000'000'000U);  // preempted for up to 5 ms
            }
        };
        return read_clocks(
            [&] {
                between();
                return tsc();
            },
            [&] {
                between();
                return time();
            });
    }

  private:
    static constexpr std::uint64_t kStart = 987'654'321;
    std::uint64_t hz_;
    std::uint64_t now_ = 123'456;
    std::mt19937_64 random_;
};

constexpr std::uint64_t kRates[] = {1'000'000'001, 2'095'078'125, 2'494'140'000, 3'704'999'999};
constexpr std::uint64_t kMillisecondPs = 1'000'000'000;

TEST(TscRate, gives_a_clock_that_is_never_fast_and_slow_by_millionths) {
    for (const std::uint64_t hz : kRates) {
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
            TestedClock machine(hz, seed);
            const ClockReading first = machine.read();
            machine.pass(50 * kMillisecondPs);
            const ClockReading second = machine.read();
            const dataplane::TscClock clock = measured_clock(first, second);
            // The counter starts at or after the second reading.
            for (std::uint64_t step = 1; step < 4000 * kMillisecondPs; step *= 3) {
                machine.pass(step);
                const Nanoseconds real = machine.time() - second.time;
                const Nanoseconds shown = clock.at(machine.tsc());
                ASSERT_LE(shown, real + 1) << hz << ", seed " << seed;
                ASSERT_GE(shown + 1000 + real / 50'000, real) << hz << ", seed " << seed;
            }
        }
    }
}

// If the processor does not state its rate, DPDK rounds it to 10 MHz. Rounded down, it runs fast.
TEST(TscRate, rounded_to_10_mhz_would_be_fast) {
    TestedClock machine(2'494'140'000, 1);
    const auto clock = dataplane::TscClock::with_frequency(machine.tsc(), 2'490'000'000);
    const Nanoseconds begin = machine.time();
    machine.pass(1000 * kMillisecondPs);
    EXPECT_GT(clock.at(machine.tsc()), (machine.time() - begin) * 1001 / 1000);
}

TEST(TscRate, takes_the_tightest_of_several_readings) {
    std::uint64_t now = 0;
    int attempt = 0;
    const ClockReading best = read_clocks(
        [&] {
            now += attempt / 2 == 5 ? 3 : 1000;
            ++attempt;
            return now;
        },
        [&] { return now; });
    EXPECT_EQ(best.high - best.low, 3U);
    EXPECT_EQ(best.time, best.low);
}

}  // namespace
}  // namespace unecho::appliance
