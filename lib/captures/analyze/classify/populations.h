// SPDX-License-Identifier: BSD-3-Clause
// Which populations are seen twice, judged when all was seen: those of filter/repeats/
// mirror_evidence.h, by their MAC addresses, with its bounds. What `unecho pcap` learns in its
// first reading.
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

// Second looks are at most so old; a longer same_port is not recommended.
inline constexpr std::array<Nanoseconds, 6> kSecondLookSteps{250 * kMicrosecond, kMillisecond,
                                                             4 * kMillisecond,   16 * kMillisecond,
                                                             64 * kMillisecond,  kMaxPathDelay};
inline constexpr std::size_t kSteps = kSecondLookSteps.size();

// Looks at what the same point saw soon before, by age, up to each of the steps from the one
// before.
using LooksAgain = std::array<Count, kSteps>;

struct Population {
    std::uint64_t packets = 0;
    std::array<std::uint64_t, kSteps> second{};  // of these, second looks by age
    std::uint64_t elsewhere = 0;  // second looks at another point than the first was at
    // Of the second looks those that repeats = "keep" asks evidence for.
    LooksAgain packets_asked{};
    LooksAgain frames_asked{};  // without an IP packet

    void add(const Population& more) {
        packets += more.packets;
        elsewhere += more.elsewhere;
        for (std::size_t i = 0; i < kSteps; ++i) {
            second[i] += more.second[i];
            packets_asked[i] += more.packets_asked[i];
            frames_asked[i] += more.frames_asked[i];
        }
    }
    // Whether most packets have a second look, where these may be as old as this step.
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

// So many at the most, fewer where there is little memory; those beyond are never doubled.
class Populations {
  public:
    // memory: of the whole analysis.
    explicit Populations(std::uint64_t memory = UINT64_MAX) : most_(most(memory)) {}

    // population: of Dissected, and of its interface.
    [[nodiscard]] Population& of(std::uint64_t population) {
        // Most packets are of the population of the one before, or of its other direction.
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

    // An entry has the second looks that are as old as its step at the most: those of all
    // populations, or of those alone that are seen twice.
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

    // Whether points beside that of a first look show packets twice, too: hardly any looks there
    // are of others.
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

    // A packet that is sent again is taken for a second look where both it and the one before have
    // none: by chance, where a mirror loses some, and together where it shows some flows.
    [[nodiscard]] static double chance_unshown(double shown) noexcept {
        constexpr double kShowsAll = 0.75;
        return shown >= kShowsAll ? (1 - shown) * (1 - shown) : 1 - shown;
    }

    static constexpr std::uint64_t kEach = sizeof(Population) + 32;  // with links and bucket
    [[nodiscard]] static std::uint64_t most(std::uint64_t memory) noexcept {
        constexpr std::uint64_t kFewest = 64;
        constexpr std::uint64_t kMost = 4096;
        return std::clamp(memory / 128 / kEach, kFewest, kMost);
    }

    // Of these populations, not of a copy's.
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
