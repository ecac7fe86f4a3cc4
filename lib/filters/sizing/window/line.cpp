// SPDX-License-Identifier: BSD-3-Clause
#include "filters/sizing/window/line.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "base/assert.h"
#include "base/log_gamma.h"
#include "filters/sizing/search.h"

namespace unecho::sizing {
namespace {

// Above this load of a line any pattern matches: the probability that it does not is below 1e-20.
constexpr double kFull = 512;
// Probabilities below this change no sum within a double's precision.
constexpr double kVanishing = 1e-40;
// No load with a probability of 1e-19 is larger.
constexpr unsigned kMaxKeys = 1023;

double choose(unsigned n, unsigned k) {
    if (k > n) {
        return 0;
    }
    double ways = 1;
    for (unsigned i = 0; i < k; ++i) {
        ways = ways * (n - i) / (i + 1);
    }
    return ways;
}

// line_match() for all n up to 2 kMaxKeys.
class MatchTable {
  public:
    MatchTable(unsigned S, unsigned b) : matches_(2 * kMaxKeys + 1, 1.0) {
        // new_bits[j][h]: probability that h of b distinct bits are new to a word with j set.
        std::vector<std::vector<double>> new_bits(S + 1, std::vector<double>(b + 1));
        std::vector<double> match(S + 1);
        for (unsigned j = 0; j <= S; ++j) {
            match[j] = choose(j, b) / choose(S, b);
            for (unsigned h = 0; h <= b; ++h) {
                new_bits[j][h] = choose(S - j, h) * choose(j, b - h) / choose(S, b);
            }
        }
        // set[j]: j bits of the word are set.
        std::vector<double> set(S + 1);
        set[0] = 1;
        for (unsigned n = 0; n < std::min<std::size_t>(matches_.size(), saturated(S, b)); ++n) {
            matches_[n] = 0;
            std::vector<double> next(S + 1);
            for (unsigned j = 0; j <= S; ++j) {
                if (set[j] < kVanishing) {
                    continue;
                }
                matches_[n] += set[j] * match[j];
                for (unsigned h = 0; h <= b && j + h <= S; ++h) {
                    next[j + h] += set[j] * new_bits[j][h];
                }
            }
            set = next;
        }
    }

    [[nodiscard]] double operator[](std::size_t n) const {
        return matches_[std::min(n, matches_.size() - 1)];
    }
    [[nodiscard]] const double* data() const { return matches_.data(); }

  private:
    // Patterns after which a bit is unset with a probability of at most S (1 - b/S)^n < e^-40.
    static unsigned saturated(unsigned S, unsigned b) {
        return static_cast<unsigned>(std::ceil(S * (40 + std::log(S)) / b));
    }

    std::vector<double> matches_;
};

// Match tables; those of the filter are computed once.
class Matches {
  public:
    Matches(unsigned S, unsigned b) {
        static const std::vector<MatchTable> kTables = [] {
            std::vector<MatchTable> tables;
            for (unsigned bits = 1; bits <= kMaxBitsOfKey; ++bits) {
                tables.emplace_back(kLineWordBits, bits);
            }
            return tables;
        }();
        if (S == kLineWordBits && b <= kMaxBitsOfKey) {
            table_ = &kTables[b - 1];
        } else {
            table_ = &own_.emplace(S, b);
        }
    }
    Matches(const Matches&) = delete;
    Matches& operator=(const Matches&) = delete;

    [[nodiscard]] const MatchTable& operator*() const { return *table_; }

  private:
    std::optional<MatchTable> own_;
    const MatchTable* table_;
};

// Probabilities of the loads low, low + 1, ... of a Poisson distribution.
struct Loads {
    unsigned low = 0;
    std::vector<double> chance;

    explicit Loads(double mean) {
        constexpr double kLeast = 1e-19;
        const auto mode = static_cast<unsigned>(mean);
        const double most =
            mean > 0 ? std::exp(mode * std::log(mean) - mean - log_gamma(mode + 1.0)) : 1;
        low = mode;
        for (double p = most; low > 0 && p * low / mean >= kLeast; --low) {
            p *= low / mean;
            chance.push_back(p);
        }
        std::reverse(chance.begin(), chance.end());
        unsigned n = mode;
        for (double p = most; p >= kLeast; p *= mean / n) {
            chance.push_back(p);
            ++n;
        }
        UNECHO_ASSERT(end() <= kMaxKeys + 1);
    }

    [[nodiscard]] unsigned end() const { return low + static_cast<unsigned>(chance.size()); }

    template <typename Function>
    [[nodiscard]] double mean_of(Function function) const {
        double sum = 0;
        for (std::size_t i = 0; i < chance.size(); ++i) {
            sum += chance[i] * function(low + i);
        }
        return sum;
    }
};

double power(double x, unsigned n) {
    double product = 1;
    for (unsigned i = 0; i < n; ++i) {
        product *= x;
    }
    return product;
}

// Return the loads of the current generation, one for each phase.
std::vector<Loads> current_loads(unsigned phases, double gamma) {
    std::vector<Loads> loads;
    for (unsigned s = 0; s < phases; ++s) {
        loads.emplace_back(gamma * (s + 1) / phases);
    }
    return loads;
}

// Return the mean over the phases of mean(current loads)^M, where mean() is for a single line.
template <typename Mean>
double mean_of_phases(const std::vector<Loads>& current, unsigned M, Mean mean) {
    double sum = 0;
    for (const Loads& loads : current) {
        sum += power(mean(loads), M);
    }
    return sum / static_cast<double>(current.size());
}

// For k = 1 a word holds one generation, so ages are independent.
double fpr_of_ages(const LineShape& shape, double gamma) {
    const Matches matches(shape.S, shape.b);
    const auto match = [&](const Loads& loads) {
        return loads.mean_of([&](std::size_t n) { return (*matches)[n]; });
    };
    const double young = mean_of_phases(current_loads(shape.phases, gamma), shape.M, match);
    const double age = power(match(Loads(gamma)), shape.M);
    return age >= 1 ? 1 : -std::expm1(std::log1p(-young) + shape.l * std::log1p(-age));
}

// For k = 2 word i holds the generations i - 1 and i, word 0 only the current one. For fixed loads,
// the probability that two neighbours match is a polynomial in the words' probabilities, without
// squares; each of these is a product over the lines. Lines are alike, so the mean of a monomial is
// the M-th power of its mean in one line. Runs of neighbours share no generation, so that mean is a
// product over the runs. Only the means of runs of words in one line are needed.
class Pairs {
  public:
    Pairs(const LineShape& shape, double gamma) : words_(shape.l + 2) {
        const Matches matches(shape.S, shape.b);
        const Loads full(gamma);
        const std::vector<Loads> current = current_loads(shape.phases, gamma);
        // follow[n]: r words match, the first of which holds n keys of the previous generation.
        std::vector<double> follow(full.end(), 1.0);
        for (unsigned r = 0; r <= words_; ++r) {
            const std::vector<double> before = follow;
            if (r > 0) {
                follow = longer(*matches, full, before);
            }
            inner_.push_back(
                power(full.mean_of([&](std::size_t n) { return follow[n]; }), shape.M));
            second_.push_back(mean_of_phases(current, shape.M, [&](const Loads& loads) {
                return loads.mean_of([&](std::size_t n) { return follow[n]; });
            }));
            first_.push_back(mean_of_phases(current, shape.M, [&](const Loads& loads) {
                return loads.mean_of(
                    [&](std::size_t n) { return r == 0 ? 1.0 : (*matches)[n] * before[n]; });
            }));
        }
    }

    // Return the probability that two neighbours match.
    [[nodiscard]] double fpr() const { return chance(0); }
    // Return it if the oldest word matches.
    [[nodiscard]] double with_oldest() const { return chance(1); }

  private:
    static std::vector<double> longer(const MatchTable& match, const Loads& loads,
                                      const std::vector<double>& follow) {
        std::vector<double> out(follow.size());
        for (std::size_t i = 0; i < loads.chance.size(); ++i) {
            const double weight = loads.chance[i] * follow[loads.low + i];
            const double* row = match.data() + loads.low + i;
            for (std::size_t n = 0; n < out.size(); ++n) {
                out[n] += weight * row[n];
            }
        }
        return out;
    }

    // Return the probability that all words of a run match in all lines.
    [[nodiscard]] double run(unsigned first_word, unsigned words) const {
        return first_word == 0 ? first_[words] : first_word == 1 ? second_[words] : inner_[words];
    }

    // Include and exclude neighbours. A run of r words is covered by sets of pairs. Sets with even
    // and odd numbers of pairs cancel except for one, so the run counts -1, 0 or 1, by r modulo 3.
    [[nodiscard]] double chance(unsigned certain_words) const {
        std::vector<double> found(words_ + 1);  // within the first n words
        for (unsigned n = 2; n <= words_; ++n) {
            const unsigned certain = n == words_ ? certain_words : 0;
            found[n] = found[n - 1];
            for (unsigned r = 2; r <= n; ++r) {
                const double none = n > r ? 1 - found[n - r - 1] : 1;
                const double matched = run(n - r, r - certain) * none;
                found[n] += r % 3 == 2 ? matched : r % 3 == 0 ? -matched : 0;
            }
        }
        return found[words_];
    }

    unsigned words_;
    // By the number of words, from 0: runs of words 0 up, of words 1 up, and of older ones.
    std::vector<double> first_;
    std::vector<double> second_;
    std::vector<double> inner_;
};

// Return the worst case, just before a tick.
WorstCase at_tick(const LineShape& shape, double gamma) {
    UNECHO_ASSERT(shape.k == 1 || shape.k == 2);
    const double load = std::min(gamma, kFull);
    // The part of generation l beyond the window is the completed part of the current one.
    const double outside = (shape.phases + 1) / (2.0 * shape.phases);
    if (shape.k == 1) {
        return {fpr_of_ages(shape, load), outside / shape.l};
    }
    // One word of two is left of generation l + 1.
    const Pairs pairs(shape, load);
    return {pairs.fpr(), (outside + pairs.with_oldest()) / shape.l};
}

struct Form {
    unsigned k;
    unsigned l;
};
constexpr Form kTwoWords{2, kLineWords - 2};
constexpr Form kOneWord{1, kLineWords - 1};
// One word a key has slack 1/7 instead of 1/3, and takes less time. It is preferred if it needs at
// most this many times the lines. Where it needs more, 2 to 3 % of the echoes were in doubt.
constexpr double kWorthOfSlack = 1.02;

Nanoseconds tick_length(Nanoseconds window, unsigned l, unsigned phases) {
    return generation_length(window, l * phases);
}

unsigned most_phases(Nanoseconds window, unsigned l) {
    if (tick_length(window, l, kMaxPhases) >= kLongTick) {
        return kMaxPhases;
    }
    unsigned phases = kMaxPhases / 2;
    while (phases > 1 && tick_length(window, l, phases) < kShortTick) {
        phases /= 2;
    }
    return phases;
}

std::uint64_t least_lines(unsigned M, unsigned phases) {
    return phases == 1 ? M : phases * kMinLinesOfPhase;
}

std::uint64_t bytes_of(const LineGeometry& geometry) {
    return geometry.lines * kLineBytes + kLineTableBytes;
}

LineShape shape_of(const LineGeometry& g) {
    return {g.M, g.k, g.l, g.b, g.phases};
}

double load_of_line(const LineGeometry& geometry, std::uint64_t generation_keys) {
    return static_cast<double>(generation_keys) * geometry.M / static_cast<double>(geometry.lines);
}

std::uint64_t generation_keys(const LineGeometry& geometry, Nanoseconds window, double rate) {
    return keys_within(tick_length(window, geometry.l, geometry.phases) * geometry.phases, rate);
}

// Return the keys of a generation with every tick at its load.
std::uint64_t full_keys(const LineGeometry& geometry, const Targets& targets) {
    if (targets.spread == 0) {
        return generation_keys(geometry, targets.window, targets.keys_per_second);
    }
    const Nanoseconds tick = tick_length(targets.window, geometry.l, geometry.phases);
    return geometry.phases * load_within(tick, targets);
}

// Return the keys of a generation that bring the words of k generations to fill 1/2.
std::uint64_t capacity(const LineGeometry& geometry) {
    const double gamma = std::numbers::ln2 * kLineWordBits / (geometry.k * geometry.b);
    return std::max<std::uint64_t>(
        1, static_cast<std::uint64_t>(gamma * static_cast<double>(geometry.lines) / geometry.M));
}

WorstCase line_worst_case(const LineGeometry& geometry, std::uint64_t generation_keys) {
    WorstCase reached = at_tick(shape_of(geometry), load_of_line(geometry, generation_keys));
    const double known = static_cast<double>(generation_keys) * geometry.l * (1 + reached.npws);
    reached.false_drop += digest_collision(known);
    return reached;
}

bool enough(const LineGeometry& geometry, const Targets& targets) {
    // At this load any geometry takes half of the new keys for echoes.
    constexpr double kTooMuch = 128;
    const std::uint64_t keys = full_keys(geometry, targets);
    return load_of_line(geometry, keys) < kTooMuch &&
           meets(line_worst_case(geometry, keys), targets);
}

// Replace the best geometry by the candidate's form if that needs fewer lines.
void consider(const Targets& targets, LineGeometry candidate, LineGeometry& best) {
    const unsigned phases = candidate.phases;
    const std::uint64_t most = best.lines == 0 ? kMaxLines : best.lines - 1;
    const std::uint64_t least = least_lines(candidate.M, phases) / phases;
    const auto of_phase = smallest(least, most / phases, [&](std::uint64_t n) {
        candidate.lines = n * phases;
        return enough(candidate, targets);
    });
    if (of_phase) {
        candidate.lines = *of_phase * phases;
        best = candidate;
    }
}

// Return the geometry of a form with the fewest lines; without lines if none meets the targets.
LineGeometry fewest_lines(const Targets& targets, unsigned M, const Form& form) {
    LineGeometry best;
    for (unsigned phases = most_phases(targets.window, form.l); phases >= 1; phases /= 2) {
        for (unsigned b = 1; b <= kMaxBitsOfKey; ++b) {
            consider(targets, {M, form.k, form.l, b, phases, 0}, best);
        }
    }
    return best;
}

// The geometries with the fewest lines for M lines a key; without lines if none meets the targets.
struct ByForm {
    LineGeometry one;
    LineGeometry two;

    ByForm(const Targets& targets, unsigned M)
        : one(fewest_lines(targets, M, kOneWord)), two(fewest_lines(targets, M, kTwoWords)) {}

    [[nodiscard]] const LineGeometry& fewest() const {
        return one.lines != 0 && (two.lines == 0 || one.lines <= two.lines) ? one : two;
    }
    [[nodiscard]] const LineGeometry& chosen() const {
        const double most = kWorthOfSlack * static_cast<double>(two.lines);
        return one.lines != 0 && static_cast<double>(one.lines) <= most ? one : fewest();
    }
};

tl::unexpected<Error> too_many_lines(const Targets& targets) {
    return too_much(targets, (kMaxLines + 1) * kLineBytes);
}

tl::unexpected<Error> not_allowed(const std::string& what, std::uint64_t value,
                                  const std::string& allowed) {
    return fail(Errc::kInvalidArgument,
                what + " " + std::to_string(value) + "; allowed: " + allowed);
}

}  // namespace

double line_match(unsigned S, unsigned b, unsigned n) {
    UNECHO_ASSERT(b >= 1 && b <= S);
    const Matches matches(S, b);
    return (*matches)[n];
}

double line_fpr(const LineShape& shape, double gamma) {
    return at_tick(shape, gamma).false_drop;
}

double line_npws(const LineShape& shape, double gamma) {
    return at_tick(shape, gamma).npws;
}

double line_bits_per_key(const LineShape& shape, double gamma) {
    return static_cast<double>(kLineBits) * shape.M / (shape.l * gamma);
}

Result<LineGeometry> size_line_of(const Targets& targets, unsigned M) {
    if (M < 1 || M > kMaxLinesOfKey) {
        return not_allowed("lines of a key", M, "1 to " + std::to_string(kMaxLinesOfKey));
    }
    UNECHO_TRY(check(targets));
    const LineGeometry best = ByForm(targets, M).chosen();
    if (best.lines == 0) {
        return too_many_lines(targets);
    }
    return best;
}

Result<LineGeometry> size_line(const Targets& targets) {
    UNECHO_TRY(check(targets));
    LineGeometry best;
    double best_cost = 0;
    for (unsigned M = 1; M <= kMaxLinesOfKey; ++M) {
        const ByForm found(targets, M);
        const double cost = static_cast<double>(bytes_of(found.fewest())) * std::cbrt(M);
        if (found.fewest().lines != 0 && (best.lines == 0 || cost < best_cost)) {
            best = found.chosen();
            best_cost = cost;
        }
    }
    if (best.lines == 0) {
        return too_many_lines(targets);
    }
    return best;
}

Result<LineGeometry> complete_line(const LineGeometry& given, Nanoseconds window) {
    LineGeometry out = given;
    if (out.M < 1 || out.M > kMaxLinesOfKey) {
        return not_allowed("lines of a key", out.M, "1 to " + std::to_string(kMaxLinesOfKey));
    }
    if (out.k < 1 || out.k > 2) {
        return not_allowed("k", out.k, "1 or 2");
    }
    if (out.l != 0 && out.l != kLineWords - out.k) {
        return not_allowed("l", out.l, std::to_string(kLineWords - out.k) + ", or 0 for that");
    }
    if (out.b < 1 || out.b > kMaxBitsOfKey) {
        return not_allowed("b", out.b, "1 to " + std::to_string(kMaxBitsOfKey));
    }
    if (out.phases > kMaxPhases || (out.phases & (out.phases - 1)) != 0) {
        return not_allowed("phases", out.phases, "1, 2, 4 or 8, or 0 for as many as suit");
    }
    out.l = kLineWords - out.k;
    if (out.phases == 0) {
        out.phases = most_phases(window, out.l);
        while (out.phases > 1 && out.lines < least_lines(out.M, out.phases)) {
            out.phases /= 2;
        }
    }
    const std::uint64_t most = kMaxLines / out.phases * out.phases;
    if (out.lines < std::uint64_t{out.M} * out.phases || out.lines > most) {
        return not_allowed("lines", out.lines,
                           std::to_string(out.M * out.phases) + " to " + std::to_string(most));
    }
    out.lines = (out.lines + out.phases - 1) / out.phases * out.phases;
    return out;
}

Prediction predict(const LineGeometry& geometry, Nanoseconds window,
                   std::optional<double> keys_per_second) {
    UNECHO_ASSERT(window >= 1 && window <= kMaxWindow);
    const Nanoseconds tick = tick_length(window, geometry.l, geometry.phases);
    const std::uint64_t keys =
        keys_per_second ? generation_keys(geometry, window, *keys_per_second) : capacity(geometry);
    const WorstCase reached = line_worst_case(geometry, keys);
    Prediction out;
    out.false_drop = reached.false_drop;
    out.npws = reached.npws;
    out.generation = tick;
    out.phases = geometry.phases;
    out.shift_keys = keys;
    out.slack = tick * geometry.phases * kLineWords - window;
    out.generation_keys = keys_per_second ? keys_within(tick, *keys_per_second)
                                          : std::max<std::uint64_t>(1, keys / geometry.phases);
    out.window_keys = keys_per_second ? keys_within(window, *keys_per_second) : keys * geometry.l;
    out.bytes = bytes_of(geometry);
    out.bits_per_key = 8.0 * static_cast<double>(out.bytes) / static_cast<double>(out.window_keys);
    out.lines_per_packet = geometry.M;
    return out;
}

}  // namespace unecho::sizing
