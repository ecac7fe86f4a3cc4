// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/recommend/what_if.h"

#include <algorithm>

#include <fmt/core.h>

#include "base/humanize.h"
#include "base/join_text.h"
#include "base/units.h"
#include "captures/analyze/report/text_format.h"

namespace unecho::analyze {
namespace {

// all: the copies in the capture.
Removal removal_of(const Count& removed, const RemovedEchoes::Sorted& echoes, const Count& all) {
    Removal out;
    out.removed = removed;
    out.copies = echoes.copies;
    out.left = all - echoes.copies;
    out.sent_again = echoes.sent_again;
    out.others = removed - echoes.copies - echoes.sent_again;
    return out;
}

// Return the known copies that were cut short, whichever configuration removes them.
Count cut_copies(const Report& report, Count most) {
    const auto take = [&most](const Count& other) {
        most = {std::max(most.packets, other.packets), std::max(most.bytes, other.bytes)};
    };
    take(report.recommendation.removed_cut);
    take(copies_cut_short(report));
    return most;
}

// "12 packets that were sent again"
std::string those(std::uint64_t packets, bool again) {
    const bool one = packets == 1;
    return fmt::format("{} that {}", format_quantity(packets, "packet"),
                       again ? (one ? "was sent again" : "were sent again")
                             : (one ? "is no copy" : "are no copies"));
}

std::string verdict_on(const Removal& it) {
    const std::uint64_t again = it.sent_again.packets;
    const std::uint64_t others = it.others.packets;
    std::string out;
    if (again + others != 0) {
        out = fmt::format(
            "It takes out {}{}{}: somebody will miss {} ", again == 0 ? "" : those(again, true),
            again != 0 && others != 0 ? " and " : "", others == 0 ? "" : those(others, false),
            again + others == 1 ? "it." : "them.");
    }
    if (it.left.packets != 0) {
        return fmt::format("{}It leaves {} in.", out,
                           format_quantity(it.left.packets, "copied packet"));
    }
    if (it.copies.packets == 0) {
        return out + (out.empty() ? "It removes nothing here, and n" : "N") +
               "othing here was copied.";
    }
    return out + (out.empty() ? "It removes all copies and nothing else." : "No copy stays.");
}

}  // namespace

RemovedEchoes::Sorted RemovedEchoes::sorted(const CopyAgeLimits& ends) const {
    Sorted out;
    for (std::size_t i = 0; i < bins_.size(); ++i) {
        (is_copy_bin(i, ends) ? out.copies : out.sent_again) += bins_[i];
    }
    return out;
}

void RemovedEchoes::add(const RemovedEchoes& others) {
    bins_.resize(std::max(bins_.size(), others.bins_.size()));
    for (std::size_t i = 0; i < others.bins_.size(); ++i) {
        bins_[i] += others.bins_[i];
    }
}

void WhatIfTally::add(const WhatIfTally& others) {
    removed_ += others.removed_;
    cut_ += others.cut_;
    for (std::size_t i = 0; i < echoes_.size(); ++i) {
        echoes_[i].add(others.echoes_[i]);
    }
}

bool WhatIfTally::valid() const noexcept {
    return echoes_[0].valid() && echoes_[1].valid();
}

void WhatIfTally::judge(const ClassifiedEchoes& packets, const ClassifiedEchoes& frames) {
    ends_ = {packets.ends, frames.ends};
    copies_ = packets.copies + frames.copies;
}

WhatIf WhatIfTally::answer(WhatIf wanted, const Report& report) const {
    const Recommendation& advice = report.recommendation;
    const Count all = copies_ + cut_copies(report, cut_);
    RemovedEchoes::Sorted echoes{cut_, {}};
    for (std::size_t i = 0; i < echoes_.size(); ++i) {
        const RemovedEchoes::Sorted some = echoes_[i].sorted(ends_[i]);
        echoes.copies += some.copies;
        echoes.sent_again += some.sent_again;
    }
    wanted.asked = removal_of(removed_, echoes, all);
    wanted.recommended = removal_of(advice.removed + advice.removed_cut,
                                    {least(advice.removed_copies + advice.removed_cut, all),
                                     advice.removed - advice.removed_copies},
                                    all);
    wanted.verdict = verdict_on(wanted.asked);
    return wanted;
}

std::string configuration_text(const WhatIf& it) {
    std::string out =
        fmt::format("key {}{}, {}", packet::name_of(it.key),
                    it.non_ip == packet::NonIp::kFrame ? ", non-IP frames too" : "",
                    it.window ? "window " + format_duration(*it.window) : "no end of the window");
    if (!it.tunnels.empty()) {
        out += ", tunnels " + join_text(it.tunnels, ",");
        out += it.tenant == packet::default_tenant(it.key)
                   ? ""
                   : ", tenant " + std::string(text_of(it.tenant));
    }
    if (it.tags != packet::Tags::kIgnore) {
        out += ", tags " + std::string(text_of(it.tags));
    }
    if (it.key_bytes) {
        out += fmt::format(", the first {} bytes", format_count(*it.key_bytes));
    }
    if (it.repeats == packet::Repeats::kDrop) {
        out += ", repeats drop";
    }
    if (it.policy != engines::Policy::kFixed) {
        out += ", policy " + std::string(text_of(it.policy));
    }
    return out + (it.first == 1 ? "" : ", first " + format_count(it.first));
}

}  // namespace unecho::analyze
