// SPDX-License-Identifier: BSD-3-Clause
#include "captures/dedup/results/echo_age_sampler.h"

#include <algorithm>
#include <numeric>

#include "dedup/pipeline/bits.h"

namespace unecho::dedup {
namespace {

constexpr Digest kSampled = 255;  // digests without these bits

// "Nearly all": all but one in so many.
constexpr std::uint64_t kNearly = 1000;

}  // namespace

Result<EchoAgeSampler> EchoAgeSampler::make(const Options& options, std::uint64_t memory) {
    const auto params = filter::ReferenceParams::make(
        {.entries = std::max<std::uint64_t>(filter::ReferenceParams::entries_in(memory), 1),
         .window = options.window_time(),
         .policy = options.echo_policy()});
    UNECHO_TRY(params);
    auto mapped = allocate_packet_memory(filter::ReferenceTable::bytes(*params));
    UNECHO_TRY(mapped);
    return EchoAgeSampler(std::move(*mapped), *params, options.first.value_or(1));
}

void EchoAgeSampler::add(const pipeline::Burst& burst, const BurstPosition& place,
                         const Originals& originals) {
    pipeline::for_each_bit(burst.echoes, [&](unsigned i) {
        ++found_[static_cast<std::size_t>(
            std::bit_width(static_cast<std::uint64_t>(originals.ages[i])))];
    });
    pipeline::for_each_bit(burst.filtered(), [&](unsigned i) {
        if ((burst.digests[i] & kSampled) != 0) {
            return;
        }
        const Nanoseconds now = burst.times[i];
        filter::PacketReference before;
        if (sample_.test_and_insert_first(burst.digests[i], first_,
                                          {now, place.first_number + i, 0}, before)) {
            ++sampled_[static_cast<std::size_t>(std::bit_width(now - before.time))];
        }
    });
}

// Ages are not far younger from the power of two at or below half of it, at least a quarter.
bool EchoAgeSampler::are_far_younger_than(Nanoseconds reach) const {
    const auto from = std::bit_width(reach / 2);
    const auto few = [&](const Counts& counts) {
        const std::uint64_t all = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
        const std::uint64_t old =
            std::accumulate(counts.begin() + from, counts.end(), std::uint64_t{0});
        return old <= all / kNearly;
    };
    return few(found_) && few(sampled_);
}

}  // namespace unecho::dedup
