// SPDX-License-Identifier: BSD-3-Clause
// Prints the lines of its input that differ from the last N lines, or from those within the last T.
//
//     recent_lines 1000         the last 1000 lines
//     recent_lines 10s 50kpps   the last ten seconds, of up to 50,000 lines a second
//
//     g++ -std=c++20 -O2 recent_lines.cpp $(pkg-config --cflags --libs unecho-filters)
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <unecho/base/units.h>
#include <unecho/filters/generation.h>
#include <unecho/filters/window/line.h>
#include <unecho/filters/hash/keyed.h>
#include <unecho/filters/sizing/window/line.h>

using namespace unecho;

struct alignas(64) CacheLine {
    std::byte bytes[64];
};

// The window as a time; for the last N lines, each line takes 1 ms.
struct Wanted {
    sizing::Targets targets;
    bool count_lines = false;
};

Result<Wanted> wanted_of(std::span<char*> words) {
    if (words.size() == 2) {
        const Result<Nanoseconds> window = parse_duration(words[0]);
        const Result<double> rate = parse_rate(words[1]);
        if (!window || !rate) {
            return tl::unexpected(window ? rate.error() : window.error());
        }
        return Wanted{{.window = *window, .keys_per_second = *rate, .max_false_drop = 1e-6}};
    }
    const std::string_view word = words.size() == 1 ? words[0] : "";
    std::uint64_t lines = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), lines);
    if (error != std::errc{} || end != word.data() + word.size() || lines == 0 || lines > 1e9) {
        return fail(Errc::kInvalidArgument, "allowed: 1 to 10^9 lines; or a time and a rate");
    }
    // The line N lines ago is still within the window.
    const Nanoseconds window = (lines + 1) * kMillisecond;
    return Wanted{{.window = window, .keys_per_second = 1000, .max_false_drop = 1e-6}, true};
}

Status run(const Wanted& wanted) {
    // Size a geometry for the targets, and make its parameters.
    const auto geometry = sizing::size_line(wanted.targets);
    if (!geometry) {
        return tl::unexpected(geometry.error());
    }
    const auto params = filter::LineParams::make({.M = geometry->M,
                                                  .k = geometry->k,
                                                  .b = geometry->b,
                                                  .phases = geometry->phases,
                                                  .lines = geometry->lines,
                                                  .policy = filter::EchoPolicy::kRefresh,
                                                  .isa = filter::best_isa()});
    // Keys are 64-bit digests under a secret, so nobody can craft two lines with equal digests.
    const auto secret = hash::random_secret();
    if (!params || !secret) {
        return tl::unexpected(params ? secret.error() : params.error());
    }

    // A filter uses the caller's memory: zeroed, in whole cache lines.
    std::vector<CacheLine> memory(filter::LineFilter::bytes(*params) / sizeof(CacheLine));
    filter::LineFilter recent(*params, std::as_writable_bytes(std::span(memory)));

    // The caller also supplies the time; the generations of the window follow from it.
    const auto clock =
        filter::GenerationClock::covering(wanted.targets.window, params->l() * params->phases());
    const auto start = std::chrono::steady_clock::now();
    Nanoseconds now = 0;
    for (std::string line; std::getline(std::cin, line); now += kMillisecond) {
        if (!wanted.count_lines) {
            now = static_cast<Nanoseconds>((std::chrono::steady_clock::now() - start).count());
        }
        recent.advance({now, clock.generation_of(now)});
        recent.maintain();
        const auto* text = reinterpret_cast<const std::uint8_t*>(line.data());
        if (!recent.test_and_insert(hash::keyed_digest(text, line.size(), *secret))) {
            std::cout << line << std::endl;
        }
    }
    return {};
}

int main(int argc, char** argv) {
    const Status done = wanted_of({argv + 1, argv + argc}).and_then(run);
    if (!done) {
        std::cerr << "recent_lines: " << done.error().context << "\n";
        return 2;
    }
    return 0;
}
