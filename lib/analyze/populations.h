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
#include <utility>

#include "analyze/report.h"

namespace unecho::analyze {

// Looks at what the same point saw soon before, by how often it did.
struct LooksAgain {
    Count all;
    Count beyond_two;   // third looks and later ones
    Count beyond_four;  // fifth ones and later ones

    // views: so many times, with this one.
    void add(std::uint64_t length, std::uint64_t views) {
        all.add(length);
        if (views > 2) {
            beyond_two.add(length);
        }
        if (views > 4) {
            beyond_four.add(length);
        }
    }
    void add(const LooksAgain& more) {
        all += more.all;
        beyond_two += more.beyond_two;
        beyond_four += more.beyond_four;
    }

    template <typename Io>
    void state(Io& io) {
        io(all, beyond_two, beyond_four);
    }
};

struct Population {
    std::uint64_t packets = 0;
    std::uint64_t second = 0;  // of these, second looks: soon behind one at the same point
    // Of the second looks those that repeats = "keep" asks evidence for.
    LooksAgain packets_asked;
    LooksAgain frames_asked;  // without an IP packet

    void add(const Population& more) {
        packets += more.packets;
        second += more.second;
        packets_asked.add(more.packets_asked);
        frames_asked.add(more.frames_asked);
    }
    [[nodiscard]] bool is_doubled() const noexcept {
        constexpr std::uint64_t kLeast = 32;
        const std::uint64_t first = packets - second;
        return first >= kLeast && 4 * second > 3 * first;
    }

    template <typename Io>
    void state(Io& io) {
        io(packets, second, packets_asked, frames_asked);
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

    // Second looks that go where repeats are kept.
    [[nodiscard]] std::pair<LooksAgain, LooksAgain> doubled() const {
        std::pair<LooksAgain, LooksAgain> sum;
        for (const auto& [key, one] : all_) {
            if (one.is_doubled()) {
                sum.first.add(one.packets_asked);
                sum.second.add(one.frames_asked);
            }
        }
        return sum;
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
