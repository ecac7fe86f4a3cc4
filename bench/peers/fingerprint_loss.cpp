// SPDX-License-Identifier: BSD-3-Clause
// How full lines of fingerprints may be: the chance that an insertion finds both of its lines full,
// so that the oldest fingerprint of one is lost, by the load of lines; docs/decisions/
// 0022-fingerprint-line.md has what comes of it.
//
// By simulation: lines as numbers of live keys by generation, without an end, so that one run says
// for every number of slots how often both lines had so many. By formula: the mean field, in which
// what a line holds is independent of what others do. Between two turns a line of the first half
// with x live keys gets one more at the rate 2 g P(other >= x), one of the second half at 2 g
// P(other > x), g keys a line and generation; at a turn each live key is of the oldest of the l + 1
// generations with probability 1 / (l + 1) of its own. Chances below 1e-12 cannot be seen by
// simulation, and the formula's are far below what is left of its own approximations there: with
// two choices the chance is about squared for each key more.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "hash/digest.h"
#include "peers/fingerprint_lines.h"

namespace unecho::bench {
namespace {

constexpr unsigned kMostLive = 64;
// By the keys that both lines of an insertion have at least: its chance.
using Chances = std::array<double, kMostLive + 1>;

struct Load {
    unsigned generations;  // l + 1, the one that is filled included
    double keys;           // of a generation, in a line, on average
};

// Of the last generation's insertions.
class Simulation {
  public:
    Simulation(const Load& load, std::uint64_t lines)
        : load_(load), lines_(lines), of_(lines), live_(lines) {}

    Chances run(unsigned generations) {
        std::array<std::uint64_t, kMostLive + 1> seen{};
        std::uint64_t all = 0;
        const auto keys =
            static_cast<std::uint64_t>(load_.keys * static_cast<double>(lines_) + 0.5);
        for (unsigned generation = 0; generation < generations; ++generation) {
            const unsigned slot = generation % load_.generations;
            for (std::uint64_t line = 0; line < lines_; ++line) {
                live_[line] -= std::exchange(of_[line][slot], std::uint8_t{0});
            }
            const bool steady = generation >= 3 * load_.generations;
            for (std::uint64_t key = 0; key < keys; ++key) {
                const std::uint64_t line = choose();
                seen[live_[line]] += steady ? 1 : 0;
                all += steady ? 1 : 0;
                ++live_[line];
                ++of_[line][slot];
            }
        }
        Chances chances{};
        double above = 0;
        for (unsigned live = kMostLive; live != 0; --live) {
            above += static_cast<double>(seen[live]);
            chances[live] = above / static_cast<double>(all);
        }
        return chances;
    }

  private:
    std::uint64_t choose() {
        const std::uint64_t half = lines_ / 2;
        const std::uint64_t first = reduce(remix(++drawn_, 1), half);
        const std::uint64_t second = half + reduce(remix(drawn_, 2), half);
        return live_[second] < live_[first] ? second : first;
    }

    Load load_;
    std::uint64_t lines_;
    std::vector<std::array<std::uint8_t, 8>> of_;
    std::vector<std::uint8_t> live_;
    std::uint64_t drawn_ = 0;
};

class MeanField {
  public:
    explicit MeanField(const Load& load) : load_(load) {
        first_[0] = second_[0] = 1;
        const double oldest = 1.0 / load.generations;
        for (unsigned live = 0; live <= kMostLive; ++live) {
            // left_[live][n]: n of them are left at a turn.
            double chance = std::pow(1 - oldest, live);
            for (unsigned gone = 0; gone <= live; ++gone) {
                left_[live][live - gone] = chance;
                chance *= (live - gone) / (gone + 1.0) * oldest / (1 - oldest);
            }
        }
    }

    Chances run(unsigned generations) {
        Chances chances{};
        for (unsigned generation = 0; generation < generations; ++generation) {
            first_ = turned(first_);
            second_ = turned(second_);
            chances = {};
            for (unsigned step = 0; step < kSteps; ++step) {
                insert(chances);
            }
        }
        return chances;
    }

  private:
    static constexpr unsigned kSteps = 2000;
    // By the live keys of a line.
    using Shares = std::array<double, kMostLive + 1>;

    [[nodiscard]] Shares turned(const Shares& shares) const {
        Shares after{};
        for (unsigned live = 0; live <= kMostLive; ++live) {
            for (unsigned n = 0; n <= live; ++n) {
                after[n] += shares[live] * left_[live][n];
            }
        }
        return after;
    }
    // Of lines with so many or more.
    static Shares above(const Shares& shares) {
        Shares sums{};
        double sum = 0;
        for (unsigned live = kMostLive + 1; live-- != 0;) {
            sums[live] = sum += shares[live];
        }
        return sums;
    }
    static void flow(Shares& shares, const Shares& rates) {
        double in = 0;
        for (unsigned live = 0; live < kMostLive; ++live) {
            const double out = shares[live] * rates[live];
            shares[live] += in - out;
            in = out;
        }
        shares[kMostLive] += in;
    }
    void insert(Chances& chances) {
        const Shares first = above(first_);
        const Shares second = above(second_);
        const double rate = 2 * load_.keys / kSteps;
        Shares to_first{};
        Shares to_second{};
        for (unsigned live = 0; live <= kMostLive; ++live) {
            chances[live] += first[live] * second[live] / kSteps;
            to_first[live] = rate * second[live];
            to_second[live] = live == kMostLive ? 0 : rate * first[live + 1];
        }
        flow(first_, to_first);
        flow(second_, to_second);
    }

    Load load_;
    std::array<std::array<double, kMostLive + 1>, kMostLive + 1> left_{};
    Shares first_{};
    Shares second_{};
};

struct Options {
    std::uint64_t lines = std::uint64_t{1} << 18;
    unsigned generations = 100;
};

void print(const FingerprintShape& shape, double keys, const Options& options) {
    const Load load{shape.l + 1, keys / shape.l};
    const Chances seen = Simulation(load, options.lines).run(options.generations);
    const Chances said = MeanField(load).run(20 * load.generations);
    std::printf("%2u x %u bits l=%u  keys %5.2f  bits/key %5.2f  rate %.2g\n", shape.slots,
                shape.bits, shape.l, keys, 512 / keys,
                shape.most_chance() * keys * (shape.l + 1) / shape.l / shape.slots);
    for (unsigned slots = shape.slots - 4; slots <= shape.slots + 1; ++slots) {
        std::printf("   both lines have %2u: simulated %8.2g  formula %8.2g%s\n", slots,
                    seen[slots], said[slots], slots == shape.slots ? "  (full)" : "");
    }
}

int run(const Options& options) {
    for (const FingerprintShape& shape : kFingerprintShapes) {
        for (const double part : {0.98, 1.0, 1.02, 1.04, 1.08}) {
            print(shape, shape.keys_of_line * part, options);
        }
    }
    return 0;
}

}  // namespace
}  // namespace unecho::bench

int main(int argc, char** argv) {
    unecho::bench::Options options;
    if (argc == 2 && std::string_view(argv[1]) == "--smoke") {
        options = {.lines = 1 << 12, .generations = 40};
    } else if (argc != 1) {
        std::fprintf(stderr, "usage: %s [--smoke]\n", argv[0]);
        return 2;
    }
    return unecho::bench::run(options);
}
