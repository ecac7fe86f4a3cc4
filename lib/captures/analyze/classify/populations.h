// SPDX-License-Identifier: BSD-3-Clause
// Populations that are seen twice, judged after all packets were seen: those of
// filters/repeats/mirror_evidence.h, by MAC addresses, with its bounds. `unecho pcap` learns the
// same in its first pass.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "captures/analyze/classify/copy_classifier.h"
#include "captures/analyze/report/report.h"

namespace unecho::analyze {

// Upper bounds for the age of second looks; no longer same_port is recommended.
inline constexpr std::array<Nanoseconds, 6> kSecondLookSteps{250 * kMicrosecond, kMillisecond,
                                                             4 * kMillisecond,   16 * kMillisecond,
                                                             64 * kMillisecond,  kMaxPathDelay};
inline constexpr std::size_t kSteps = kSecondLookSteps.size();

// Looks at what the same point saw shortly before, by age: each step counts from the one before.
using LooksAgain = std::array<Count, kSteps>;

struct Population {
    std::uint64_t packets = 0;
    std::array<std::uint64_t, kSteps> second{};  // of these, second looks by age
    std::uint64_t elsewhere = 0;  // second looks at another point than that of the first
    // Second looks for which repeats = "keep" needs evidence.
    LooksAgain packets_asked{};
    LooksAgain frames_asked{};  // of frames without an IP packet

    void add(const Population& more) {
        packets += more.packets;
        elsewhere += more.elsewhere;
        for (std::size_t i = 0; i < kSteps; ++i) {
            second[i] += more.second[i];
            packets_asked[i] += more.packets_asked[i];
            frames_asked[i] += more.frames_asked[i];
        }
    }
    // Return true if most packets have a second look no older than this step.
    [[nodiscard]] bool is_doubled(std::size_t step) const noexcept {
        constexpr std::uint64_t kLeast = 32;
        return first(step) >= kLeast && 4 * (packets - first(step)) > 3 * first(step);
    }
    [[nodiscard]] std::uint64_t first(std::size_t step) const noexcept {
        std::uint64_t out = packets;
        for (std::size_t i = 0; i <= step; ++i) {
            out -= second[i];
        }
        return out;
    }

    template <typename Io>
    void state(Io& io) {
        io(packets, second, elsewhere, packets_asked, frames_asked);
    }
};

// Counts by population. Memory bounds their number; those beyond are never taken for doubled.
class Populations {
  public:
    // memory: bytes of the whole analysis.
    explicit Populations(std::uint64_t memory = UINT64_MAX) : most_(most(memory)) {}

    // population: Dissected::population, combined with the interface.
    [[nodiscard]] Population& of(std::uint64_t population) {
        // Most packets belong to the population of the one before, or to its other direction.
        Recent& recent = recent_[population & 1];
        if (recent.of == nullptr || recent.population != population) {
            const auto found = all_.find(population);
            recent.of = found != all_.end()   ? &found->second
                        : all_.size() < most_ ? &all_[population]
                                              : &others_;
            recent.population = population;
        }
        return *recent.of;
    }

    void add(const Populations& more) {
        for (const auto& [key, one] : more.all_) {
            of(key).add(one);
        }
        others_.add(more.others_);
    }

    // Return an entry for each step, with the second looks up to that age: of all populations, or
    // only of those that are seen twice.
    [[nodiscard]] std::vector<DoubledLooks> seen_twice(LooksAgain Population::*asked,
                                                       packet::SecondLooks which) const {
        std::vector<DoubledLooks> out;
        for (std::size_t step = 0; step < kSteps; ++step) {
            DoubledLooks& sum = out.emplace_back();
            sum.within = kSecondLookSteps[step];
            const auto add = [&](const Population& one) {
                if (which == packet::SecondLooks::kAll || one.is_doubled(step)) {
                    add_to(sum, one, asked, step);
                }
            };
            for (const auto& [key, one] : all_) {
                add(one);
            }
            if (which == packet::SecondLooks::kAll) {
                add(others_);
            }
        }
        return out;
    }

    // Return true if points other than that of the first look show packets twice, too: hardly any
    // looks there belong to other populations.
    [[nodiscard]] bool is_doubled_elsewhere() const {
        constexpr std::uint64_t kNearly = 5;  // in six
        std::uint64_t doubled = 0;
        std::uint64_t others = others_.elsewhere;
        for (const auto& [key, one] : all_) {
            (one.is_doubled(kSteps - 1) ? doubled : others) += one.elsewhere;
        }
        return doubled > kNearly * others;
    }

    [[nodiscard]] static std::uint64_t most_bytes(std::uint64_t memory) noexcept {
        return most(memory) * kEach;
    }
    [[nodiscard]] std::uint64_t bytes() const noexcept { return all_.size() * kEach; }

    template <typename Io>
    void state(Io& io) {
        std::map<std::uint64_t, Population> some(all_.begin(), all_.end());
        io(some, others_);
        all_ = {some.begin(), some.end()};
        recent_ = {};
    }

  private:
    static void add_to(DoubledLooks& sum, const Population& one, LooksAgain Population::*asked,
                       std::size_t step) {
        if (one.packets == 0) {
            return;
        }
        const auto second = static_cast<double>(one.packets - one.first(step));
        const auto first = static_cast<double>(std::max<std::uint64_t>(one.first(step), 1));
        for (std::size_t i = 0; i <= step; ++i) {
            sum.all += (one.*asked)[i];
        }
        sum.first += first;
        sum.second += second;
        sum.by_views += second * (1 + second / first);
        sum.unshown += first * chance_unshown(std::min(1.0, second / first));
    }

    // Return the chance that a repeat is taken for a second look: neither it nor the packet before
    // has one. These coincide if a mirror shows some flows, but not if it loses some packets.
    [[nodiscard]] static double chance_unshown(double shown) noexcept {
        constexpr double kShowsAll = 0.75;
        return shown >= kShowsAll ? (1 - shown) * (1 - shown) : 1 - shown;
    }

    static constexpr std::uint64_t kEach = sizeof(Population) + 32;  // 32: links and bucket
    [[nodiscard]] static std::uint64_t most(std::uint64_t memory) noexcept {
        constexpr std::uint64_t kFewest = 64;
        constexpr std::uint64_t kMost = 4096;
        return std::clamp(memory / 128 / kEach, kFewest, kMost);
    }

    // Pointers into this object, so a copy begins without them.
    struct Recent {
        Recent() = default;
        Recent(const Recent& /*other*/) noexcept {}
        Recent& operator=(const Recent& /*other*/) noexcept {
            of = nullptr;
            return *this;
        }
        ~Recent() = default;

        std::uint64_t population = 0;
        Population* of = nullptr;
    };

    std::uint64_t most_;
    std::array<Recent, 2> recent_;
    std::unordered_map<std::uint64_t, Population> all_;
    Population others_;
};

}  // namespace unecho::analyze
