// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "filters/window/params_check.h"
#include "filters/window/segmented/tlbf.h"

namespace unecho::filter {

using std::to_string;

std::uint64_t TlbfParams::first_slice_bits() const noexcept {
    const double bits =
        static_cast<double>(spec_.capacity) * spec_.k / (spec_.l * std::numbers::ln2);
    return std::max(static_cast<std::uint64_t>(std::ceil(bits)), std::uint64_t{2} * spec_.k);
}

Result<TlbfParams> TlbfParams::make(const TlbfSpec& spec) {
    const auto refused = [](const std::string& why) {
        return fail(Errc::kInvalidArgument, "tlbf: " + why);
    };
    UNECHO_TRY(check_ring("tlbf", {spec.k, spec.l, 0, 0}));
    const unsigned least = spec.k + spec.l;
    if (spec.max_slices < least || spec.max_slices > kMaxSlots) {
        return refused("max_slices = " + to_string(spec.max_slices) +
                       "; allowed: " + to_string(least) + " (k + l) to " + to_string(kMaxSlots));
    }
    if (spec.window < spec.l || spec.window > kMaxTlbfWindow) {
        return refused("window = " + to_string(spec.window) +
                       " ns; allowed: l = " + to_string(spec.l) + " ns to 2^62 ns");
    }
    if (spec.capacity < 1 || spec.capacity > kMaxTlbfCapacity) {
        return refused("capacity = " + to_string(spec.capacity) + "; allowed: 1 to 2^40");
    }
    if (spec.arena_bytes % kCacheLine != 0 || spec.arena_bytes > kMaxFilterBytes) {
        return refused("arena_bytes = " + to_string(spec.arena_bytes) +
                       "; allowed: multiples of 64 up to 2^46");
    }
    const TlbfParams params(spec);
    const std::uint64_t slice = bytes_for_bits(params.first_slice_bits());
    // Room for the first slices and for two more, wherever the arena's end falls.
    const std::uint64_t needed = slice * (params.least_slices() + 2);
    if (spec.arena_bytes < needed) {
        return refused("arena_bytes = " + to_string(spec.arena_bytes) + "; allowed: at least " +
                       to_string(needed) + ", for " + to_string(params.least_slices()) +
                       " slices of " + to_string(slice) + " bytes and two more");
    }
    return params;
}

}  // namespace unecho::filter
