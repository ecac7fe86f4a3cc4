// SPDX-License-Identifier: BSD-3-Clause
// The deduplication of a packet broker of 2026, written anew from its description: one table of
// 65,536 slots behind one mutex, whatever rate and window are; a slot and what it remembers come
// from one CRC-32, so that 16 bits decide; a newer packet takes an older one's slot. Here the 32
// bits are a digest's, which is not timed; there they are a CRC of the first 128 bytes of the
// frame.
//
// Remembers at most so many keys as it has slots, those of the window as long as nothing comes
// between: of echoes that are n new keys old it misses 1 - exp(-n / 65536).
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

    // Time is in new keys.
    LockedSlots(std::uint64_t window_keys, Pages pages)
        : arena_(std::make_unique<Arena>(pages)),
          window_(window_keys),
          slots_(kSlots, Slot{}, ArenaAllocator<Slot>(*arena_)) {}

    // New keys that find their slot held by another one of the window with the same other 16 bits.
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
