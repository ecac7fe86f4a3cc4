// SPDX-License-Identifier: BSD-3-Clause
#include "filters/sizing/search.h"

#include <cmath>
#include <string>

#include "base/assert.h"
#include "base/humanize.h"

namespace unecho::sizing {
namespace {

std::string number(double value) {
    return format_number("%.6g", value);
}

std::string workload(const Targets& targets) {
    return "window " + format_duration(targets.window) + " at " +
           format_rate(targets.keys_per_second);
}

}  // namespace

Status check(const Targets& targets) {
    if (targets.window == 0 || targets.window > kMaxWindow) {
        return fail(Errc::kInvalidArgument,
                    "window " + format_duration(targets.window) + "; allowed: 1ns to 8760h");
    }
    // Written so that NaN fails too.
    if (!(targets.keys_per_second > 0 && targets.keys_per_second <= kMaxRate)) {
        return fail(Errc::kInvalidArgument, "rate " + number(targets.keys_per_second) +
                                                " pps; allowed: above 0 up to " +
                                                rate_literal(kMaxRate));
    }
    if (!(targets.max_false_drop > 0 && targets.max_false_drop <= kMaxFalseDrop)) {
        return fail(Errc::kInvalidArgument, "false-drop rate " + number(targets.max_false_drop) +
                                                "; allowed: above 0 up to " +
                                                number(kMaxFalseDrop));
    }
    const auto keys = static_cast<double>(keys_within(targets.window, targets.keys_per_second));
    if (digest_collision(keys) > targets.max_false_drop) {
        return fail(Errc::kInvalidArgument,
                    "false-drop rate " + number(targets.max_false_drop) + "; allowed: at least " +
                        number(digest_collision(keys)) + " for the " + number(keys) + " keys of " +
                        workload(targets) +
                        ", as digests have 64 bits; raise max_false_drop, shorten the window or "
                        "lower the rate");
    }
    return {};
}

tl::unexpected<Error> too_much(const Targets& targets, std::uint64_t bytes_allowed) {
    return fail(Errc::kInvalidArgument,
                workload(targets) + " with a false-drop rate of " + number(targets.max_false_drop) +
                    " needs more than the " + format_size(bytes_allowed) +
                    " allowed; shorten the window, lower the rate or allow more false drops");
}

std::uint64_t keys_within(Nanoseconds time, double keys_per_second) {
    constexpr double kRounding = 1e-12;  // 50 ms at 1 Mpps are 50000 keys, not 50001
    constexpr double kMost = 0x1p62;
    const double keys = keys_per_second * (static_cast<double>(time) / kSecond);
    return static_cast<std::uint64_t>(std::clamp(std::ceil(keys * (1 - kRounding)), 1.0, kMost));
}

std::uint64_t load_for(std::uint64_t keys, double spread) {
    return keys +
           static_cast<std::uint64_t>(std::ceil(spread * std::sqrt(static_cast<double>(keys))));
}

// Solve load = keys + spread * sqrt(keys), then correct by steps, because loads are whole numbers.
std::uint64_t keys_for(std::uint64_t load, double spread) {
    const double root = std::sqrt(spread * spread + 4 * static_cast<double>(load));
    const double side = (root - spread) / 2;
    auto keys = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(side * side));
    while (keys > 1 && load_for(keys, spread) > load) {
        --keys;
    }
    return keys;
}

std::uint64_t load_within(Nanoseconds time, const Targets& targets) {
    return load_for(keys_within(time, targets.keys_per_second), targets.spread);
}

Nanoseconds generation_length(Nanoseconds window, unsigned l) {
    return (window + l - 1) / l;
}

Nanoseconds slack(Nanoseconds window, unsigned k, unsigned l) {
    return generation_length(window, l) * (k + l) - window;
}

WorstCase worst_case(unsigned k, unsigned l, const Profile& r, std::uint64_t generation_keys) {
    const double weighted_slack = npws(k, l, r);
    const double known = static_cast<double>(generation_keys) * l * (1 + weighted_slack);
    return {false_positive_rate(k, l, r) + digest_collision(known), weighted_slack};
}

Load load_of(Nanoseconds window, unsigned l, std::optional<double> keys_per_second,
             std::uint64_t generation_capacity) {
    UNECHO_ASSERT(window >= 1 && window <= kMaxWindow);
    if (!keys_per_second) {
        const std::uint64_t g = std::max(generation_capacity, std::uint64_t{1});
        return {window, g * l, g};
    }
    return {window, keys_within(window, *keys_per_second),
            keys_within(generation_length(window, l), *keys_per_second)};
}

Prediction predict_segments(unsigned k, unsigned l, const Profile& r, const Load& load,
                            std::uint64_t bytes, std::uint64_t own_bytes) {
    const WorstCase reached = worst_case(k, l, r, load.generation_keys);
    Prediction out;
    out.false_drop = reached.false_drop;
    out.npws = reached.npws;
    out.generation = generation_length(load.window, l);
    out.slack = slack(load.window, k, l);
    out.generation_keys = load.generation_keys;
    out.shift_keys = out.generation_keys;
    out.window_keys = load.window_keys;
    out.bytes = bytes;
    // Like the papers, count the segments only.
    out.bits_per_key =
        8.0 * static_cast<double>(bytes - own_bytes) / static_cast<double>(load.window_keys);
    out.lines_per_packet = segments_of_new_key(k, l, r);
    return out;
}

}  // namespace unecho::sizing
