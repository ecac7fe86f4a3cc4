// SPDX-License-Identifier: BSD-3-Clause
// The first n packets of a flow by multiplicity: 1 + l segments, each a ShBF_X in which a packet
// that passes sets k bits.
#include "filters/sizing/window/shbf_x_window.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "filters/sizing/search.h"
#include "filters/sizing/sets/shbf.h"

namespace unecho::sizing {
namespace {

constexpr unsigned kShbfXMaxK = 40;
constexpr unsigned kShbfXMinL = 2;
// Each further generation costs a new flow some more reads, and saves less than 2 % of the memory.
constexpr unsigned kShbfXMaxL = 8;

// A flow that has used up its packets reads k stretches, but half as many if segments are filled to
// a quarter. That is worth more than the least memory.
constexpr std::uint64_t kMemoryRange = 50;  // per cent

// The word that begins with the byte of the last bit is read as a whole.
constexpr std::uint64_t kPadding = 64;

std::uint64_t bytes_of(const ShbfXWindowGeometry& geometry) {
    const std::uint64_t bits = (geometry.m - 1) / 8 * 8 + kPadding;
    return (geometry.l + 1) * lines_for_bits(bits) * kLineBytes + kSegmentRingBytes;
}

// Return the share of set bits after that many packets of k bits each. It is an upper bound: all
// packets in flows of c that share no bit, without the ends of the array.
double fill_of(const ShbfXWindowGeometry& geometry, double packets) {
    if (geometry.c >= geometry.m) {
        return 1;
    }
    const double c = geometry.c;
    const double flows = packets / c;
    return -std::expm1(flows * geometry.k * std::log1p(-c / static_cast<double>(geometry.m)));
}

// Return the lines of a new flow, which touches the most: one stretch of each segment, more while
// some multiplicity is possible, and all k that are written.
double lines_of_new_flow(const ShbfXWindowGeometry& geometry, double packets) {
    const double fill = fill_of(geometry, packets);
    double windows = 0;
    for (unsigned read = 0; read < geometry.k; ++read) {
        windows += 1 - std::pow(1 - std::pow(fill, read), geometry.c);
    }
    return geometry.l * windows + geometry.k;
}

// Return the packets of a generation that bring a segment to fill 1/2.
std::uint64_t capacity(const ShbfXWindowGeometry& geometry) {
    return static_cast<std::uint64_t>(static_cast<double>(geometry.m) * std::numbers::ln2 /
                                      geometry.k);
}

// Just before a shift, every segment holds a generation.
Profile before_shift(const ShbfXWindowGeometry& geometry, std::uint64_t generation_keys) {
    return Profile(geometry.l + 1, shbf_x_match(geometry, static_cast<double>(generation_keys)));
}

}  // namespace

double shbf_x_multiplicity_match(const ShbfXWindowGeometry& geometry, double packets) {
    const auto m = static_cast<double>(geometry.m);
    const double k = geometry.k;
    const double fill = fill_of(geometry, packets);
    const double zero = 1 - fill;
    if (zero <= 0 || fill <= 0) {
        return fill;
    }
    // The fill of arrays varies like that of m / c boxes, which the k-th power amplifies.
    const double variance = zero * (1 - zero * (1 - std::log(zero))) * geometry.c / m;
    const double spread = std::exp(k * (k - 1) / 2 * variance / (fill * fill));
    // Two stretches of the flow may overlap. Then a bit of one is a bit of the other, set by chance
    // or by the flow itself.
    const double overlap = geometry.c * k * (k - 1) / m;
    return std::min(1.0, std::pow(fill, k) * spread + overlap * std::pow(fill, k - 1));
}

double shbf_x_match(const ShbfXWindowGeometry& geometry, double packets) {
    const double one = shbf_x_multiplicity_match(geometry, packets);
    return one >= 1 ? 1 : -std::expm1(geometry.c * std::log1p(-one));
}

Result<ShbfXWindowGeometry> size_shbf_x_window(const Targets& targets, unsigned n) {
    if (n < 1 || n > kMaxWBar) {
        return fail(Errc::kInvalidArgument, "first " + std::to_string(n) +
                                                " packets of a flow; allowed: 1 to " +
                                                std::to_string(kMaxWBar));
    }
    UNECHO_TRY(check(targets));
    const auto keys = [&](unsigned l) {
        return load_within(generation_length(targets.window, l), targets);
    };
    Shortlist<ShbfXWindowGeometry> shortlist(kMemoryRange);
    for (unsigned k = 1; k <= kShbfXMaxK; ++k) {
        for (unsigned l = kShbfXMinL; l <= kShbfXMaxL; ++l) {
            const std::uint64_t g = keys(l);
            ShbfXWindowGeometry geometry{k, l, 0, n};
            const std::uint64_t most =
                (shortlist.max_bytes() - kSegmentRingBytes) / ((l + 1) * kLineBytes);
            const auto lines = smallest(1, most, [&](std::uint64_t count) {
                geometry.m = count * kLineBits - kPadding;
                return meets(worst_case(1, l, before_shift(geometry, g), g), targets);
            });
            if (lines) {
                geometry.m = *lines * kLineBits - kPadding;
                shortlist.add(geometry, bytes_of(geometry));
            }
        }
    }
    const auto picked = shortlist.pick([&](const ShbfXWindowGeometry& geometry) {
        return lines_of_new_flow(geometry, static_cast<double>(keys(geometry.l)));
    });
    if (!picked) {
        return too_much(targets);
    }
    return *picked;
}

Prediction predict(const ShbfXWindowGeometry& geometry, Nanoseconds window,
                   std::optional<double> keys_per_second) {
    const Load load = load_of(window, geometry.l, keys_per_second, capacity(geometry));
    Prediction out = predict_segments(1, geometry.l, before_shift(geometry, load.generation_keys),
                                      load, bytes_of(geometry));
    out.lines_per_packet = lines_of_new_flow(geometry, static_cast<double>(load.generation_keys));
    return out;
}

}  // namespace unecho::sizing
