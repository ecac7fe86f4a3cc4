// SPDX-License-Identifier: BSD-3-Clause
#include "captures/dedup/deciders/repeat_decider.h"

#include <algorithm>

#include <fmt/core.h>

#include "base/option_names.h"
#include "dedup/pipeline/repeats.h"

namespace unecho::dedup {

Result<std::unique_ptr<RepeatDecider>> RepeatDecider::make(const Options& options,
                                                           Nanoseconds same_port,
                                                           std::uint64_t memory) {
    // Captures are read at any pace, so only memory bounds populations and steps.
    constexpr std::uint64_t kMaxPopulations = std::uint64_t{1} << 14;
    constexpr std::uint64_t kMinLooks = 64;
    filter::UnionSpec spec;
    spec.window = options.window_time();
    spec.same_port = same_port;
    spec.views = options.views.value_or(kDefaultViews);
    spec.needs_evidence = options.second_looks.value_or(packet::SecondLooks::kDoubled) ==
                          packet::SecondLooks::kDoubled;
    spec.populations = std::clamp(memory / 512, kMinLooks, kMaxPopulations);
    spec.most_steps = ~0U;
    spec.grows = true;
    // At most an eighth of the memory: within same_port there are few packets.
    spec.identified = std::max(memory / 1024, kMinLooks);
    spec.looks = filter::UnionParams::looks_in(memory, true, spec);
    if (spec.looks < kMinLooks) {
        return fail(Errc::kConfig,
                    fmt::format("{}: {} are left for packets without an ID, which are too little; "
                                "give more, or {} drop",
                                option::kMemory, format_size(memory), option::kRepeats));
    }
    const auto params = filter::UnionParams::make(spec);
    UNECHO_TRY(params);
    auto mapped = allocate_packet_memory(filter::CaptureUnionRule::bytes(*params));
    UNECHO_TRY(mapped);
    return std::unique_ptr<RepeatDecider>(new RepeatDecider(std::move(*mapped), *params));
}

void RepeatDecider::decide(pipeline::Burst& burst, const BurstPosition& place,
                           Originals& originals) {
    pipeline::decide_repeats(
        burst, rule_, [&](unsigned i) { return burst.times[i]; },
        [&](unsigned i, Nanoseconds now, const filter::Observation& seen) {
            if (!rule_.observe(now, seen, {now, place.numbers[i], place.files[i]})) {
                return false;
            }
            ++answers_[rule_.original_port()][seen.port];
            const filter::OriginalPacket& one = rule_.original();
            originals.numbers[i] = one.number;
            originals.files[i] = one.file;
            originals.ages[i] = static_cast<std::int64_t>(now - one.time);
            return true;
        });
}

}  // namespace unecho::dedup
