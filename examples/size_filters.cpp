// SPDX-License-Identifier: BSD-3-Clause
// Prints what it takes to remember a window: geometry, memory and guarantees of three filters.
//
//     size_filters 50ms 10Mpps 1e-6     a window, keys a second, false drops
//
//     g++ -std=c++20 -O2 size_filters.cpp $(pkg-config --cflags --libs unecho-filters)
#include <cstdlib>
#include <iostream>
#include <span>
#include <string>

#include <unecho/base/units.h>
#include <unecho/filters/sizing/window/apbbf.h>
#include <unecho/filters/sizing/window/apbf.h>
#include <unecho/filters/sizing/window/line.h>

using namespace unecho;

Result<sizing::Targets> targets_of(std::span<char*> words) {
    if (words.size() != 3) {
        return fail(Errc::kInvalidArgument, "allowed: WINDOW RATE FALSE_DROPS");
    }
    const Result<Nanoseconds> window = parse_duration(words[0]);
    const Result<double> rate = parse_rate(words[1]);
    if (!window || !rate) {
        return tl::unexpected(window ? rate.error() : window.error());
    }
    return sizing::Targets{.window = *window,
                           .keys_per_second = *rate,
                           .max_false_drop = std::strtod(words[2], nullptr)};
}

std::string text_of(const sizing::LineGeometry& g) {
    return "line M=" + std::to_string(g.M) + " k=" + std::to_string(g.k) +
           " l=" + std::to_string(g.l) + " b=" + std::to_string(g.b) +
           " phases=" + std::to_string(g.phases) + " lines=" + std::to_string(g.lines);
}
std::string text_of(const sizing::ApbbfGeometry& g) {
    return "apbbf k=" + std::to_string(g.k) + " l=" + std::to_string(g.l) +
           " B=" + std::to_string(g.B) + " b=" + std::to_string(g.b) +
           " blocks=" + std::to_string(g.blocks);
}
std::string text_of(const sizing::ApbfGeometry& g) {
    return "apbf k=" + std::to_string(g.k) + " l=" + std::to_string(g.l) +
           " m=" + std::to_string(g.m);
}

// Print a sized geometry and its prediction at the planned rate.
template <typename Geometry>
Status print(const Result<Geometry>& geometry, const sizing::Targets& targets) {
    if (!geometry) {
        return tl::unexpected(geometry.error());
    }
    const sizing::Prediction gives =
        sizing::predict(*geometry, targets.window, targets.keys_per_second);
    const Nanoseconds forgets = targets.window + gives.slack + kMicrosecond - 1;
    std::cout << text_of(*geometry) << ": bytes=" << gives.bytes
              << " false_drops=" << gives.false_drop << " lines_a_key=" << gives.lines_per_packet
              << " forgets_within=" << duration_literal(forgets / kMicrosecond * kMicrosecond)
              << "\n";
    return {};
}

Status run(const sizing::Targets& targets) {
    return print(sizing::size_line(targets), targets)
        .and_then([&] { return print(sizing::size_apbbf(targets), targets); })
        .and_then([&] { return print(sizing::size_apbf(targets), targets); });
}

int main(int argc, char** argv) {
    const Status done = targets_of({argv + 1, argv + argc}).and_then(run);
    if (!done) {
        std::cerr << "size_filters: " << done.error().context << "\n";
        return 2;
    }
    return 0;
}
