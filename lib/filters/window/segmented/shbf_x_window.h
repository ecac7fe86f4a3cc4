// SPDX-License-Identifier: BSD-3-Clause
// Passes the first n packets of a flow in each window, with the Shifting Bloom Filter for
// multiplicity. There are 1 + l segments, each a ShBF_X that holds how many packets of each flow
// passed in its generation. A flow costs one query of each segment for any n; n slots in another
// filter (first_packets.h) cost n queries.
//
// With EchoPolicy::kFixed a flow's count is the sum over all segments. A packet passes iff the
// count is below n; it then raises the count in the youngest segment by one. With kRefresh the
// count is the maximum over all segments. Every packet, dropped or not, writes it plus one, at most
// n, to the youngest segment. So a flow is dropped until it has been silent for a window. There are
// no counters: the bits of smaller multiplicities stay, because the largest candidate counts. A
// packet therefore sets at most k more bits, and no two packets of a flow share any.
//
// Guarantee: a packet that passed in generation j is counted through generation j + l and no
//   longer; under kRefresh j is the generation of the flow's last packet. So at most n pass in a
//   window. n is the same in every call.
// Cost: at fill 1/2 a new flow reads about 1 + log2 n windows of each segment, fewer below, and
//   writes k. A flow beyond its n packets reads k in each segment where it passed, and stops at the
//   last of them. One load in 9 touches two lines. Memory: (1 + l + spares) * m bits.
// Accuracy: in a segment of fill f, some multiplicity matches another flow by chance with
//   1 - (1 - f^k)^n, equations (17) and (18). If each of a segment's g packets is of another flow,
//   f = 1 - (1 - 1/m)^(k g). Several packets of a flow set runs of bits, and fewer flows match. A
//   packet is dropped wrongly only if one of the segments matches by chance.
// Weakness: each of the n multiplicities in each segment may match, so k is larger by log2 n than
//   in a plain filter. A count that is too large by chance stays so while the segment lives, under
//   kRefresh while the flow does. If a flow's first packets are a window apart, its n-th is then up
//   to n times as likely to be dropped wrongly.
// References: Shifting Bloom Filter, section 5; for ageing APBF, section 5.1, with k = 1.
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
#include "filters/window/segmented/segment_ring.h"

namespace unecho::filter {

struct ShbfXWindowSpec {
    unsigned k = 0;       // bits of a packet in a segment
    unsigned l = 0;       // generations of the window
    std::uint64_t m = 0;  // bits of a segment (without padding)
    unsigned c = 0;       // largest n
    unsigned spares = kDefaultSpares;
    EchoPolicy policy = EchoPolicy::kFixed;
};

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

    // Return true for an echo: n packets of the flow passed already. n is 1 to c. others: packets
    // of the flow that another filter counted.
    bool test_and_insert_first(Digest digest, unsigned n, unsigned others = 0) noexcept;
    // Bit i is the answer for digests[i], as one by one.
    std::uint64_t test_and_insert_first_burst(std::span<const Digest> digests, unsigned n) noexcept;

    // A plain SlidingFilter: n = 1.
    bool test_and_insert(Digest digest) noexcept { return test_and_insert_first(digest, 1); }
    std::uint64_t test_and_insert_burst(std::span<const Digest> digests) noexcept {
        return test_and_insert_first_burst(digests, 1);
    }

    void prefetch(Digest digest) const noexcept;
    void advance(Moment moment) noexcept { ring_.advance(moment.generation, counters_); }
    void clear() noexcept { ring_.clear(counters_); }

    // The two halves of test_and_insert_first, without a decision. count() is exact up to n and at
    // least n beyond, apart from false positives; insert() adds one packet.
    [[nodiscard]] unsigned count(Digest digest, unsigned n) const noexcept {
        return total(digest, n, largest(0, digest, n));
    }
    void insert(Digest digest, unsigned n) noexcept;

    // Packets of the present generation that set a bit of the youngest segment.
    [[nodiscard]] std::uint64_t load() const noexcept { return ring_.changes(0); }

    [[nodiscard]] const ShbfXWindowParams& params() const noexcept { return params_; }
    [[nodiscard]] const FilterCounters& counters() const noexcept { return counters_; }
    // For the exchange of retired segments with a helper.
    [[nodiscard]] SegmentRing& segments() noexcept { return ring_; }

  private:
    [[nodiscard]] bool refreshes() const noexcept {
        return params_.policy() == EchoPolicy::kRefresh;
    }
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

// Return the largest multiplicity up to n whose bits are all set in a segment; 0 if there is none.
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

// Return the count, given the youngest segment's part. Stops searching at n.
inline unsigned ShbfXWindow::total(Digest digest, unsigned n, unsigned youngest) const noexcept {
    unsigned sum = youngest;
    for (unsigned slot = 1; slot < ring_.slots() && sum < n; ++slot) {
        const unsigned here = largest(slot, digest, n);
        sum = refreshes() ? std::max(sum, here) : sum + here;
    }
    return sum;
}

// Write a multiplicity to the youngest segment, which holds `before` so far.
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
