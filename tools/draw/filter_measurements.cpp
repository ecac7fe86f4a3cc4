// SPDX-License-Identifier: BSD-3-Clause
// Measures what docs/filters.md shows beside the formulas and prints it as CSV:
//
//     filter_measurements fill|decay|rates
//
//   fill   share of set bits in each slice of an APBF, at three phases of a generation
//   decay  share of the keys of a generation that are still echoes, by its age past the window
//   rates  false-positive rates in the steady state, just before a shift
//
// A table is refilled for k + l generations for each sample, so samples are independent. An
// interval is their mean with 1.96 standard errors. Seeds are fixed.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "filters/sizing/fpr.h"
#include "filters/sizing/sizing.h"
#include "filters/sizing/window/btbf.h"
#include "filters/sizing/window/shbf_window.h"
#include "filters/window/segmented/apbbf.h"
#include "filters/window/segmented/apbf.h"
#include "filters/window/segmented/btbf.h"
#include "filters/window/segmented/shbf_window.h"

namespace unecho {
namespace {

class Memory {
  public:
    explicit Memory(std::size_t bytes) : lines_((bytes + sizeof(Line) - 1) / sizeof(Line)) {}
    [[nodiscard]] std::span<std::byte> span() { return std::as_writable_bytes(std::span(lines_)); }

  private:
    struct alignas(64) Line {
        std::byte bytes[64]{};
    };
    std::vector<Line> lines_;
};

template <typename F, typename Params>
struct Table {
    explicit Table(const Params& params)
        : memory(F::bytes(params)), filter(params, memory.span()) {}
    Memory memory;
    F filter;
};

class Mean {
  public:
    void add(double value) {
        n_ += 1;
        sum_ += value;
        squares_ += value * value;
    }
    [[nodiscard]] double value() const { return sum_ / n_; }
    [[nodiscard]] double margin() const {
        constexpr double kNormal95 = 1.96;
        const double variance = std::max(0.0, squares_ / n_ - value() * value()) * n_ / (n_ - 1);
        return kNormal95 * std::sqrt(variance / n_);
    }

  private:
    double n_ = 0;
    double sum_ = 0;
    double squares_ = 0;
};

std::ostream& operator<<(std::ostream& out, const Mean& mean) {
    return out << mean.value() << ',' << std::max(0.0, mean.value() - mean.margin()) << ','
               << mean.value() + mean.margin();
}

// --- The engines: parameters, keys of a generation, profile just before a shift ---

struct ApbfShape {
    using Filter = filter::Apbf;
    static constexpr const char* kEngine = "apbf";
    unsigned k;
    unsigned l;
    std::uint64_t m;

    [[nodiscard]] filter::ApbfParams params() const {
        return *filter::ApbfParams::make({.k = k, .l = l, .m = m});
    }
    [[nodiscard]] std::uint64_t generation_keys() const {
        return sizing::generation_capacity(m, k);
    }
    [[nodiscard]] sizing::Profile profile(std::uint64_t g, sizing::Progress progress) const {
        return sizing::fills(k, l, m, g, progress);
    }
    [[nodiscard]] std::string name() const {
        std::ostringstream out;
        out << "k=" << k << " l=" << l << " m=" << m;
        return out.str();
    }
};

struct ApbbfShape {
    using Filter = filter::Apbbf;
    static constexpr const char* kEngine = "apbbf";
    unsigned k;
    unsigned l;
    unsigned B;
    unsigned b;
    std::uint64_t blocks;

    [[nodiscard]] filter::ApbbfParams params() const {
        return *filter::ApbbfParams::make({.k = k, .l = l, .B = B, .b = b, .blocks = blocks});
    }
    [[nodiscard]] std::uint64_t generation_keys() const {
        return static_cast<std::uint64_t>(static_cast<double>(blocks) *
                                          sizing::block_capacity(B, b) / k);
    }
    [[nodiscard]] sizing::Profile profile(std::uint64_t g, sizing::Progress progress) const {
        return sizing::block_profile(k, l, B, b, blocks, g, progress);
    }
    [[nodiscard]] std::string name() const {
        std::ostringstream out;
        out << "k=" << k << " l=" << l << " B=" << B << " b=" << b << " blocks=" << blocks;
        return out.str();
    }
};

struct ShbfWindowShape {
    using Filter = filter::ShbfWindow;
    static constexpr const char* kEngine = "shbf";
    unsigned k;
    unsigned l;
    std::uint64_t m;
    unsigned b;

    [[nodiscard]] filter::ShbfWindowParams params() const {
        return *filter::ShbfWindowParams::make({.k = k, .l = l, .m = m, .b = b});
    }
    [[nodiscard]] std::uint64_t generation_keys() const {
        return sizing::generation_capacity(m, k) / b;
    }
    [[nodiscard]] sizing::Profile profile(std::uint64_t g, sizing::Progress progress) const {
        return sizing::shbf_window_profile({.k = k, .l = l, .m = m, .b = b}, g, progress);
    }
    [[nodiscard]] std::string name() const {
        std::ostringstream out;
        out << "k=" << k << " l=" << l << " m=" << m << " b=" << b;
        return out.str();
    }
};

// Timers do not age in segments, so their rate has its own formula.
struct BtbfShape {
    using Filter = filter::TimedBtbf;
    static constexpr const char* kEngine = "btbf";
    unsigned k;
    unsigned l;
    std::uint64_t m;
    unsigned bpt;

    [[nodiscard]] filter::TimedBtbfParams params() const {
        return *filter::TimedBtbfParams::make({.l = l, .k = k, .m = m, .bpt = bpt});
    }
    // With this number, half of the timers are alive just before a turn.
    [[nodiscard]] std::uint64_t generation_keys() const {
        return sizing::generation_capacity(m, k) / (l + 1);
    }
    [[nodiscard]] std::string name() const {
        std::ostringstream out;
        out << "k=" << k << " l=" << l << " m=" << m << " bpt=" << bpt;
        return out.str();
    }
};

template <typename Shape>
double predicted_rate(const Shape& shape, std::uint64_t g) {
    if constexpr (requires { shape.profile(g, sizing::kBeforeShift); }) {
        return sizing::false_positive_rate(shape.k, shape.l,
                                           shape.profile(g, sizing::kBeforeShift));
    } else {
        return sizing::timers_match(static_cast<double>(shape.m), shape.k,
                                    static_cast<double>(g * (shape.l + 1)));
    }
}

template <typename Filter>
void insert_keys(Filter& filter, std::uint64_t keys, std::mt19937_64& random) {
    for (std::uint64_t i = 0; i < keys; ++i) {
        filter.insert(random());
    }
}

// --- fill ---

double fill_of(std::span<const std::byte> segment, std::uint64_t m) {
    const auto* words = reinterpret_cast<const std::uint64_t*>(segment.data());
    std::uint64_t set = 0;
    for (std::size_t i = 0; i < segment.size() / sizeof(std::uint64_t); ++i) {
        set += static_cast<std::uint64_t>(std::popcount(words[i]));
    }
    return static_cast<double>(set) / static_cast<double>(m);
}

void print_fill() {
    constexpr ApbfShape kShape{10, 7, 20'000};
    constexpr unsigned kTables = 40;
    constexpr unsigned kPhases = 3;  // 0, 1/2, 1
    const std::uint64_t g = kShape.generation_keys() / 2 * 2;
    const unsigned cycle = kShape.k + kShape.l;
    const auto params = kShape.params();
    Table<filter::Apbf, filter::ApbfParams> table(params);
    std::mt19937_64 random(1);
    std::vector<Mean> fills(std::size_t{kPhases} * cycle);
    for (std::uint64_t generation = 0; generation < std::uint64_t{cycle} * (kTables + 1);
         ++generation) {
        table.filter.advance({.generation = generation});
        for (unsigned phase = 0; phase < kPhases; ++phase) {
            insert_keys(table.filter, phase == 0 ? 0 : g / 2, random);
            if (generation % cycle != 0 || generation == 0) {
                continue;
            }
            for (unsigned slot = 0; slot < cycle; ++slot) {
                const std::byte* segment = table.filter.segments().segment(slot);
                fills[phase * cycle + slot].add(
                    fill_of({segment, params.ring().segment_bytes}, kShape.m));
            }
        }
    }
    std::cout << "geometry,phase,slice,formula,paper_linear,measured,low,high\n";
    for (unsigned phase = 0; phase < kPhases; ++phase) {
        const double part = phase / 2.0;
        const sizing::Profile formula = kShape.profile(g, part);
        const sizing::Profile linear = sizing::fills_linear(kShape.k, kShape.l);
        for (unsigned slot = 0; slot < cycle; ++slot) {
            std::cout << kShape.name() << " g=" << g << ',' << part << ',' << slot << ','
                      << formula[slot] << ',' << linear[slot] << ',' << fills[phase * cycle + slot]
                      << '\n';
        }
    }
}

// --- decay ---

// Queries all keys of the last l + k + 1 generations just before a shift.
template <typename Shape>
void print_decay(const Shape& shape) {
    constexpr unsigned kTables = 120;
    const std::uint64_t g = shape.generation_keys();
    const unsigned cycle = shape.k + shape.l;
    Table<typename Shape::Filter, decltype(shape.params())> table(shape.params());
    std::mt19937_64 random(2);
    std::deque<std::vector<Digest>> keys;
    std::vector<Mean> echoes(cycle + 1);
    for (std::uint64_t generation = 0; generation < std::uint64_t{cycle} * (kTables + 1);
         ++generation) {
        table.filter.advance({.generation = generation});
        keys.emplace_front();
        for (std::uint64_t i = 0; i < g; ++i) {
            keys.front().push_back(random());
            table.filter.insert(keys.front().back());
        }
        if (keys.size() > cycle + 1) {
            keys.pop_back();
        }
        if (generation % cycle != 0 || generation == 0) {
            continue;
        }
        for (unsigned age = 0; age < keys.size(); ++age) {
            const auto matches = std::count_if(keys[age].begin(), keys[age].end(),
                                               [&](Digest d) { return table.filter.query(d); });
            echoes[age].add(static_cast<double>(matches) / static_cast<double>(g));
        }
    }
    const sizing::Profile r = shape.profile(g, sizing::kBeforeShift);
    for (unsigned i = 0; i <= shape.k; ++i) {
        std::cout << Shape::kEngine << ',' << shape.name() << " g=" << g << ',' << i << ','
                  << static_cast<double>(i) / shape.l << ','
                  << sizing::slack_match(shape.k, shape.l, r, i) << ',' << echoes[shape.l + i]
                  << '\n';
    }
}

void print_decays() {
    std::cout << "engine,geometry,generations_past,windows_past,formula,measured,low,high\n";
    print_decay(ApbfShape{10, 25, 40'000});
    print_decay(ApbbfShape{4, 10, 512, 3, 300});
}

// --- rates ---

template <typename Shape>
void print_rate(const Shape& shape) {
    constexpr std::uint64_t kTables = 200;
    constexpr double kExpected = 15'000;  // false positives, over all tables
    constexpr double kMaxQueries = 1e8;
    const std::uint64_t g = shape.generation_keys();
    const double predicted = predicted_rate(shape, g);
    const auto queries = static_cast<std::uint64_t>(std::min(kMaxQueries, kExpected / predicted) /
                                                    static_cast<double>(kTables)) +
                         1;
    const std::uint64_t cycle = std::uint64_t{shape.k} + shape.l;
    Table<typename Shape::Filter, decltype(shape.params())> table(shape.params());
    std::mt19937_64 random(3);
    Mean rate;
    for (std::uint64_t generation = 0; generation < cycle * (kTables + 1); ++generation) {
        table.filter.advance({.generation = generation});
        insert_keys(table.filter, g, random);
        if (generation % cycle != 0 || generation == 0) {
            continue;
        }
        std::uint64_t matches = 0;
        for (std::uint64_t i = 0; i < queries; ++i) {
            matches += table.filter.query(random()) ? 1 : 0;
        }
        rate.add(static_cast<double>(matches) / static_cast<double>(queries));
    }
    std::cout << Shape::kEngine << ',' << shape.name() << " g=" << g << ',' << predicted << ','
              << rate << ',' << queries * kTables << '\n';
}

void print_rates() {
    std::cout << "engine,geometry,predicted,measured,low,high,queries\n";
    for (const ApbfShape& shape :
         {ApbfShape{4, 3, 20'000}, ApbfShape{5, 7, 20'000}, ApbfShape{7, 5, 20'000},
          ApbfShape{10, 7, 20'000}, ApbfShape{11, 9, 20'000}, ApbfShape{14, 11, 20'000}}) {
        print_rate(shape);
    }
    for (const ApbbfShape& shape : {ApbbfShape{1, 4, 512, 6, 200}, ApbbfShape{2, 5, 64, 4, 1'500},
                                    ApbbfShape{2, 5, 512, 4, 200}, ApbbfShape{2, 3, 512, 6, 200},
                                    ApbbfShape{2, 5, 512, 8, 200}, ApbbfShape{3, 8, 512, 6, 200}}) {
        print_rate(shape);
    }
    for (const ShbfWindowShape& shape :
         {ShbfWindowShape{1, 4, 40'000, 6}, ShbfWindowShape{1, 6, 40'000, 8},
          ShbfWindowShape{1, 6, 40'000, 12}, ShbfWindowShape{2, 8, 40'000, 6},
          ShbfWindowShape{2, 8, 40'000, 8}}) {
        print_rate(shape);
    }
    for (const BtbfShape& shape :
         {BtbfShape{4, 5, 50'000, 4}, BtbfShape{6, 2, 50'000, 3}, BtbfShape{8, 2, 50'000, 3},
          BtbfShape{11, 2, 50'000, 3}, BtbfShape{14, 5, 50'000, 4}}) {
        print_rate(shape);
    }
}

int run(std::span<char* const> arguments) {
    const std::string_view what = arguments.size() == 2 ? arguments[1] : "";
    if (what == "fill") {
        print_fill();
    } else if (what == "decay") {
        print_decays();
    } else if (what == "rates") {
        print_rates();
    } else {
        std::cerr << "usage: filter_measurements fill|decay|rates\n";
        return 2;
    }
    return 0;
}

}  // namespace
}  // namespace unecho

int main(int argc, char** argv) {
    return unecho::run({argv, static_cast<std::size_t>(argc)});
}
