// SPDX-License-Identifier: BSD-3-Clause
#include "filters/window/segmented/apbbf.h"

#include <algorithm>
#include <bit>

#include "base/prefetch.h"

namespace unecho::filter {
namespace {

constexpr std::uint64_t kSaltFactor = 0x9E3779B97F4A7C15;  // as in remix()
static_assert(kMaxProbes >= kMaxSlots);

}  // namespace

Apbbf::Apbbf(const ApbbfParams& params, std::span<std::byte> memory, Contents contents) noexcept
    : SegmentedFilter(params, memory, contents),
      shape_(params.B(), params.b()),
      word_parts_(params.B() == 512 && params.b() == 8),
      has_kernel_(word_parts_ && params.blocks() <= ~std::uint32_t{0}),
      kernel_(kernels_for<ApbbfKernels>(params.isa())
                  .of[params.k() <= ApbbfKernels::kOwn ? params.k() : 0]),
      block_words_(params.B() / 64) {}

// Prefetch the written blocks and those that a query reads first. A new digest queries only slots
// l, l - k, l - 2k, ... An echo younger than a generation is in slots 0..k-1, and its query reads
// slot k on the way. Without slot k, a new digest would take 3 ns less, an echo 100 ns more.
void Apbbf::prefetch(Digest digest) const noexcept {
    const unsigned k = params_.k();
    for (unsigned slot = 0; slot < k; ++slot) {
        prefetch_line_for_write(block_of(ring_.segment(slot), hash_of(digest, slot)));
    }
    prefetch_slot(digest, k);
    for (unsigned slot = params_.l(); slot > k; slot -= k) {
        prefetch_slot(digest, slot);
    }
}

void Apbbf::prefetch_slot(Digest digest, unsigned slot) const noexcept {
    if (std::byte* const segment = ring_.segment(slot); segment != nullptr) {
        prefetch_line(block_of(segment, hash_of(digest, slot)));
    }
}

bool Apbbf::query(Digest digest) const noexcept {
    return with_shape([&](const auto& shape) noexcept { return query_shaped(shape, digest); });
}

void Apbbf::insert(Digest digest) noexcept {
    with_shape([&](const auto& shape) noexcept { insert_shaped(shape, digest); });
}

bool Apbbf::test_and_insert(Digest digest) noexcept {
    return with_shape(
        [&](const auto& shape) noexcept { return test_and_insert_shaped(shape, digest); });
}

Answer Apbbf::test_and_insert(Digest digest, float limit) noexcept {
    return insert_unless_confident(query(digest), limit, [&]() noexcept { insert(digest); });
}

void Apbbf::find_probes(Probes& probes) const noexcept {
    const unsigned k = params_.k();
    const unsigned l = params_.l();
    const auto add = [&](unsigned slot) noexcept {
        if (std::byte* const segment = ring_.segment(slot); segment != nullptr) {
            probes.list[probes.count++] = {segment, ring_.identity(slot), slot};
        }
    };
    const unsigned asked = l % k;
    add(asked);
    for (unsigned slot = 0; slot < k; ++slot) {
        if (slot != asked) {
            add(slot);
        }
    }
    for (unsigned slot = asked + k; slot <= l; slot += k) {
        add(slot);
    }
    probes.asked_end = probes.count;
    if (asked != 0) {
        add(k);
    }
}

// All blocks are prefetched for writing, because the table belongs to this thread alone.
void Apbbf::prefetch_places(const Probes& probes, Digest digest, Place* places) const noexcept {
    for (unsigned p = 0; p < probes.count; ++p) {
        const std::uint64_t hash = remix(digest, probes.list[p].identity);
        std::uint64_t* const block = block_of(probes.list[p].segment, hash);
        prefetch_line_for_write(block);
        places[p] = {block, hash};
    }
}

// test_and_insert() with a single branch, which is rarely taken:
//  - k matches in slots 0..k-1 are an echo. Nearly all echoes are of this kind: younger than a
//    generation.
//  - The query of a new digest mismatches in slots l, l - k, l - 2k, ... and reads no other. All of
//    these are read at once. If some match, the search begins at the oldest, as a query would.
template <typename Shape, typename Doubted>
Answers Apbbf::test_and_insert_at(const Shape& shape, const Probes& probes, const Place* places,
                                  Digest digest, Doubted doubted) noexcept {
    constexpr unsigned kNone = ~0U;
    const unsigned k = params_.k();
    const auto missing = [&](unsigned p) noexcept {
        return shape.missing(places[p].block, places[p].hash);
    };
    std::array<std::uint64_t, kMaxSlots> young;
    young[0] = missing(0);
    std::uint64_t missing_young = young[0];
    unsigned oldest = missing_young == 0 ? 0 : kNone;
    for (unsigned p = 1; p < k; ++p) {
        young[p] = missing(p);
        missing_young |= young[p];
    }
    for (unsigned p = k; p < probes.asked_end; ++p) {
        oldest = missing(p) == 0 ? p : oldest;
    }
    bool match = missing_young == 0;
    if (!match & (oldest != kNone)) [[unlikely]] {
        match = run_of_matches(k, probes.list[oldest].slot, [&](unsigned slot) noexcept {
            return slot_matches(shape, digest, slot);
        });
    }
    const bool doubt = match & doubted();
    const bool echo = match & !doubt;
    const bool insert = !echo | refreshes();
    for (unsigned p = 0; p < k; ++p) {
        shape.set_if(insert, places[p].block, places[p].hash);
        ring_.count_change(probes.list[p].slot, insert & (young[p] != 0));
    }
    counters_.insertions += insert ? 1 : 0;
    return {std::uint64_t{echo}, std::uint64_t{doubt}};
}

template <typename Shape, typename Doubted>
Answers Apbbf::test_and_insert_all(const Shape& shape, std::span<const Digest> digests,
                                   Doubted doubted) noexcept {
    Probes probes;
    find_probes(probes);
    std::array<Place, kMaxPlaces> places;
    const std::size_t together = kMaxPlaces / probes.count;
    Answers answers;
    for (std::size_t begin = 0; begin < digests.size(); begin += together) {
        const auto part = digests.subspan(begin, std::min(together, digests.size() - begin));
        for (std::size_t i = 0; i < part.size(); ++i) {
            prefetch_places(probes, part[i], &places[i * probes.count]);
        }
        for (std::size_t i = 0; i < part.size(); ++i) {
            const Answers one =
                test_and_insert_at(shape, probes, &places[i * probes.count], part[i],
                                   [&]() noexcept { return doubted(begin + i); });
            answers.echoes |= one.echoes << (begin + i);
            answers.doubts |= one.doubts << (begin + i);
        }
    }
    return answers;
}

void Apbbf::view_for(ApbbfView& view, ApbbfTally& tally) noexcept {
    const unsigned k = params_.k();
    const unsigned asked = params_.l() % k;
    view.count = 0;
    const auto add = [&](unsigned slot) noexcept {
        if (std::byte* const segment = ring_.segment(slot); segment != nullptr) {
            view.probes[view.count++] = {reinterpret_cast<std::uint64_t*>(segment),
                                         ring_.identity(slot) * kSaltFactor, slot};
        }
    };
    add(asked);
    for (unsigned slot = 0; slot < k; ++slot) {
        if (slot != asked) {
            add(slot);
        }
        tally.changes[slot] = 0;
    }
    for (unsigned slot = asked + k; slot <= params_.l(); slot += k) {
        add(slot);
    }
    tally.insertions = 0;
    view.k = k;
    view.block_count = static_cast<std::uint32_t>(params_.blocks());
    view.refresh = refreshes();
    view.tally = &tally;
    view.filter = this;
    view.approach = &Apbbf::approach;
    view.search = &Apbbf::search;
    view.doubted = &Apbbf::doubted;
}

void Apbbf::book(ApbbfTally& tally, const ApbbfView& view) noexcept {
    for (unsigned p = 0; p < view.k; ++p) {
        ring_.count_changes(view.probes[p].slot, tally.changes[p]);
        tally.changes[p] = 0;
    }
    counters_.insertions += tally.insertions;
    tally.insertions = 0;
}

// The k slots of an echo are around the queried slot; the search may end one slot further on. Slots
// 0..k-1 have been prefetched already.
void Apbbf::approach(void* filter, Digest digest, unsigned slot) noexcept {
    const auto& self = *static_cast<const Apbbf*>(filter);
    const unsigned k = self.params_.k();
    const unsigned end = std::min(slot + k + 1, self.ring_.slots());
    for (unsigned s = std::max(slot + 1, 2 * k) - k; s < end; ++s) {
        self.prefetch_slot(digest, s);
    }
}

bool Apbbf::search(void* filter, Digest digest, unsigned slot) noexcept {
    const auto& self = *static_cast<const Apbbf*>(filter);
    return self.with_shape([&](const auto& shape) noexcept {
        return run_of_matches(self.params_.k(), slot, [&](unsigned s) noexcept {
            return self.slot_matches(shape, digest, s);
        });
    });
}

bool Apbbf::doubted(void* filter, ApbbfTally& tally, const ApbbfView& view, float limit) noexcept {
    auto& self = *static_cast<Apbbf*>(filter);
    self.book(tally, view);
    return self.chance_now() > limit;
}

std::uint64_t Apbbf::test_and_insert_burst(std::span<const Digest> digests) noexcept {
    UNECHO_ASSERT(digests.size() <= kMaxBurst);
    if (digests.size() == 1) {  // as in captures, where each packet has its own time
        return test_in_order(*this, digests);
    }
    if (has_kernel_ && !digests.empty()) {
        ApbbfTally tally;
        ApbbfView view;
        view_for(view, tally);
        const std::uint64_t echoes =
            kernel_.test(view, digests.data(), static_cast<unsigned>(digests.size()));
        book(tally, view);
        return echoes;
    }
    const auto never = [](std::size_t /*i*/) noexcept { return false; };
    return with_shape([&](const auto& shape) noexcept {
        return test_and_insert_all(shape, digests, never).echoes;
    });
}

Answers Apbbf::test_and_insert_burst(std::span<const Digest> digests,
                                     ChanceLimits limits) noexcept {
    UNECHO_ASSERT(digests.size() <= kMaxBurst);
    if (digests.size() == 1) {
        return test_in_order(*this, digests, limits);
    }
    if (has_kernel_ && !digests.empty()) {
        ApbbfTally tally;
        ApbbfView view;
        view_for(view, tally);
        const auto n = static_cast<unsigned>(digests.size());
        const ApbbfAnswers answers =
            kernel_.judge(view, digests.data(), n, limits.first(), limits.stride());
        book(tally, view);
        return {answers.echoes, answers.doubts};
    }
    const auto above = [&](std::size_t i) noexcept { return chance_now() > limits.at(i); };
    return with_shape(
        [&](const auto& shape) noexcept { return test_and_insert_all(shape, digests, above); });
}

}  // namespace unecho::filter
