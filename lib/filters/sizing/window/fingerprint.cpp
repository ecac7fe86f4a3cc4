// SPDX-License-Identifier: BSD-3-Clause
#include "filters/sizing/window/fingerprint.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <string>
#include <vector>

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

// By the number of live keys of a line.
constexpr unsigned kMostSlots = 40;
using ByLive = std::array<double, kMostSlots + 1>;

// The shares of the lines of either half with a given number of live keys, over the generations.
class MeanField {
  public:
    MeanField(const FingerprintShape& form, double keys_of_line)
        : generations_(form.l + 1), full_(form.slots), keys_(keys_of_line / form.l) {
        UNECHO_ASSERT(full_ <= kMostSlots);
        const double oldest = 1.0 / generations_;
        for (unsigned live = 0; live <= full_; ++live) {
            double chance = std::pow(1 - oldest, live);
            for (unsigned gone = 0; gone <= live; ++gone) {
                left_.at(live).at(live - gone) = chance;
                chance *= (live - gone) / (gone + 1.0) * oldest / (1 - oldest);
            }
        }
        // After so many generations the initial state no longer matters.
        now_.first[0] = now_.second[0] = 1;
        for (unsigned generation = 0; generation < kRounds * generations_; ++generation) {
            now_ = {turned(now_.first), turned(now_.second), {}, {}};
            for (unsigned step = 0; step < kSteps; ++step) {
                insert();
            }
        }
    }

    // Return the mean probability over a generation that both lines are full.
    [[nodiscard]] double moves() const {
        double sum = 0;
        for (unsigned step = 0; step < kSteps; ++step) {
            sum += both_full(past(step));
        }
        return sum / kSteps;
    }

    // Return the same of a loss, from some moments of the generation.
    [[nodiscard]] double loss() const {
        constexpr unsigned kMoments = 10;
        double sum = 0;
        for (unsigned i = 0; i < kMoments; ++i) {
            const unsigned ago = i * kSteps / kMoments;
            sum += both_full(past(ago)) * nowhere_to_move(ago);
        }
        return sum / kMoments;
    }

  private:
    static constexpr unsigned kSteps = 200;  // of a generation
    static constexpr unsigned kRounds = 8;

    struct Moment {
        ByLive first;  // shares of the first half's lines
        ByLive second;
        ByLive to_first;  // keys that such a line gets in this step
        ByLive to_second;
    };

    [[nodiscard]] double both_full(const Moment& moment) const {
        return moment.first.at(full_) * moment.second.at(full_);
    }
    // Return the state so many steps before the last one.
    [[nodiscard]] const Moment& past(unsigned steps) const {
        return history_[history_.size() - 1 - steps];
    }

    [[nodiscard]] ByLive turned(const ByLive& shares) const {
        ByLive after{};
        for (unsigned live = 0; live <= full_; ++live) {
            for (unsigned n = 0; n <= live; ++n) {
                after.at(n) += shares.at(live) * left_.at(live).at(n);
            }
        }
        return after;
    }
    // Return the sums over lines with that many live keys or more, each weighted.
    [[nodiscard]] ByLive above(const ByLive& shares, const ByLive* weights = nullptr) const {
        ByLive sums{};
        double sum = 0;
        for (unsigned live = full_ + 1; live-- != 0;) {
            sums.at(live) = sum += shares.at(live) * (weights == nullptr ? 1 : weights->at(live));
        }
        return sums;
    }
    void flow(ByLive& shares, const ByLive& rates) const {
        double in = 0;
        for (unsigned live = 0; live < full_; ++live) {
            const double out = shares.at(live) * rates.at(live);
            shares.at(live) += in - out;
            in = out;
        }
        shares.at(full_) += in;
    }
    // Advance by a step.
    void insert() {
        const ByLive first = above(now_.first);
        const ByLive second = above(now_.second);
        const double rate = 2 * keys_ / kSteps;
        const double full_first = now_.first.at(full_);
        const double full_second = now_.second.at(full_);
        const double none = std::pow(full_second, full_);  // of the second half has room
        const double moved = both_full(now_);
        for (unsigned live = 0; live < full_; ++live) {
            now_.to_first.at(live) =
                rate * (second.at(live) + moved * none * (1 - std::pow(full_first, full_)) /
                                              std::max(1 - full_first, 1e-9));
            now_.to_second.at(live) =
                rate * (first.at(live + 1) + moved * (1 - none) / std::max(1 - full_second, 1e-9));
        }
        history_.push_back(now_);
        if (history_.size() > std::size_t{kSteps} * (generations_ + 1)) {
            history_.pop_front();
        }
        flow(now_.first, now_.to_first);
        flow(now_.second, now_.to_second);
    }

    // Return the probability that no fingerprint of two full lines can move, so many steps before
    // the end of the last generation. It is the product over their fingerprints.
    [[nodiscard]] double nowhere_to_move(unsigned ago) const {
        // P(full at that moment), by the live keys at an earlier one.
        ByLive first_full{};
        ByLive second_full{};
        first_full.at(full_) = second_full.at(full_) = 1;
        // Counts, by age, the fingerprints that a full line has.
        struct Inserted {
            double all = 0;
            double other_full = 0;  // of these, with their other line full
        };
        std::vector<Inserted> in_first(generations_);
        std::vector<Inserted> in_second(generations_);
        unsigned step = ago;
        for (unsigned age = 0; age < generations_; ++age) {
            for (; step < kSteps * (age + 1); ++step) {
                const Moment& then = past(step);
                const ByLive firsts = above(then.first);
                const ByLive seconds = above(then.second);
                const ByLive full_firsts = above(then.first, &first_full);
                const ByLive full_seconds = above(then.second, &second_full);
                for (unsigned live = 0; live < full_; ++live) {
                    const double to_first = then.first.at(live) * first_full.at(live + 1);
                    in_first.at(age).all += to_first * seconds.at(live);
                    in_first.at(age).other_full += to_first * full_seconds.at(live);
                    const double to_second = then.second.at(live) * second_full.at(live + 1);
                    in_second.at(age).all += to_second * firsts.at(live + 1);
                    in_second.at(age).other_full += to_second * full_firsts.at(live + 1);
                }
                backward(first_full, then.to_first);
                backward(second_full, then.to_second);
            }
            first_full = before_turn(first_full);
            second_full = before_turn(second_full);
        }
        double log = 0;
        for (const std::vector<Inserted>* line : {&in_first, &in_second}) {
            double all = 0;
            for (const Inserted& one : *line) {
                all += one.all;
            }
            for (const Inserted& one : *line) {
                log +=
                    one.all == 0 ? 0 : full_ * one.all / all * std::log(one.other_full / one.all);
            }
        }
        return std::exp(log);
    }
    void backward(ByLive& chances, const ByLive& rates) const {
        for (unsigned live = 0; live < full_; ++live) {
            chances.at(live) += rates.at(live) * (chances.at(live + 1) - chances.at(live));
        }
    }
    [[nodiscard]] ByLive before_turn(const ByLive& chances) const {
        ByLive before{};
        for (unsigned live = 0; live <= full_; ++live) {
            for (unsigned n = 0; n <= live; ++n) {
                before.at(live) += chances.at(n) * left_.at(live).at(n);
            }
        }
        return before;
    }

    unsigned generations_;
    unsigned full_;
    double keys_;  // of a generation, in a line
    // left_[live][n]: probability that n of `live` keys are left after a turn.
    std::array<ByLive, kMostSlots + 1> left_{};
    Moment now_{};
    std::deque<Moment> history_;  // of the last generations, one a step
};

}  // namespace

double fingerprint_most_chance(const FingerprintShape& form) {
    return std::ldexp(2.0 * form.slots, -static_cast<int>(form.bits));
}

double fingerprint_moves(const FingerprintShape& form, double keys_of_line) {
    return MeanField(form, keys_of_line).moves();
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
