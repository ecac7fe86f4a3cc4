// SPDX-License-Identifier: BSD-3-Clause
// Age-Partitioned Shifting Bloom Filter: k + l segments, each a ShBF_M in which a key sets b bits.
#include "filters/sizing/window/shbf_window.h"

#include <array>
#include <cmath>
#include <numbers>

#include "filters/sizing/search.h"
#include "filters/sizing/sets/shbf.h"

namespace unecho::sizing {
namespace {

constexpr unsigned kShbfMaxK = 8;
constexpr unsigned kShbfMinL = 2;
constexpr unsigned kShbfMaxL = 24;
constexpr unsigned kShifts = 1;
constexpr std::array<unsigned, 6> kShbfBits{2, 4, 6, 8, 12, 16};

// Eight bytes from the last bit on are read whole, so a segment of n lines has 512 n - 56 bits.
constexpr std::uint64_t kStretchBytes = 8;

std::uint64_t bits_in(std::uint64_t lines) {
    return lines * kLineBits - 8 * kStretchBytes + 8;
}

const ShbfGroupModel& model() {
    static const ShbfGroupModel instance(kMaxWBar, kShifts);
    return instance;
}

std::uint64_t bytes_of(const ShbfWindowGeometry& geometry) {
    const std::uint64_t segment = (geometry.m - 1) / 8 + kStretchBytes;
    return (geometry.k + geometry.l) * lines_for_bits(8 * segment) * kLineBytes + kSegmentRingBytes;
}

// The model is for arrays without ends. Second bits, at offsets o of 1 to 56, also fall behind the
// m positions of first bits, so a bit is hit less often than in a ring of m bits. The difference is
// E[o] / m between first and second bits, in either direction, and E|o - o'| / m between second
// bits. The mean (2 E[o] + E|o - o'|) / 4m acts like this many more positions:
constexpr double kEdge = (2 * 28.5 + 18.66) / 4;

double segment_match(const ShbfWindowGeometry& geometry, double keys) {
    return model().fpr(static_cast<double>(geometry.m) + kEdge, keys, geometry.b);
}

// Return the keys of a generation that bring a segment to fill 1/2 in k generations.
std::uint64_t capacity(const ShbfWindowGeometry& geometry) {
    return static_cast<std::uint64_t>(static_cast<double>(geometry.m) * std::numbers::ln2 /
                                      (geometry.b * geometry.k));
}

// Add the geometry with k, l and b that needs the fewest lines.
void consider(const Targets& targets, ShbfWindowGeometry geometry, std::uint64_t generation_keys,
              Shortlist<ShbfWindowGeometry>& shortlist) {
    const std::uint64_t most =
        (shortlist.max_bytes() - kSegmentRingBytes) / ((geometry.k + geometry.l) * kLineBytes);
    const auto lines = smallest(1, most, [&](std::uint64_t n) {
        geometry.m = bits_in(n);
        const Profile r = shbf_window_profile(geometry, generation_keys, kBeforeShift);
        return meets(worst_case(geometry.k, geometry.l, r, generation_keys), targets);
    });
    if (lines) {
        geometry.m = bits_in(*lines);
        shortlist.add(geometry, bytes_of(geometry));
    }
}

// Return the lines of a new key: one group of each segment that only the query reads, and every
// group of those segments that are written.
double lines_of_new_key(const ShbfWindowGeometry& geometry, const Profile& r) {
    return segments_of_new_key(geometry.k, geometry.l, r) +
           geometry.k * (static_cast<double>(geometry.b) / (kShifts + 1) - 1);
}

}  // namespace

Profile shbf_window_profile(const ShbfWindowGeometry& geometry, std::uint64_t g,
                            Progress progress) {
    Profile r;
    for (unsigned i = 0; i < geometry.k + geometry.l; ++i) {
        const double keys = static_cast<double>(g) * (i < geometry.k ? i + progress : geometry.k);
        r.push_back(segment_match(geometry, keys));
    }
    return r;
}

Result<ShbfWindowGeometry> size_shbf_window(const Targets& targets) {
    UNECHO_TRY(check(targets));
    const auto keys = [&](unsigned l) {
        return load_within(generation_length(targets.window, l), targets);
    };
    Shortlist<ShbfWindowGeometry> shortlist;
    for (unsigned k = 1; k <= kShbfMaxK; ++k) {
        for (unsigned l = kShbfMinL; l <= kShbfMaxL; ++l) {
            for (const unsigned b : kShbfBits) {
                consider(targets, {k, l, 0, b}, keys(l), shortlist);
            }
        }
    }
    const auto picked = shortlist.pick([&](const ShbfWindowGeometry& geometry) {
        return lines_of_new_key(geometry,
                                shbf_window_profile(geometry, keys(geometry.l), kBeforeShift));
    });
    if (!picked) {
        return too_much(targets);
    }
    return *picked;
}

Prediction predict(const ShbfWindowGeometry& geometry, Nanoseconds window,
                   std::optional<double> keys_per_second) {
    const Load load = load_of(window, geometry.l, keys_per_second, capacity(geometry));
    const Profile r = shbf_window_profile(geometry, load.generation_keys, kBeforeShift);
    Prediction out = predict_segments(geometry.k, geometry.l, r, load, bytes_of(geometry));
    out.lines_per_packet = lines_of_new_key(geometry, r);
    return out;
}

}  // namespace unecho::sizing
