// SPDX-License-Identifier: BSD-3-Clause
#include "filters/sizing/window/btbf.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/assert.h"
#include "filters/sizing/search.h"

namespace unecho::sizing {
namespace {

// More generations shorten the slack, but save no memory, because timers grow.
constexpr unsigned kBtbfMaxL = 63;

// State of the filter, in addition to its timers.
constexpr std::uint64_t kOwnBytes = 2 * kLineBytes;

// Return the size as filter::Timers packs timers.
std::uint64_t bytes_of(const BtbfGeometry& geometry) {
    constexpr std::uint64_t kReadAhead = 8 * (sizeof(std::uint32_t) - 1);
    return lines_for_bits(geometry.m * geometry.bits + kReadAhead) * kLineBytes + kOwnBytes;
}

// Return the most timers that `lines` cache lines hold.
std::uint64_t timers_in(std::uint64_t lines, unsigned bits) {
    constexpr std::uint64_t kReadAhead = 8 * (sizeof(std::uint32_t) - 1);
    return (lines * kLineBits - kReadAhead) / bits;
}

// Just before a turn. Includes that a new key may share the digest of a live one.
double worst_false_drop(const BtbfGeometry& geometry, std::uint64_t generation_keys) {
    const double live = static_cast<double>(generation_keys) * (geometry.l + 1.0);
    return std::min(1.0, timers_match(static_cast<double>(geometry.m), geometry.k, live) +
                             digest_collision(live));
}

// Return the keys of a generation with which those of l + 1 have written half of the timers.
std::uint64_t half_full(const BtbfGeometry& geometry) {
    if (geometry.m == 1) {
        return 1;
    }
    const double writes = std::log(0.5) / std::log1p(-1 / static_cast<double>(geometry.m));
    return static_cast<std::uint64_t>(writes / geometry.k / (geometry.l + 1.0));
}

// Return true if k timers for each insertion visit all of them in padding + 1 generations.
bool expires_in_time(const BtbfGeometry& geometry, std::uint64_t generation_keys) {
    const double visits = static_cast<double>(generation_keys) * geometry.k *
                          (timer_padding(geometry.l, geometry.bits) + 1.0);
    return static_cast<double>(geometry.m) <= visits;
}

}  // namespace

unsigned timer_bits(unsigned l, unsigned padding) {
    const std::uint64_t states = std::uint64_t{l} + padding + 3;
    return static_cast<unsigned>(std::bit_width(states - 1));
}

unsigned timer_padding(unsigned l, unsigned bits) {
    UNECHO_ASSERT(timer_bits(l, 0) <= bits && bits <= kMaxTimerBits);
    return (1U << bits) - 3 - l;
}

double timers_match(double m, unsigned k, double n) {
    if (m <= 1) {
        return n > 0 ? 1 : 0;
    }
    return std::pow(-std::expm1(k * n * std::log1p(-1 / m)), k);
}

Result<BtbfGeometry> size_btbf(const Targets& targets) {
    UNECHO_TRY(check(targets));
    Shortlist<BtbfGeometry> shortlist;
    const auto try_shape = [&](unsigned k, unsigned l, unsigned bits) {
        const Nanoseconds length = generation_length(targets.window, l);
        const std::uint64_t planned = keys_within(length, targets.keys_per_second);
        const std::uint64_t keys = load_within(length, targets);
        const auto lines =
            smallest(1, (shortlist.max_bytes() - kOwnBytes) / kLineBytes, [&](std::uint64_t n) {
                return worst_false_drop({k, l, timers_in(n, bits), bits}, keys) <=
                       targets.max_false_drop;
            });
        if (!lines) {
            return;
        }
        const BtbfGeometry found{k, l, timers_in(*lines, bits), bits};
        if (expires_in_time(found, planned)) {
            shortlist.add(found, bytes_of(found));
        }
    };
    for (unsigned bits = kMinTimerBits; bits <= kMaxTimerBits; ++bits) {
        for (unsigned l = static_cast<unsigned>(std::ceil(1 / kMaxNpws));
             l <= kBtbfMaxL && timer_bits(l, 0) <= bits; ++l) {
            for (unsigned k = 1; k <= kMaxTimerHashes; ++k) {
                try_shape(k, l, bits);
            }
        }
    }
    const auto picked = shortlist.pick([](const BtbfGeometry& geometry) { return geometry.k; });
    if (!picked) {
        return too_much(targets);
    }
    return *picked;
}

Prediction predict(const BtbfGeometry& geometry, Nanoseconds window,
                   std::optional<double> keys_per_second) {
    const auto [k, l, m, bits] = geometry;
    const Load load = load_of(window, l, keys_per_second, half_full(geometry));
    Prediction out;
    out.false_drop = worst_false_drop(geometry, load.generation_keys);
    out.npws = 1.0 / l;
    out.generation = generation_length(window, l);
    out.slack = slack(window, 1, l);
    out.generation_keys = load.generation_keys;
    out.shift_keys = out.generation_keys;
    out.window_keys = load.window_keys;
    out.bytes = bytes_of(geometry);
    out.bits_per_key =
        8.0 * static_cast<double>(out.bytes - kOwnBytes) / static_cast<double>(out.window_keys);
    // The insertion writes all k timers, including those that the query read. Expiry reads on in
    // order, k timers for each insertion.
    out.lines_per_packet = k + static_cast<double>(k * bits) / kLineBits;
    return out;
}

}  // namespace unecho::sizing
