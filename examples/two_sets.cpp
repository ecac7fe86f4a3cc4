// SPDX-License-Identifier: BSD-3-Clause
// Says of each input line which of two files contains it: the first, the second, both or neither.
// It stores a few bytes a line instead of the lines themselves.
//
//     two_sets FIRST SECOND < lines
//
//     g++ -std=c++20 -O2 two_sets.cpp $(pkg-config --cflags --libs unecho-filters)
#include <algorithm>
#include <cstddef>
#include <fstream>
#include <iostream>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <unecho/filters/sets/shifting/shbf_a.h>
#include <unecho/filters/hash/keyed.h>
#include <unecho/filters/sizing/sets/shbf.h>

using namespace unecho;
using filter::Association;
using filter::Region;
using filter::SetOfTwo;

struct alignas(64) CacheLine {
    std::byte bytes[64];
};

// Possible answers. With the elements for which the filter was sized, at most 1 in 1000 is not one
// of the first three. The true one is always among those that an answer leaves open.
std::string_view text_of(Association answer) {
    switch (answer) {
        case Association::kFirstOnly:
            return "first";
        case Association::kSecondOnly:
            return "second";
        case Association::kBoth:
            return "both";
        case Association::kNeither:
            return "neither";
        case Association::kFirst:
            return "first or both";
        case Association::kSecond:
            return "second or both";
        case Association::kOneOnly:
            return "first or second";
        case Association::kUnknown:
            break;
    }
    return "first, second or both";
}

Status run(const char* const (&files)[2]) {
    const auto secret = hash::random_secret();
    if (!secret) {
        return tl::unexpected(secret.error());
    }
    const auto digest_of = [&secret](const std::string& line) {
        const auto* text = reinterpret_cast<const std::uint8_t*>(line.data());
        return hash::keyed_digest(text, line.size(), *secret);
    };

    // The exact region of each element, needed only while the filter is filled.
    std::unordered_map<Digest, Region> elements;
    for (const SetOfTwo set : {SetOfTwo::kFirst, SetOfTwo::kSecond}) {
        const char* name = files[static_cast<std::size_t>(set)];
        std::ifstream file(name);
        if (!file) {
            return fail(Errc::kIo, std::string(name) + " cannot be read");
        }
        for (std::string line; std::getline(file, line);) {
            Region& region = elements[digest_of(line)];
            region = filter::joined(region, set);
        }
    }

    // With a chance of 0.999 an answer names exactly one region.
    const auto geometry = sizing::size_shbf_a(std::max<std::size_t>(1, elements.size()), 0.999);
    if (!geometry) {
        return tl::unexpected(geometry.error());
    }
    const auto params = filter::ShbfAParams::make({.m = geometry->m, .k = geometry->k});
    if (!params) {
        return tl::unexpected(params.error());
    }
    std::vector<CacheLine> memory(filter::ShbfA::bytes(*params) / sizeof(CacheLine));
    filter::ShbfA sets(*params, std::as_writable_bytes(std::span(memory)));
    for (const auto& [digest, region] : elements) {
        sets.insert(digest, region);
    }
    elements.clear();

    for (std::string line; std::getline(std::cin, line);) {
        std::cout << text_of(sets.query(digest_of(line))) << '\n';
    }
    return {};
}

int main(int argc, char** argv) {
    const Status done =
        argc == 3 ? run({argv[1], argv[2]}) : fail(Errc::kInvalidArgument, "allowed: FIRST SECOND");
    if (!done) {
        std::cerr << "two_sets: " << done.error().context << "\n";
        return 2;
    }
    return 0;
}
