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

// Copies cut short that are known of, whichever configuration removes them.
Count cut_copies(const Report& report, Count most) {
    const auto take = [&most](const Count& other) {
        most = {std::max(most.packets, other.packets), std::max(most.bytes, other.bytes)};
    };
    take(report.recommendation.removed_cut);
    take(cut_short(report));
    return most;
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

void RemovedEchoes::add(const EchoBin& bin, std::uint64_t length, bool asked,
                        const DroppedWith& dropped) {
    bins_.resize(kBins);
    Bin& into = bins_[bin.index()];
    if (asked) {
        into.asked.add(length);
    }
    into.fixed.add(dropped.fixed, length);
    into.refresh.add(dropped.refresh, length);
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

void RemovedEchoes::add(const RemovedEchoes& others) {
    bins_.resize(std::max(bins_.size(), others.bins_.size()));
    for (std::size_t i = 0; i < others.bins_.size(); ++i) {
        bins_[i].asked += others.bins_[i].asked;
        bins_[i].fixed.add(others.bins_[i].fixed);
        bins_[i].refresh.add(others.bins_[i].refresh);
    }
}

void WhatIfTally::add(const WhatIfTally& others) {
    removed_ += others.removed_;
    cut_ += others.cut_;
    for (std::size_t judged = 0; judged < 2; ++judged) {
        for (std::size_t frame = 0; frame < 2; ++frame) {
            own_[judged][frame].add(others.own_[judged][frame]);
            plain_[judged][frame].add(others.plain_[judged][frame]);
        }
    }
}

bool WhatIfTally::valid() const noexcept {
    const auto all = [](const Echoes& echoes) {
        return std::all_of(echoes.begin(), echoes.end(), [](const auto& judged) {
            return judged[0].valid() && judged[1].valid();
        });
    };
    return all(own_) && all(plain_);
}

void WhatIfTally::judge(const SortedEchoes& packets, const SortedEchoes& frames) {
    ends_ = {packets.ends, frames.ends};
    copies_ = packets.copies + frames.copies;
}

RemovedEchoes::Sorted WhatIfTally::asked() const {
    return sum(own_[0][0].asked(ends_[0]), own_[1][1].asked(ends_[1]));
}

RemovedEchoes::Sorted WhatIfTally::dropped(const Recommendation& advice, unsigned window,
                                           bool inside) const {
    const Echoes& echoes = looks_inside_ && !inside ? plain_ : own_;
    const bool refresh = advice.policy == engines::Policy::kRefresh;
    RemovedEchoes::Sorted out;
    for (std::size_t judged = 0; judged < 2; ++judged) {
        for (std::size_t frame = 0; frame < (advice.non_ip == packet::NonIp::kFrame ? 2 : 1);
             ++frame) {
            out = sum(out, echoes[judged][frame].with(ends_[judged], window, refresh));
        }
    }
    return out;
}

// A window between two of the ladder is one that parts all copies from what was sent again.
Removal WhatIfTally::recommended(const Report& report, const Count& all) const {
    const Recommendation& advice = report.recommendation;
    const Count removed = advice.removed + advice.removed_cut;
    const auto* const at = std::lower_bound(kLadder.begin(), kLadder.end() - 1, advice.window);
    if (*at != advice.window) {
        return removal_of(removed, {removed, {}}, all);
    }
    const RemovedEchoes::Sorted echoes =
        dropped(advice, static_cast<unsigned>(at - kLadder.begin()), report.basis.inside);
    return removal_of(removed, sum(echoes, {advice.removed_cut, {}}), all);
}

WhatIf WhatIfTally::answer(WhatIf wanted, const Report& report) const {
    const Count all = copies_ + cut_copies(report, cut_);
    wanted.asked = removal_of(removed_, sum(asked(), {cut_, {}}), all);
    wanted.recommended = recommended(report, all);
    wanted.verdict = verdict_on(wanted.asked);
    return wanted;
}

std::string configuration_text(const WhatIf& it) {
    std::string out =
        "key " + std::string(packet::name_of(it.key)) +
        (it.non_ip == packet::NonIp::kFrame ? ", non-IP frames too" : "") + ", " +
        (it.window ? "window " + format_duration(*it.window) : "no end of the window");
    if (!it.tunnels.empty()) {
        out += ", tunnels " + joined(it.tunnels, ",");
        out += it.tenant == packet::default_tenant(it.key)
                   ? ""
                   : ", tenant " + std::string(text_of(it.tenant));
    }
    if (it.key_bytes) {
        out += ", the first " + format_count(*it.key_bytes) + " bytes";
    }
    if (it.policy != engines::Policy::kFixed) {
        out += ", policy " + std::string(text_of(it.policy));
    }
    return out + (it.first == 1 ? "" : ", first " + format_count(it.first));
}

}  // namespace unecho::analyze
