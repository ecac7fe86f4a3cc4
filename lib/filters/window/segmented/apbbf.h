// SPDX-License-Identifier: BSD-3-Clause
// Age-Partitioned Blocked Bloom Filter (APBBF): k + l segments, each a blocked Bloom filter. An
// insertion sets b bits in one block of B bits in each of the k youngest segments. A digest is an
// echo iff k consecutive segments match.
//
// Guarantee: a digest inserted in generation j is an echo through generation j + l. From j + l + k
//   on, without another insertion, it is new, apart from false positives.
// Cost: one cache line for each segment touched: about k + l / k + 2, all prefetched for a burst. A
//   single digest touches nearly all of them if it is new, about k + 1 if it is an echo. For
//   B = 512 with b = 8, bursts have kernels (kernels/apbbf_kernel.h): k + l / k lines if new.
//   Memory: (k + l + spares) * blocks * B bits.
// Accuracy: a block with n digests matches another one with (1 - (1 - b/B)^n)^b. The mean over the
//   load of blocks (Poisson) is r_i of segment i, and the false-positive rate is the recursion
//   F(k, l) over r_i. A block is full at n = ln 2 / -ln(1 - b/B); a generation is n / k digests per
//   block.
// Weakness: blocks fill unevenly; at B = 64 the rate is a few times that of an APBF of equal size.
// References: Age-Partitioned Bloom Filters, section 6 (Tables 3 and 4); 5.1 for the query.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "filters/confidence_filter.h"
#include "filters/filter.h"
#include "filters/hash/digest.h"
#include "filters/in_order.h"
#include "filters/kernels/select.h"
#include "filters/storage.h"
#include "filters/window/block.h"
#include "filters/window/segmented.h"

namespace unecho::filter {

struct ApbbfSpec {
    unsigned k = 0;            // segments written by an insertion
    unsigned l = 0;            // generations of the window
    unsigned B = 512;          // bits of a block: 64, 128, 256 or 512
    unsigned b = 0;            // bits of a digest in a block: 1 to 16, at most B / 4
    std::uint64_t blocks = 0;  // of a segment
    unsigned spares = kDefaultSpares;
    EchoPolicy policy = EchoPolicy::kFixed;
    Isa isa = Isa::kScalar;  // of the kernels, which exist for B = 512, b = 8
};

class ApbbfParams : public SegmentedParams<ApbbfSpec> {
  public:
    // Errc::kInvalidArgument, also for an instruction set that the machine lacks.
    static Result<ApbbfParams> make(const ApbbfSpec& spec);

    [[nodiscard]] unsigned B() const noexcept { return spec_.B; }
    [[nodiscard]] unsigned b() const noexcept { return spec_.b; }
    [[nodiscard]] std::uint64_t blocks() const noexcept { return spec_.blocks; }
    [[nodiscard]] Isa isa() const noexcept { return spec_.isa; }
    [[nodiscard]] RingGeometry ring() const noexcept {
        return {spec_.k, spec_.l, spec_.spares, bytes_for_bits(spec_.blocks * spec_.B)};
    }

  private:
    explicit ApbbfParams(const ApbbfSpec& spec) noexcept : SegmentedParams(spec) {}
};

class Apbbf : public SegmentedFilter<ApbbfParams> {
  public:
    Apbbf(const ApbbfParams& params, std::span<std::byte> memory,
          Contents contents = Contents::kZero) noexcept;

    void prefetch(Digest digest) const noexcept;
    bool test_and_insert(Digest digest) noexcept;
    std::uint64_t test_and_insert_burst(std::span<const Digest> digests) noexcept;
    Answer test_and_insert(Digest digest, float limit) noexcept;
    Answers test_and_insert_burst(std::span<const Digest> digests, ChanceLimits limits) noexcept;

    // The two halves of test_and_insert, without a policy.
    [[nodiscard]] bool query(Digest digest) const noexcept;
    void insert(Digest digest) noexcept;

  private:
    // A digest's hash in the segment of a slot selects its block, and its bits in the block.
    [[nodiscard]] std::uint64_t hash_of(Digest digest, unsigned slot) const noexcept {
        return remix(digest, ring_.identity(slot));
    }
    [[nodiscard]] std::uint64_t* block_of(std::byte* segment, std::uint64_t hash) const noexcept {
        return reinterpret_cast<std::uint64_t*>(segment) +
               reduce(hash, params_.blocks()) * block_words_;
    }
    void prefetch_slot(Digest digest, unsigned slot) const noexcept;

    // The interface for the kernels.
    void view_for(ApbbfView& view, ApbbfTally& tally) noexcept;
    void book(ApbbfTally& tally, const ApbbfView& view) noexcept;
    static void approach(void* filter, Digest digest, unsigned slot) noexcept;
    static bool search(void* filter, Digest digest, unsigned slot) noexcept;
    static bool doubted(void* filter, ApbbfTally& tally, const ApbbfView& view,
                        float limit) noexcept;

    // The segments that a burst prefetches, in this order: slots 0..k-1, which are written,
    // beginning with the one that a new digest queries; the other slots that it queries, the oldest
    // last; slot k, if it is not among them.
    struct Probe {
        std::byte* segment;
        std::uint64_t identity;
        unsigned slot;
    };
    struct Probes {
        std::array<Probe, kMaxSlots + 1> list;
        unsigned count = 0;
        unsigned asked_end = 0;
    };
    void find_probes(Probes& probes) const noexcept;

    // A digest's block and hash in the segment of a probe.
    struct Place {
        std::uint64_t* block;
        std::uint64_t hash;
    };
    // Places that fit into the L1 cache together with the blocks that they name.
    static constexpr unsigned kMaxPlaces = 1024;
    static_assert(kMaxPlaces > kMaxSlots);

    void prefetch_places(const Probes& probes, Digest digest, Place* places) const noexcept;
    // doubted() returns true if a match of this digest is not an echo.
    template <typename Shape, typename Doubted>
    Answers test_and_insert_at(const Shape& shape, const Probes& probes, const Place* places,
                               Digest digest, Doubted doubted) noexcept;
    template <typename Shape, typename Doubted>
    Answers test_and_insert_all(const Shape& shape, std::span<const Digest> digests,
                                Doubted doubted) noexcept;

    // Call the function with the fastest shape that has this geometry's bits.
    template <typename Function>
    auto with_shape(Function function) const noexcept {
        return word_parts_ ? function(WordParts{}) : function(shape_);
    }
    template <typename Shape>
    [[nodiscard]] bool slot_matches(const Shape& shape, Digest digest,
                                    unsigned slot) const noexcept;
    template <typename Shape>
    [[nodiscard]] bool query_shaped(const Shape& shape, Digest digest) const noexcept;
    template <typename Shape>
    void insert_shaped(const Shape& shape, Digest digest) noexcept;
    template <typename Shape>
    bool test_and_insert_shaped(const Shape& shape, Digest digest) noexcept;

    BlockShape shape_;
    bool word_parts_;  // WordParts has the same bits as shape_
    bool has_kernel_;
    ApbbfKernel kernel_;
    unsigned block_words_;
};

static_assert(ConfidenceFilter<Apbbf>);
static_assert(RestorableFilter<Apbbf, ApbbfParams>);

template <typename Shape>
bool Apbbf::slot_matches(const Shape& shape, Digest digest, unsigned slot) const noexcept {
    std::byte* const segment = ring_.segment(slot);
    if (segment == nullptr) {
        return false;
    }
    const std::uint64_t hash = hash_of(digest, slot);
    return shape.matches(block_of(segment, hash), hash);
}

template <typename Shape>
bool Apbbf::query_shaped(const Shape& shape, Digest digest) const noexcept {
    return run_of_matches(params_.k(), params_.l(), [&](unsigned slot) noexcept {
        return slot_matches(shape, digest, slot);
    });
}

template <typename Shape>
void Apbbf::insert_shaped(const Shape& shape, Digest digest) noexcept {
    for (unsigned slot = 0; slot < params_.k(); ++slot) {
        const std::uint64_t hash = hash_of(digest, slot);
        std::uint64_t* const block = block_of(ring_.segment(slot), hash);
        ring_.count_change(slot, shape.missing(block, hash) != 0);
        shape.set(block, hash);
    }
    ++counters_.insertions;
}

template <typename Shape>
bool Apbbf::test_and_insert_shaped(const Shape& shape, Digest digest) noexcept {
    return insert_unless_echo(query_shaped(shape, digest),
                              [&]() noexcept { insert_shaped(shape, digest); });
}

}  // namespace unecho::filter
