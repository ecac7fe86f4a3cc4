// SPDX-License-Identifier: BSD-3-Clause
// The deduplication of a packet broker of 2026, rewritten from its description: one table of 65,536
// slots behind one mutex, for any rate and window. The slot and its content come from one CRC-32,
// so 16 bits decide. A newer packet replaces an older one in its slot. Here the 32 bits come from a
// digest, which is not timed; in the broker they are a CRC of the first 128 bytes of the frame.
//
// It remembers at most as many keys as it has slots. It misses a share of 1 - exp(-n / 65536) of
// echoes that are n new keys old.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "common/row.h"
#include "filters/filter.h"
#include "filters/hash/digest.h"
#include "peers/arena.h"

namespace unecho::bench {

class LockedSlots {
  public:
    static constexpr std::uint64_t kSlots = 1 << 16;

    // The window is a number of new keys.
    LockedSlots(std::uint64_t window_keys, Pages pages)
        : arena_(std::make_unique<Arena>(pages)),
          window_(window_keys),
          slots_(kSlots, Slot{}, ArenaAllocator<Slot>(*arena_)) {}

    // Return the share of new keys whose slot holds another key with the same other 16 bits.
    [[nodiscard]] static double false_positives(std::uint64_t window_keys) {
        return -std::expm1(-static_cast<double>(window_keys) / kSlots) * 0x1p-16;
    }
    [[nodiscard]] std::uint64_t bytes() const noexcept { return arena_->bytes(); }

    void advance(filter::Moment /*moment*/) noexcept {}
    std::uint64_t test_and_insert_burst(std::span<const Digest> digests) {
        std::uint64_t echoes = 0;
        for (std::size_t i = 0; i < digests.size(); ++i) {
            echoes |= std::uint64_t{test_and_insert(static_cast<std::uint32_t>(digests[i]))} << i;
        }
        return echoes;
    }

  private:
    struct Slot {
        std::uint32_t crc = 0;
        std::uint64_t until = 0;
    };

    bool test_and_insert(std::uint32_t crc) {
        const std::lock_guard lock(*mutex_);
        Slot& slot = slots_[crc % kSlots];
        if (slot.crc == crc && now_ < slot.until) {
            return true;
        }
        slot = {crc, now_++ + window_};
        return false;
    }

    std::unique_ptr<Arena> arena_;
    std::uint64_t window_;
    std::uint64_t now_ = 0;
    std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
    std::vector<Slot, ArenaAllocator<Slot>> slots_;
};

}  // namespace unecho::bench
