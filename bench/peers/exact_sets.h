// SPDX-License-Identifier: BSD-3-Clause
// Exact peers: a hash set of digests, and a ring of them by age from which the oldest leaves the
// set when a new one arrives. The window is exactly so many new keys.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_set.h>

#include "common/row.h"
#include "common/stream.h"
#include "filters/filter.h"
#include "peers/arena.h"

namespace unecho::bench {

// A ring that returns the digest that leaves for each one that arrives.
template <typename Allocator>
class ExpiryRing {
  public:
    ExpiryRing(std::uint64_t keys, const Allocator& allocator) : digests_(keys, 0, allocator) {}

    [[nodiscard]] bool full() const noexcept { return full_; }
    [[nodiscard]] Digest oldest(std::size_t ahead) const noexcept {
        const std::size_t at = next_ + ahead;
        return digests_[at < digests_.size() ? at : at - digests_.size()];
    }
    void push(Digest digest) noexcept {
        digests_[next_] = digest;
        if (++next_ == digests_.size()) {
            next_ = 0;
            full_ = true;
        }
    }

  private:
    std::vector<Digest, Allocator> digests_;
    std::size_t next_ = 0;
    bool full_ = false;
};

template <typename Set>
class ExactSet {
  public:
    ExactSet(std::uint64_t keys, Pages pages)
        : arena_(std::make_unique<Arena>(pages)),
          set_(typename Set::allocator_type(*arena_)),
          ring_(keys, ArenaAllocator<Digest>(*arena_)) {
        set_.reserve(keys + 1);
    }

    [[nodiscard]] std::uint64_t bytes() const noexcept { return arena_->bytes(); }

    void advance(filter::Moment /*moment*/) noexcept {}
    std::uint64_t test_and_insert_burst(std::span<const Digest> digests) noexcept {
        if constexpr (requires { set_.prefetch(Digest{}); }) {
            for (std::size_t i = 0; i < digests.size(); ++i) {
                set_.prefetch(digests[i]);
                set_.prefetch(ring_.oldest(i));
            }
        }
        std::uint64_t echoes = 0;
        for (std::size_t i = 0; i < digests.size(); ++i) {
            const bool fresh = set_.insert(digests[i]).second;
            echoes |= std::uint64_t{!fresh} << i;
            if (fresh) {
                if (ring_.full()) {
                    set_.erase(ring_.oldest(0));
                }
                ring_.push(digests[i]);
            }
        }
        return echoes;
    }

  private:
    std::unique_ptr<Arena> arena_;
    Set set_;
    ExpiryRing<ArenaAllocator<Digest>> ring_;
};

using AbslSet = ExactSet<
    absl::flat_hash_set<Digest, absl::Hash<Digest>, std::equal_to<Digest>, ArenaAllocator<Digest>>>;
using StdSet = ExactSet<
    std::unordered_set<Digest, std::hash<Digest>, std::equal_to<Digest>, ArenaAllocator<Digest>>>;

}  // namespace unecho::bench
