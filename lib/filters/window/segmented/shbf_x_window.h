// SPDX-License-Identifier: BSD-3-Clause
// "The first n packets of a flow pass in each window" with the Shifting Bloom Filter for
// multiplicity: 1 + l segments, each a ShBF_X that holds how many packets of each flow passed in
// its generation. A flow costs one query of each segment, whatever n is, where n slots in another
// filter (first_packets.h) cost n.
//
// With EchoPolicy::kFixed a flow's count is the sum over all segments; a packet passes iff it is
// below n, and then raises what the youngest segment says by one. With kRefresh the count is the
// largest of all segments, and every packet, a dropped one too, writes it to the youngest (at most
// n, one more than it was): a flow is dropped until it has been silent for a window.
// There are no counters: the bits of smaller multiplicities stay, as the largest candidate counts.
// A packet that is written therefore sets at most k bits more, and no two of a flow's share any.
//
// Guarantee: a packet that passed in generation j counts through generation j + l, under kRefresh
//   from the flow's last packet on, so that no more than n pass in a window; from j + l + 1 on it
//   does not. n is the same in every call.
// Cost: a new flow reads about 1 + log2 n windows of each segment at fill 1/2, fewer below, and
//   writes k; one that is through reads k in the segments that it passed in, and stops at the last
//   of them. One load in 9 touches two lines. (1 + l + spares) * m bits.
// Accuracy: in a segment of fill f some multiplicity matches a foreign flow by chance with
//   1 - (1 - f^k)^n, equations (17) and (18), where the segment's packets are one of a flow each,
//   f = 1 - (1 - 1/m)^(k g) for g packets; several of a flow set runs of bits, and fewer flows
//   have a match. A packet is held back wrongly only if one of the segments has one.
// Weakness: each of the n multiplicities in each segment may match, so k is larger than that of a
//   plain filter by log2 n. A count that was too large by chance stays so while the segment lives,
//   under kRefresh while the flow does: if its first packets come a window apart, that makes its
//   n-th up to n times as likely to be held back.
// References: Shifting Bloom Filter, section 5; the ageing is that of Age-Partitioned Bloom
//   Filters, section 5.1, with k = 1.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "filters/filter.h"
#include "filters/hash/digest.h"
#include "filters/sets/shifting/shbf_shape.h"
#include "filters/sets/shifting/shbf_x.h"
#include "filters/storage.h"
#include "filters/window/segment_ring.h"

namespace unecho::filter {

struct ShbfXWindowSpec {
    unsigned k = 0;       // bits of a packet in a segment
    unsigned l = 0;       // generations of the window
    std::uint64_t m = 0;  // bits of a segment (without padding)
    unsigned c = 0;       // largest n
    unsigned spares = kDefaultSpares;
    EchoPolicy policy = EchoPolicy::kFixed;
};

// A spec that was checked.
class ShbfXWindowParams {
  public:
    static Result<ShbfXWindowParams> make(const ShbfXWindowSpec& spec);

    [[nodiscard]] unsigned k() const noexcept { return spec_.k; }
    [[nodiscard]] unsigned l() const noexcept { return spec_.l; }
    [[nodiscard]] std::uint64_t m() const noexcept { return spec_.m; }
    [[nodiscard]] unsigned c() const noexcept { return spec_.c; }
    [[nodiscard]] EchoPolicy policy() const noexcept { return spec_.policy; }
    [[nodiscard]] RingGeometry ring() const noexcept {
        return {1, spec_.l, spec_.spares, shifting_bytes(spec_.m)};
    }

  private:
    explicit ShbfXWindowParams(const ShbfXWindowSpec& spec) noexcept : spec_(spec) {}
    ShbfXWindowSpec spec_;
};

class ShbfXWindow {
  public:
    // What the constructor's memory must hold; line-aligned, zeroed.
    [[nodiscard]] static std::size_t bytes(const ShbfXWindowParams& params) noexcept {
        return params.ring().bytes();
    }

    ShbfXWindow(const ShbfXWindowParams& params, std::span<std::byte> memory,
                Contents contents = Contents::kZero) noexcept
        : params_(params), ring_(params.ring(), memory, contents) {}
    [[nodiscard]] static bool is_consistent(const ShbfXWindowParams& params,
                                            std::span<std::byte> memory) noexcept {
        return SegmentRing::is_consistent(params.ring(), memory);
    }

    // True for an echo: n packets of the flow passed already. n is 1 to c. others: how many of them
    // another filter knows of.
    bool test_and_insert_first(Digest digest, unsigned n, unsigned others = 0) noexcept;
    // Bit i is the answer for digests[i], as one by one.
    std::uint64_t test_and_insert_first_burst(std::span<const Digest> digests, unsigned n) noexcept;

    // As a filter that only knows whether a digest was there.
    bool test_and_insert(Digest digest) noexcept { return test_and_insert_first(digest, 1); }
    std::uint64_t test_and_insert_burst(std::span<const Digest> digests) noexcept {
        return test_and_insert_first_burst(digests, 1);
    }

    void prefetch(Digest digest) const noexcept;
    void advance(Moment moment) noexcept { ring_.advance(moment.generation, counters_); }
    void clear() noexcept { ring_.clear(counters_); }

    // The two halves of test_and_insert_first, without a decision: the flow's packets, exact up to
    // n and at least n beyond (but for chance), and one packet more.
    [[nodiscard]] unsigned count(Digest digest, unsigned n) const noexcept {
        return total(digest, n, largest(0, digest, n));
    }
    void insert(Digest digest, unsigned n) noexcept;

    // What the present generation took: packets that set a bit of the youngest segment.
    [[nodiscard]] std::uint64_t load() const noexcept { return ring_.changes(0); }

    [[nodiscard]] const ShbfXWindowParams& params() const noexcept { return params_; }
    [[nodiscard]] const FilterCounters& counters() const noexcept { return counters_; }
    // For the exchange of retired segments with a helper.
    [[nodiscard]] SegmentRing& segments() noexcept { return ring_; }

  private:
    [[nodiscard]] bool refreshes() const noexcept {
        return params_.policy() == EchoPolicy::kRefresh;
    }
    // A digest's hash in the segment of a slot.
    [[nodiscard]] std::uint64_t hash_of(Digest digest, unsigned slot) const noexcept {
        return remix(digest, ring_.identity(slot));
    }
    [[nodiscard]] unsigned largest(unsigned slot, Digest digest, unsigned n) const noexcept;
    [[nodiscard]] unsigned total(Digest digest, unsigned n, unsigned youngest) const noexcept;
    void write(Digest digest, unsigned before, unsigned multiplicity) noexcept;

    ShbfXWindowParams params_;
    FilterCounters counters_;
    SegmentRing ring_;
};

static_assert(SlidingFilter<ShbfXWindow>);
static_assert(RestorableFilter<ShbfXWindow, ShbfXWindowParams>);

// The largest multiplicity up to n whose bits are all set in a segment, 0 if there is none.
inline unsigned ShbfXWindow::largest(unsigned slot, Digest digest, unsigned n) const noexcept {
    UNECHO_ASSERT(n >= 1 && n <= params_.c());
    const std::byte* const segment = ring_.segment(slot);
    if (segment == nullptr) {
        return 0;
    }
    const std::uint64_t hash = hash_of(digest, slot);
    std::uint64_t found = (std::uint64_t{1} << n) - 1;
    for (unsigned i = 0; i < params_.k() && found != 0; ++i) {
        found &= load_bits(segment, first_bit_of(hash, i, params_.m()));
    }
    return static_cast<unsigned>(std::bit_width(found));
}

// The count, given the youngest segment's part; what is beyond n is not looked for.
inline unsigned ShbfXWindow::total(Digest digest, unsigned n, unsigned youngest) const noexcept {
    unsigned sum = youngest;
    for (unsigned slot = 1; slot < ring_.slots() && sum < n; ++slot) {
        const unsigned here = largest(slot, digest, n);
        sum = refreshes() ? std::max(sum, here) : sum + here;
    }
    return sum;
}

// To the youngest segment, which says `before` so far.
inline void ShbfXWindow::write(Digest digest, unsigned before, unsigned multiplicity) noexcept {
    ++counters_.insertions;
    if (multiplicity == before) {
        return;
    }
    std::byte* const segment = ring_.segment(0);
    const std::uint64_t hash = hash_of(digest, 0);
    const std::uint64_t bit = std::uint64_t{1} << (multiplicity - 1);
    std::uint64_t clear = 0;
    for (unsigned i = 0; i < params_.k(); ++i) {
        clear |= or_bits(segment, first_bit_of(hash, i, params_.m()), bit);
    }
    ring_.count_change(0, clear != 0);
}

inline void ShbfXWindow::insert(Digest digest, unsigned n) noexcept {
    const unsigned youngest = largest(0, digest, n);
    const unsigned before = refreshes() ? total(digest, n, youngest) : youngest;
    write(digest, youngest, std::min(before + 1, n));
}

inline bool ShbfXWindow::test_and_insert_first(Digest digest, unsigned n,
                                               unsigned others) noexcept {
    const unsigned youngest = largest(0, digest, n);
    const unsigned here = total(digest, n, youngest);
    const unsigned before = refreshes() ? std::max(here, others) : here + others;
    const bool echo = before >= n;
    if (refreshes()) {
        write(digest, youngest, std::min(before + 1, n));
    } else if (!echo) {
        write(digest, youngest, youngest + 1);
    }
    return echo;
}

}  // namespace unecho::filter
