// SPDX-License-Identifier: BSD-3-Clause
#include "filters/sizing/window/fingerprint.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/assert.h"
#include "base/humanize.h"
#include "filters/sizing/search.h"

namespace unecho::sizing {
namespace {

const FingerprintShape* form_with(unsigned bits) {
    const auto* const found =
        std::find_if(kFingerprintShapes.begin(), kFingerprintShapes.end(),
                     [&](const FingerprintShape& form) { return form.bits == bits; });
    return found == kFingerprintShapes.end() ? nullptr : found;
}

const FingerprintShape& form_of(const FingerprintGeometry& geometry) {
    const FingerprintShape* const form = form_with(geometry.bits);
    UNECHO_ASSERT(form != nullptr && form->l == geometry.l);
    return *form;
}

std::string every_bits() {
    std::string text;
    for (std::size_t i = 0; i < kFingerprintShapes.size(); ++i) {
        text += i == 0 ? "" : i + 1 < kFingerprintShapes.size() ? ", " : " or ";
        text += std::to_string(kFingerprintShapes.at(i).bits);
    }
    return text;
}

std::uint64_t bytes_of(const FingerprintGeometry& geometry) {
    return geometry.lines * kLineBytes + kFingerprintTableBytes;
}

// The shares of the lines of either half with a given number of live keys.
class MeanField {
  public:
    MeanField(const FingerprintShape& form, double keys_of_line)
        : generations_(form.l + 1), full_(form.slots), keys_(keys_of_line / form.l) {
        first_[0] = second_[0] = 1;
        const double oldest = 1.0 / generations_;
        for (unsigned live = 0; live <= kMaxLive; ++live) {
            // left_[live][n]: probability that n of `live` keys are left after a turn.
            double chance = std::pow(1 - oldest, live);
            for (unsigned gone = 0; gone <= live; ++gone) {
                left_[live][live - gone] = chance;
                chance *= (live - gone) / (gone + 1.0) * oldest / (1 - oldest);
            }
        }
    }

    // Return the loss after enough turns that the initial state no longer matters.
    double loss() {
        double chance = 0;
        for (unsigned generation = 0; generation < kRounds * generations_; ++generation) {
            first_ = turned(first_);
            second_ = turned(second_);
            chance = 0;
            for (unsigned step = 0; step < kSteps; ++step) {
                chance += insert() / kSteps;
            }
        }
        return chance;
    }

  private:
    static constexpr unsigned kMaxLive = 48;
    static constexpr unsigned kSteps = 1000;
    static constexpr unsigned kRounds = 8;
    using Shares = std::array<double, kMaxLive + 1>;

    [[nodiscard]] Shares turned(const Shares& shares) const {
        Shares after{};
        for (unsigned live = 0; live <= kMaxLive; ++live) {
            for (unsigned n = 0; n <= live; ++n) {
                after[n] += shares[live] * left_[live][n];
            }
        }
        return after;
    }
    // Return the shares of lines with that many live keys or more.
    static Shares above(const Shares& shares) {
        Shares sums{};
        double sum = 0;
        for (unsigned live = kMaxLive + 1; live-- != 0;) {
            sums[live] = sum += shares[live];
        }
        return sums;
    }
    static void flow(Shares& shares, const Shares& rates) {
        double in = 0;
        for (unsigned live = 0; live < kMaxLive; ++live) {
            const double out = shares[live] * rates[live];
            shares[live] += in - out;
            in = out;
        }
        shares[kMaxLive] += in;
    }
    // Advance by a step; return the probability that an insertion in it finds both lines full.
    double insert() {
        const Shares first = above(first_);
        const Shares second = above(second_);
        const double rate = 2 * keys_ / kSteps;
        Shares to_first{};
        Shares to_second{};
        for (unsigned live = 0; live < kMaxLive; ++live) {
            to_first[live] = rate * second[live];
            to_second[live] = rate * first[live + 1];
        }
        flow(first_, to_first);
        flow(second_, to_second);
        return first[full_] * second[full_];
    }

    unsigned generations_;
    unsigned full_;
    double keys_;  // of a generation, in a line
    std::array<std::array<double, kMaxLive + 1>, kMaxLive + 1> left_{};
    Shares first_{};
    Shares second_{};
};

}  // namespace

double fingerprint_most_chance(const FingerprintShape& form) {
    return std::ldexp(2.0 * form.slots, -static_cast<int>(form.bits));
}

double fingerprint_loss(const FingerprintShape& form, double keys_of_line) {
    return MeanField(form, keys_of_line).loss();
}

Result<FingerprintGeometry> size_fingerprint(const Targets& targets) {
    UNECHO_TRY(check(targets));
    const auto* const form = std::find_if(
        kFingerprintShapes.begin(), kFingerprintShapes.end(), [&](const FingerprintShape& one) {
            return fingerprint_most_chance(one) <= targets.max_false_drop;
        });
    if (form == kFingerprintShapes.end()) {
        return fail(Errc::kInvalidArgument,
                    "fingerprints of " + std::to_string(kFingerprintShapes.back().bits) +
                        " bits are the longest; allowed: max_false_drop of at least " +
                        format_number("%.2g", fingerprint_most_chance(kFingerprintShapes.back())));
    }
    const std::uint64_t load = load_within(generation_length(targets.window, form->l), targets);
    const double halves = std::ceil(static_cast<double>(load) * form->l / form->keys_of_line / 2);
    if (2 * halves > static_cast<double>(kMaxFingerprintLines)) {
        return too_much(targets, kMaxFingerprintLines * kLineBytes);
    }
    return FingerprintGeometry{
        form->bits, form->l,
        std::max(kMinFingerprintLines, 2 * static_cast<std::uint64_t>(halves))};
}

Result<FingerprintGeometry> complete_fingerprint(const FingerprintGeometry& given) {
    const FingerprintShape* const form = form_with(given.bits);
    if (form == nullptr) {
        return fail(Errc::kInvalidArgument, "bits of a fingerprint " + std::to_string(given.bits) +
                                                "; allowed: " + every_bits());
    }
    if (given.lines < 2 || given.lines > kMaxFingerprintLines) {
        return fail(Errc::kInvalidArgument, "lines " + std::to_string(given.lines) +
                                                "; allowed: 2 to " +
                                                std::to_string(kMaxFingerprintLines));
    }
    return FingerprintGeometry{form->bits, form->l, (given.lines + 1) / 2 * 2};
}

std::uint64_t fingerprint_capacity(const FingerprintGeometry& geometry) {
    const FingerprintShape& form = form_of(geometry);
    return std::max<std::uint64_t>(
        1, static_cast<std::uint64_t>(form.keys_of_line * static_cast<double>(geometry.lines) /
                                      form.l));
}

Prediction predict(const FingerprintGeometry& geometry, Nanoseconds window,
                   std::optional<double> keys_per_second) {
    const FingerprintShape& form = form_of(geometry);
    const Load load = load_of(window, form.l, keys_per_second, fingerprint_capacity(geometry));
    // Just before a turn. No line holds more keys than it has slots.
    const double live = std::min(static_cast<double>(load.generation_keys) * (form.l + 1) /
                                     static_cast<double>(geometry.lines),
                                 static_cast<double>(form.slots));
    Prediction out;
    out.false_drop = std::ldexp(2 * live, -static_cast<int>(form.bits)) +
                     digest_collision(static_cast<double>(load.generation_keys) * (form.l + 1));
    out.npws = 1.0 / form.l;
    out.generation = generation_length(window, form.l);
    out.slack = slack(window, 1, form.l);
    out.generation_keys = load.generation_keys;
    out.room = fingerprint_capacity(geometry);
    out.shift_keys = out.generation_keys;
    out.window_keys = load.window_keys;
    out.bytes = bytes_of(geometry);
    out.bits_per_key = 8.0 * static_cast<double>(out.bytes) / static_cast<double>(out.window_keys);
    out.lines_per_packet = 2;
    return out;
}

}  // namespace unecho::sizing
