// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/classify/loops.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace unecho::analyze {
namespace {

// A queue may fill and empty between two rounds; timestamps may be as coarse as kCoarse.
constexpr Nanoseconds kAlike = 4;
constexpr Nanoseconds kCoarse = 100 * kMicrosecond;

bool are_alike(Nanoseconds a, Nanoseconds b) noexcept {
    return std::max(a, b) <= kAlike * std::min(a, b) + kCoarse;
}

std::string mac_text(const std::uint8_t* mac) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string out;
    for (unsigned i = 0; i < 6; ++i) {
        out += i == 0 ? "" : ":";
        out += kDigits[mac[i] >> 4];
        out += kDigits[mac[i] & 15];
    }
    return out;
}

}  // namespace

// Start again after another step, or a round that took much longer or less.
bool Loops::next_round(Entry& entry, const Lower& echo) const noexcept {
    const auto step = static_cast<std::uint8_t>(entry.ttl - echo.echo.ttl);
    const Nanoseconds round = echo.now - entry.last;
    const bool goes_on = step == entry.step && are_alike(round, entry.round);
    entry.rounds = goes_on ? std::min<std::uint8_t>(entry.rounds + 1, kRounds) : 2;
    entry.step = step;
    entry.round = round;
    entry.last = echo.now;
    entry.ttl = echo.echo.ttl;
    return entry.rounds == kRounds;
}

bool Loops::add(const Lower& echo) {
    const bool same_place = echo.same_interface && echo.first.macs == echo.echo.macs;
    if (!same_place && !started_) {
        return false;
    }
    Entry* entry = table_.find(echo.digest);
    if (entry == nullptr) {
        if (same_place) {
            started_ = true;
            Entry& fresh = table_.insert(echo.digest, echo.now, [](const Entry&) {});
            fresh.round = echo.since_first;
            fresh.ttl = echo.echo.ttl;
            fresh.step = static_cast<std::uint8_t>(echo.first.ttl - echo.echo.ttl);
            fresh.rounds = 2;
        }
        return false;
    }
    if (echo.echo.ttl >= entry->ttl) {  // another copy of the same round
        return false;
    }
    const bool known = entry->rounds == kRounds;
    const bool looped = same_place ? next_round(*entry, echo) : known;
    if (looped) {
        count(echo, *entry, !known);
    }
    return looped;
}

void Loops::count(const Lower& echo, const Entry& entry, bool begins) {
    LoopCount one;
    if (echo.macs != nullptr) {
        const std::uint8_t* low = echo.macs;
        const std::uint8_t* high = echo.macs + 6;
        if (std::lexicographical_compare(high, high + 6, low, low + 6)) {
            std::swap(low, high);
        }
        std::copy_n(low, 6, one.place.begin());
        std::copy_n(high, 6, one.place.begin() + 6);
    }
    one.copies.add(echo.length);
    one.packets = begins ? 1 : 0;
    one.latest = echo.now;
    one.step = entry.step;
    one.round = entry.round;
    const auto found = std::find_if(places_.begin(), places_.end(), [&](const LoopCount& other) {
        return other.place == one.place;
    });
    if (found != places_.end()) {
        found->add(one);
    } else if (places_.size() < kMaxPlaces) {
        places_.push_back(one);
    }
}

void LoopCount::add(const LoopCount& more) {
    copies += more.copies;
    packets += more.packets;
    const std::tuple theirs(more.latest, more.step, more.round);
    if (std::tuple(latest, step, round) < theirs) {
        std::tie(latest, step, round) = theirs;
    }
}

std::vector<Loop> loop_rows(std::vector<LoopCount> counts) {
    std::sort(counts.begin(), counts.end(), [](const LoopCount& a, const LoopCount& b) {
        return std::tie(b.copies.packets, a.place) < std::tie(a.copies.packets, b.place);
    });
    std::vector<Loop> out;
    for (const LoopCount& one : counts) {
        Loop& loop = out.emplace_back();
        if (one.place != LoopPlace{}) {
            loop.one = mac_text(one.place.data());
            loop.other = mac_text(one.place.data() + 6);
        }
        loop.copies = one.copies;
        loop.packets = one.packets;
        loop.step = one.step;
        loop.round = one.round;
    }
    return out;
}

}  // namespace unecho::analyze
