// SPDX-License-Identifier: BSD-3-Clause
#include "analyze/what_if.h"

#include <algorithm>

#include "analyze/words.h"
#include "base/units.h"
#include "base/words.h"

namespace unecho::analyze {
namespace {

RemovedEchoes::Sorted sum(const RemovedEchoes::Sorted& a, const RemovedEchoes::Sorted& b) {
    return {a.copies + b.copies, a.sent_again + b.sent_again};
}

// all: the copies that there are.
Removal removal_of(const Count& removed, const RemovedEchoes::Sorted& echoes, const Count& all) {
    Removal out;
    out.removed = removed;
    out.copies = echoes.copies;
    out.left = all - echoes.copies;
    out.sent_again = echoes.sent_again;
    out.others = removed - echoes.copies - echoes.sent_again;
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

void RemovedEchoes::add(const EchoBin& bin, std::uint64_t length, bool asked, WindowMask fixed,
                        WindowMask refresh) {
    Bin& into = bins_[bin.index()];
    if (asked) {
        into.asked.add(length);
    }
    into.fixed.add(fixed, length);
    into.refresh.add(refresh, length);
}

template <typename CountOf>
RemovedEchoes::Sorted RemovedEchoes::sorted(const CopyEnds& ends, CountOf count_of) const {
    Sorted out;
    for (std::size_t i = 0; i < bins_.size(); ++i) {
        (is_of_copies(i, ends) ? out.copies : out.sent_again) += count_of(bins_[i]);
    }
    return out;
}

RemovedEchoes::Sorted RemovedEchoes::asked(const CopyEnds& ends) const {
    return sorted(ends, [](const Bin& bin) { return bin.asked; });
}

RemovedEchoes::Sorted RemovedEchoes::with(const CopyEnds& ends, unsigned window,
                                          bool refresh) const {
    return sorted(ends,
                  [&](const Bin& bin) { return (refresh ? bin.refresh : bin.fixed).at(window); });
}

void WhatIfTally::judge(const SortedEchoes& packets, const SortedEchoes& frames) {
    packet_ends_ = packets.ends;
    frame_ends_ = frames.ends;
    copies_ = packets.copies + frames.copies;
}

// A window between two of the ladder is one that parts all copies from what was sent again.
Removal WhatIfTally::recommended(const Report& report) const {
    const Recommendation& advice = report.recommendation;
    const auto* const at = std::lower_bound(kLadder.begin(), kLadder.end() - 1, advice.window);
    if (*at != advice.window) {
        return removal_of(advice.removed, {advice.removed, {}}, copies_);
    }
    const auto window = static_cast<unsigned>(at - kLadder.begin());
    const bool refresh = advice.policy == engines::Policy::kRefresh;
    RemovedEchoes::Sorted echoes = packets_.with(packet_ends_, window, refresh);
    if (advice.non_ip == packet::NonIp::kFrame) {
        echoes = sum(echoes, frames_.with(frame_ends_, window, refresh));
    }
    return removal_of(advice.removed, echoes, copies_);
}

WhatIf WhatIfTally::answer(WhatIf asked, const Report& report) const {
    const RemovedEchoes::Sorted echoes =
        sum(packets_.asked(packet_ends_), frames_.asked(frame_ends_));
    asked.asked = removal_of(removed_, echoes, copies_);
    asked.recommended = recommended(report);
    asked.verdict = verdict_on(asked.asked);
    return asked;
}

std::string configuration_text(const WhatIf& it) {
    std::string out =
        "key " + std::string(packet::name_of(it.key)) +
        (it.non_ip == packet::NonIp::kFrame ? ", non-IP frames too" : "") + ", " +
        (it.window ? "window " + format_duration(*it.window) : "no end of the window");
    if (it.policy != engines::Policy::kFixed) {
        out += ", policy " + std::string(text_of(it.policy));
    }
    return out + (it.first == 1 ? "" : ", first " + format_count(it.first));
}

}  // namespace unecho::analyze
