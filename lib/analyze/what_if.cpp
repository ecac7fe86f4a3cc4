// SPDX-License-Identifier: BSD-3-Clause
#include "analyze/what_if.h"

#include <algorithm>

#include "analyze/words.h"
#include "base/units.h"

namespace unecho::analyze {
namespace {

Count sum(const Count& a, const Count& b) {
    return {a.packets + b.packets, a.bytes + b.bytes};
}

Count less(const Count& a, const Count& b) {
    return {a.packets - b.packets, a.bytes - b.bytes};
}

// all: the copies that there are.
Removal removal_of(const Count& removed, const RemovedEchoes::Sorted& echoes, const Count& all) {
    Removal out;
    out.removed = removed;
    out.copies = echoes.copies;
    out.left = less(all, echoes.copies);
    out.sent_again = echoes.sent_again;
    out.others = less(removed, sum(echoes.copies, echoes.sent_again));
    return out;
}

// "12 packets that were sent again"
std::string those(std::uint64_t packets, bool again) {
    const bool one = packets == 1;
    return counted(packets, "packet") + " that " +
           (again ? (one ? "was sent again" : "were sent again")
                  : (one ? "is no copy" : "are no copies"));
}

std::string verdict_on(const Removal& it) {
    const std::uint64_t again = it.sent_again.packets;
    const std::uint64_t others = it.others.packets;
    std::string out;
    if (again + others != 0) {
        out = "It takes out " + (again == 0 ? "" : those(again, true)) +
              (again != 0 && others != 0 ? " and " : "") +
              (others == 0 ? "" : those(others, false)) + ": somebody will miss " +
              (again + others == 1 ? "it. " : "them. ");
    }
    if (it.left.packets != 0) {
        return out + "It leaves " + counted(it.left.packets, "copied packet") + " in.";
    }
    if (it.copies.packets == 0) {
        return out + (out.empty() ? "It removes nothing here, and n" : "N") +
               "othing here was copied.";
    }
    return out + (out.empty() ? "It removes all copies and nothing else." : "No copy stays.");
}

}  // namespace

void RemovedEchoes::add(const Repeats::Place& place, std::uint64_t length, bool asked,
                        WindowMask fixed, WindowMask refresh) {
    Bin& bin = bins_[place.is * std::size_t{kAgeBins} + place.bin];
    if (asked) {
        bin.asked.add(length);
    }
    bin.fixed.add(fixed, length);
    bin.refresh.add(refresh, length);
}

template <typename CountOf>
RemovedEchoes::Sorted RemovedEchoes::sorted(const Repeats::Ends& ends, CountOf count_of) const {
    Sorted out;
    for (std::size_t i = 0; i < bins_.size(); ++i) {
        Count& into = i % kAgeBins < ends.at(i / kAgeBins) ? out.copies : out.sent_again;
        into = sum(into, count_of(bins_[i]));
    }
    return out;
}

RemovedEchoes::Sorted RemovedEchoes::asked(const Repeats::Ends& ends) const {
    return sorted(ends, [](const Bin& bin) { return bin.asked; });
}

RemovedEchoes::Sorted RemovedEchoes::with(const Repeats::Ends& ends, unsigned window,
                                          bool refresh) const {
    return sorted(ends,
                  [&](const Bin& bin) { return (refresh ? bin.refresh : bin.fixed).at(window); });
}

void WhatIfTally::judge(const Told& packets, const Told& frames) {
    packet_ends_ = packets.ends;
    frame_ends_ = frames.ends;
    copies_ = sum(sum(packets.copies, frames.copies), moved_.copies);
}

// Key packet passes frames without an IP packet; key frame is recommended where there is no other.
Removal WhatIfTally::recommended(const Report& report) const {
    const Recommendation& advice = report.recommendation;
    const auto* const at = std::find(kLadder.begin(), kLadder.end(), advice.window);
    const auto window = static_cast<unsigned>(std::min(at, kLadder.end() - 1) - kLadder.begin());
    const bool whole = advice.key == packet::KeyMode::kFrame;
    return removal_of(advice.removed,
                      whole ? frames_.with(frame_ends_, window, false)
                            : packets_.with(packet_ends_, window, advice.policy == "refresh"),
                      copies_);
}

WhatIf WhatIfTally::answer(WhatIf asked, const Report& report) const {
    const RemovedEchoes::Sorted packets = packets_.asked(packet_ends_);
    const RemovedEchoes::Sorted frames = frames_.asked(frame_ends_);
    const RemovedEchoes::Sorted echoes{
        sum(sum(packets.copies, frames.copies), moved_.copies),
        sum(sum(packets.sent_again, frames.sent_again), moved_.sent_again)};
    asked.asked = removal_of(removed_, echoes, copies_);
    asked.recommended = recommended(report);
    asked.verdict = verdict_on(asked.asked);
    return asked;
}

std::string configuration_text(const WhatIf& it) {
    std::string out =
        "key " + std::string(packet::name_of(it.key)) +
        (it.non_ip == "frame" ? ", non-IP frames too" : "") + ", " +
        (it.window ? "window " + format_duration(*it.window) : "no end of the window");
    out += it.policy == "fixed" ? "" : ", policy " + it.policy;
    return out + (it.first == 1 ? "" : ", first " + format_count(it.first));
}

}  // namespace unecho::analyze
