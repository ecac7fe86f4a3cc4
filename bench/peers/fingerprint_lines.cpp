// SPDX-License-Identifier: BSD-3-Clause
#include "peers/fingerprint_lines.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace unecho::bench {
namespace {

const FingerprintKernel& kernel_for(const FingerprintParams& params) noexcept {
    switch (params.isa) {
        case filter::Isa::kAvx512:
            return kFingerprintAvx512[params.layout];
        case filter::Isa::kAvx2:
            return kFingerprintAvx2[params.layout];
        case filter::Isa::kScalar:
            break;
    }
    return kFingerprintScalar[params.layout];
}

// Where the last eight bytes of a line have what.
struct Header {
    unsigned stamp_at;
    unsigned counts_at;
    unsigned counts;
};

template <typename Layout>
constexpr Header header_of() {
    return {Layout::kStampAt, Layout::kCountsAt, Layout::kCounts};
}
constexpr std::array<Header, kFingerprintLayouts> kHeaders{header_of<Fingerprint16>(),
                                                           header_of<Fingerprint26>()};
constexpr unsigned kCountBits = Fingerprint16::kCountBits;

// The header as it would be if the line were written now.
std::uint64_t restamped(const Header& at, std::uint64_t header, std::uint64_t now) noexcept {
    const std::uint64_t counts = ~std::uint64_t{0} << at.counts_at;
    const std::uint64_t older = (now - (header >> at.stamp_at)) & 0xFF;
    const std::uint64_t moved =
        older < at.counts ? (header & counts) << kCountBits * older : std::uint64_t{0};
    const std::uint64_t rest = header & ((std::uint64_t{1} << at.stamp_at) - 1);
    return moved | now << at.stamp_at | rest;
}

}  // namespace

FingerprintLines::FingerprintLines(const FingerprintParams& params,
                                   std::span<std::byte> memory) noexcept
    : params_(params),
      kernel_(kernel_for(params)),
      view_{.lines = memory.data(),
            .half = static_cast<std::uint32_t>(params.half),
            .generation = 0,
            .refresh = params.policy == filter::EchoPolicy::kRefresh} {
    UNECHO_ASSERT(params.half >= 1 && params.half <= std::uint64_t{1} << 28);
    UNECHO_ASSERT(memory.size() >= bytes(params) && filter::line_aligned(memory));
}

void FingerprintLines::prefetch(Digest digest) const noexcept {
    FingerprintPlaces places;
    kernel_.find(view_, &digest, 1, places);
    __builtin_prefetch(view_.lines + places.at[0][0], 1);
    __builtin_prefetch(view_.lines + places.at[1][0], 1);
}

std::uint64_t FingerprintLines::test_and_insert_burst(std::span<const Digest> digests) noexcept {
    const auto n = static_cast<unsigned>(digests.size());
    FingerprintPlaces places;
    kernel_.find(view_, digests.data(), n, places);
    const FingerprintAnswers answers = kernel_.test(view_, places, n);
    count(answers, n);
    return answers.echoes;
}

filter::Answers FingerprintLines::test_and_insert_burst(std::span<const Digest> digests,
                                                        filter::ChanceLimits limits) noexcept {
    const auto n = static_cast<unsigned>(digests.size());
    FingerprintPlaces places;
    kernel_.find(view_, digests.data(), n, places);
    const FingerprintAnswers answers =
        kernel_.judge(view_, places, n, limits.first(), limits.stride());
    count(answers, n);
    return {answers.echoes, answers.doubts};
}

float FingerprintLines::chance(Digest digest) const noexcept {
    return kernel_.chance(view_, digest);
}

void FingerprintLines::count(const FingerprintAnswers& answers, unsigned n) noexcept {
    counters_.insertions +=
        view_.refresh ? n : n - static_cast<unsigned>(std::popcount(answers.echoes));
    load_ += answers.inserted;
    if (answers.lost != 0) [[unlikely]] {
        counters_.evicted_early += answers.lost;
        lost_before_ =
            std::max(lost_before_,
                     generation_ - std::min<std::uint64_t>(generation_, answers.youngest_lost) + 1);
    }
}

void FingerprintLines::turn(std::uint64_t turns) noexcept {
    counters_.late_visits += visits_due_;
    visit(visits_due_);
    turns = std::min<std::uint64_t>(turns, params_.shape().l + 1);
    counters_.shifts += turns;
    view_.generation = (view_.generation + static_cast<std::uint32_t>(turns)) & 0xFF;
    load_ = 0;
    visit_parts_ += turns * 2 * params_.half;
    visits_due_ = visit_parts_ / kLapGenerations;
    visit_parts_ %= kLapGenerations;
}

void FingerprintLines::visit(std::uint64_t lines) noexcept {
    visits_due_ -= lines;
    const Header& at = kHeaders[params_.layout];
    for (; lines != 0; --lines) {
        std::byte* const last = view_.lines + next_visit_ * kFingerprintLine + 56;
        std::uint64_t header;
        std::memcpy(&header, last, sizeof header);
        header = restamped(at, header, view_.generation);
        std::memcpy(last, &header, sizeof header);
        if (++next_visit_ == 2 * params_.half) {
            next_visit_ = 0;
        }
    }
}

Planned<FingerprintParams> plan_fingerprints(std::uint64_t keys, double false_positives,
                                             filter::Isa isa) {
    FingerprintParams params{.isa = isa};
    const auto rate_of = [](const FingerprintShape& shape) {
        // Just before a turn.
        const double live = shape.keys_of_line * (shape.l + 1) / shape.l;
        return shape.most_chance() * live / shape.slots;
    };
    while (params.layout + 1 < kFingerprintLayouts && rate_of(params.shape()) > false_positives) {
        ++params.layout;
    }
    const FingerprintShape& shape = params.shape();
    const double lines = static_cast<double>(keys) / shape.keys_of_line;
    params.half = static_cast<std::uint64_t>(std::ceil(lines / 2));
    Facts facts;
    facts.geometry =
        text("%s %u x %u bits l=%u", filter::name_of(isa).data(), shape.slots, shape.bits, shape.l);
    facts.window_keys = keys;
    facts.generation_keys = (keys + shape.l - 1) / shape.l;
    facts.fill_keys = (shape.l + 2) * facts.generation_keys;
    facts.predicted = rate_of(shape);
    return {params, facts};
}

}  // namespace unecho::bench
