// SPDX-License-Identifier: BSD-3-Clause
#include "analyze/talkers.h"

#include <algorithm>
#include <cstring>
#include <string>

#include <arpa/inet.h>

#include "hash/digest.h"

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

std::string text_of(const AddressPair& pair, std::size_t offset) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    inet_ntop(pair.v6 ? AF_INET6 : AF_INET, pair.bytes.data() + offset, text.data(), text.size());
    return text.data();
}

}  // namespace

void Talkers::add(const AddressPair& pair, std::uint64_t length) noexcept {
    auto& set = sets_[reduce(mix(pair), kSets)];
    auto slot = std::find_if(set.begin(), set.end(), [&](const Slot& other) {
        return other.count != 0 && other.pair == pair;
    });
    if (slot == set.end()) {
        slot = std::min_element(set.begin(), set.end(),
                                [](const Slot& a, const Slot& b) { return a.count < b.count; });
        slot->pair = pair;
        slot->excess = slot->count;
        slot->bytes = 0;
    }
    ++slot->count;
    slot->bytes += length;
}

std::vector<Talker> Talkers::most(std::size_t n) const {
    std::vector<const Slot*> slots;
    for (const auto& set : sets_) {
        for (const Slot& slot : set) {
            if (slot.count != 0) {
                slots.push_back(&slot);
            }
        }
    }
    std::sort(slots.begin(), slots.end(), [](const Slot* a, const Slot* b) {
        return a->count != b->count ? a->count > b->count : a->pair.bytes < b->pair.bytes;
    });
    slots.resize(std::min(n, slots.size()));
    std::vector<Talker> out;
    for (const Slot* slot : slots) {
        out.push_back({text_of(slot->pair, 0), text_of(slot->pair, 16), slot->count, slot->excess,
                       slot->bytes});
    }
    return out;
}

}  // namespace unecho::analyze
