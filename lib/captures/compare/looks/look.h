// SPDX-License-Identifier: BSD-3-Clause
// Looks: a look is a packet as one point of observation captured it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/os/mapped_memory.h"
#include "base/prefetch.h"
#include "base/result.h"
#include "base/units.h"
#include "filters/hash/digest.h"
#include "packets/keys/cause.h"

namespace unecho::compare {

struct Look {
    Digest digest = 0;                 // of the packet, equal at all points
    Nanoseconds time = 0;              // since 1970, by the point's clock
    packet::FrameTraits traits;        // what may change on the way
    std::uint32_t flow = 0;            // FlowTable::kNone: none
    std::uint32_t tunnel = 0;          // a hash of the tunnels around it; 0: none
    std::uint64_t number : 48 = 0;     // in its file, from 1
    std::uint64_t point : 8 = 0;       // index of the point
    std::uint64_t identified : 1 = 0;  // the packet says which transmission it is
    std::uint64_t duplicate : 1 = 0;   // the point showed this transmission before
    std::uint64_t cut : 1 = 0;         // bytes that count were not captured
};
static_assert(sizeof(Look) == 48);  // it decides how many fit into memory

using LookIndex = std::uint32_t;

// The looks of all inputs. Each input has a segment of equal capacity, so that inputs can be read
// at the same time. Memory is taken as looks are added.
class LookStore {
  public:
    // contents: a second digest belongs to each look (content.h). Errc::kNoMemory.
    static Result<LookStore> make(std::size_t inputs, std::uint64_t most_of_each, bool contents);

    static constexpr std::uint64_t bytes_per_look(bool contents) {
        return sizeof(Look) + (contents ? sizeof(Digest) : 0);
    }

    void add(std::size_t input, const Look& look, Digest content) {
        const std::uint64_t at = input * most_ + counts_[input]++;
        looks_[at] = look;
        if (contents_ != nullptr) {
            contents_[at] = content;
        }
    }
    // 0: none. Only with contents.
    [[nodiscard]] Digest content(LookIndex index) const { return contents_[index]; }

    // Keep only the looks for which keep(Look&, content) returns true.
    template <typename Keep>
    void filter(std::size_t input, Keep keep) {
        const std::uint64_t first = input * most_;
        std::uint64_t count = 0;
        for (std::uint64_t i = 0; i < counts_[input]; ++i) {
            if (!keep(looks_[first + i], contents_ == nullptr ? 0 : contents_[first + i])) {
                continue;
            }
            looks_[first + count] = looks_[first + i];
            if (contents_ != nullptr) {
                contents_[first + count] = contents_[first + i];
            }
            ++count;
        }
        counts_[input] = count;
    }
    [[nodiscard]] std::span<Look> of(std::size_t input) {
        return {looks_ + input * most_, counts_[input]};
    }
    [[nodiscard]] std::uint64_t most_of_each() const { return most_; }

    [[nodiscard]] std::size_t inputs() const { return counts_.size(); }
    [[nodiscard]] LookIndex first_of(std::size_t input) const {
        return static_cast<LookIndex>(input * most_);
    }
    [[nodiscard]] std::uint64_t count_of(std::size_t input) const { return counts_[input]; }
    [[nodiscard]] std::uint64_t count() const;
    // One more than the largest index.
    [[nodiscard]] std::uint64_t end() const { return counts_.size() * most_; }

    [[nodiscard]] Look& operator[](LookIndex index) { return looks_[index]; }
    [[nodiscard]] const Look& operator[](LookIndex index) const { return looks_[index]; }

  private:
    LookStore(MappedMemory memory, std::size_t inputs, std::uint64_t most, bool contents);

    MappedMemory memory_;
    Look* looks_;
    Digest* contents_;  // null: none
    std::uint64_t most_;
    std::vector<std::uint64_t> counts_;
};

// The looks at each key, those of one key beside each other: by point, then in the order in which
// the point captured them.
class KeyGroups {
  public:
    explicit KeyGroups(const LookStore& looks);

    // Call visit(std::span<const LookIndex>) for each key. The looks are prefetched.
    template <typename Visit>
    void for_each(Visit visit) const {
        constexpr std::size_t kAhead = 16;
        std::size_t fetched = 0;
        for (std::size_t i = 0; i + 1 < begins_.size(); ++i) {
            const std::size_t end = begins_[i + 1];
            for (; fetched < std::min(end + kAhead, order_.size()); ++fetched) {
                prefetch_line(&(*looks_)[order_[fetched]]);
            }
            visit(std::span(order_).subspan(begins_[i], end - begins_[i]));
        }
    }

    // Return the number of keys.
    [[nodiscard]] std::size_t count() const { return begins_.size() - 1; }

    // Bytes per look that making and judging the groups takes.
    static constexpr std::uint64_t kBytesPerLook = 48;

  private:
    const LookStore* looks_;
    std::vector<LookIndex> order_;
    std::vector<std::uint32_t> begins_;
};

}  // namespace unecho::compare
