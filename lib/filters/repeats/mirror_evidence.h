// SPDX-License-Identifier: BSD-3-Clause
// MirrorEvidence: which populations (port group and MAC addresses) a mirror of both directions
// shows twice. Such a mirror doubles nearly all packets of a population. A sender that repeats
// everything looks the same; a sender that repeats some packets does not.
//
//   first    first looks of points at transmissions
//   doubled  those that had a second look within same_port
//   even     those whose key came again at the same point within twice the distance of both looks,
//            as in a sender's cycle or a burst; they count in neither of the two above
//
// A population is doubled if first >= 32, doubled > 3/4 first and first > 1/4 (first + even). When
// first + even exceeds 1024, all three are halved, so that the numbers follow changes.
//
// At most `populations` are remembered; in a full set the one seen least is replaced. A forgotten
// population is learned again, and its second looks are kept meanwhile.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/assert.h"
#include "filters/hash/digest.h"
#include "filters/storage.h"

namespace unecho::filter {

class MirrorEvidence {
  public:
    struct Population {
        std::uint64_t key;  // 0: unused
        double first;
        double doubled;
        double even;

        void look() noexcept {
            first += 1;
            if (first + even > 1024) {
                first /= 2;
                doubled /= 2;
                even /= 2;
            }
        }
        [[nodiscard]] bool is_doubled() const noexcept {
            // planted: rule-believes-at-once, rule-believes-half
            return first >= 32 && doubled > 0.75 * first && first > 0.25 * (first + even);
        }
    };

    // populations: a power of two, at least kWays; or 0 if of() is never called.
    [[nodiscard]] static std::uint64_t bytes(std::uint64_t populations) noexcept {
        return populations * sizeof(Population);
    }
    static constexpr std::uint64_t kWays = 4;

    MirrorEvidence(std::uint64_t populations, std::span<std::byte> memory,
                   Contents contents) noexcept
        : entries_(carve<Population>(memory, 0, populations)), count_(populations) {
        if (contents == Contents::kRestored) {
            for (Population& one : std::span(entries_, count_)) {
                if (!is_sound(one)) {
                    one = {};
                }
            }
        }
    }

    [[nodiscard]] Population& of(std::uint64_t population) noexcept {
        const std::uint64_t key = population == 0 ? 1 : population;  // 0: unused
        Population* const set = entries_ + reduce(remix(key, 1), count_ / kWays) * kWays;
        Population* least = set;
        for (Population* one = set; one != set + kWays; ++one) {
            if (one->key == key) {
                return *one;
            }
            if (seen(*one) < seen(*least)) {
                least = one;
            }
        }
        *least = {key, 0, 0, 0};
        return *least;
    }

    [[nodiscard]] std::span<const Population> all() const noexcept { return {entries_, count_}; }
    void take(std::span<const Population> others) noexcept {
        UNECHO_ASSERT(others.size() == count_);
        std::copy_n(others.data(), count_, entries_);
    }

  private:
    // An unused entry is chosen before any other.
    [[nodiscard]] static double seen(const Population& one) noexcept {
        return one.key == 0 ? -1 : one.first + one.even;
    }
    [[nodiscard]] static bool is_sound(const Population& one) noexcept {
        const auto in_range = [](double count) { return count >= 0 && count <= 2048; };
        return in_range(one.first) && in_range(one.doubled) && in_range(one.even);
    }

    Population* entries_;
    std::uint64_t count_;
};

}  // namespace unecho::filter
