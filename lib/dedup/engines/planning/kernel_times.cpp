// SPDX-License-Identifier: BSD-3-Clause
#include "dedup/engines/planning/kernel_times.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "filters/window/line.h"

namespace unecho::engines {
namespace {

// A narrower kernel must take less than this share of the time: all else is within the noise.
constexpr double kClearly = 0.95;

// 64 KiB with three lines a key, as planned for the default bound.
constexpr filter::LineSpec kMeasured{.M = 3, .k = 2, .b = 4, .phases = 1, .lines = 1024};
constexpr float kLimit = 1e-6F;

constexpr std::size_t kBurst = 32;
constexpr unsigned kBurstsOfRound = 32;
constexpr unsigned kRoundsOfGeneration = 3;  // until it is as full as it would be sized
// A CPU lowers its clock within some ten microseconds and raises it again after most of a
// millisecond. So warm rounds come first, the median of the others counts, and narrower kernels are
// measured first.
constexpr unsigned kWarmRounds = 9;
constexpr unsigned kRounds = 36;

struct alignas(64) Line {
    std::byte bytes[64];
};

class Measurement {
  public:
    explicit Measurement(const filter::LineParams& params)
        : memory_(filter::LineFilter::bytes(params) / sizeof(Line) + 1),
          filter_(params, std::as_writable_bytes(std::span(memory_))) {}

    // Return the nanoseconds of a packet.
    double median() {
        std::vector<double> rounds;
        for (unsigned i = 0; i < kWarmRounds + kRounds; ++i) {
            const double ns = round();
            if (i >= kWarmRounds) {
                rounds.push_back(ns);
            }
            if (i % kRoundsOfGeneration == 0) {
                filter_.advance({0, ++generation_});
            }
        }
        const auto middle = rounds.begin() + kRounds / 2;
        std::nth_element(rounds.begin(), middle, rounds.end());
        return *middle;
    }

  private:
    double round() {
        using Clock = std::chrono::steady_clock;
        const Clock::time_point begin = Clock::now();
        for (unsigned i = 0; i < kBurstsOfRound; ++i) {
            burst();
        }
        const std::chrono::duration<double, std::nano> took = Clock::now() - begin;
        return took.count() / (kBurst * kBurstsOfRound);
    }

    void burst() {
        Digest digests[kBurst];
        for (Digest& digest : digests) {
            // Without a branch: only the kernels' own should count. No predictor learns this coin.
            const std::uint64_t echo = 0 - (remix(++number_, 1) & 1);
            std::uint64_t& earlier = earlier_[number_ % (2 * kBurst)];
            earlier = (earlier & echo) | (remix(number_, 2) & ~echo);
            digest = earlier;
        }
        static_cast<void>(filter_.test_and_insert_burst(digests, filter::ChanceLimits(kLimit)));
    }

    std::vector<Line> memory_;
    filter::LineFilter filter_;
    std::uint64_t number_ = 0;
    std::uint64_t earlier_[2 * kBurst] = {};
    std::uint64_t generation_ = 0;
};

}  // namespace

filter::Isa KernelTimes::fastest(filter::Isa most) const {
    filter::Isa best = most;
    for (std::size_t isa = static_cast<std::size_t>(most); isa-- > 0;) {
        if (ns.at(isa) < kClearly * of(best)) {
            best = static_cast<filter::Isa>(isa);
        }
    }
    return best;
}

KernelTimes measure_kernels() {
    KernelTimes times;
    for (const filter::IsaRow& row : filter::kIsas) {
        filter::LineSpec spec = kMeasured;
        spec.isa = row.isa;
        if (const auto params = filter::LineParams::make(spec); params) {
            times.ns.at(static_cast<std::size_t>(row.isa)) = Measurement(*params).median();
        }
    }
    return times;
}

}  // namespace unecho::engines
