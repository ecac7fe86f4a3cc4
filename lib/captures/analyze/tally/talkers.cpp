// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/tally/talkers.h"

#include <cstring>
#include <string>

#include <arpa/inet.h>

#include "filters/hash/digest.h"

namespace unecho::analyze {
namespace {

std::uint64_t mix(const AddressPair& pair) noexcept {
    std::array<std::uint64_t, 4> words{};
    std::memcpy(words.data(), pair.bytes.data(), sizeof(words));
    std::uint64_t mixed = pair.v6 ? 1 : 0;
    for (const std::uint64_t word : words) {
        mixed = remix(mixed ^ word, 1);
    }
    return mixed;
}

std::string text_of_pair(const AddressPair& pair, std::size_t offset) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    inet_ntop(pair.v6 ? AF_INET6 : AF_INET, pair.bytes.data() + offset, text.data(), text.size());
    return text.data();
}

}  // namespace

void Talkers::add(const AddressPair& pair, std::uint64_t length) {
    counts_.add(pair, mix(pair), length);
}

std::vector<Talker> top_talkers(const TopSummary<AddressPair>& pairs, std::size_t n) {
    std::vector<Talker> out;
    for (const auto& [pair, count, excess, bytes] : pairs.most(n)) {
        out.push_back({text_of_pair(pair, 0), text_of_pair(pair, 16), count, excess, bytes});
    }
    return out;
}

}  // namespace unecho::analyze
