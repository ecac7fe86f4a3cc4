// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include "base/option_names.h"
#include "captures/analyze/analysis_state.h"
#include "captures/analyze/state_json.h"

namespace unecho::analyze {
namespace {

using Shards = std::vector<std::uint32_t>;

Shards joined(const Shards& a, const Shards& b) {
    Shards out;
    std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
    return out;
}

std::string shard_text(std::uint32_t index, const CaptureInfo& capture) {
    return Shard{index, capture.shards}.text();
}

std::string first_path(const CaptureInfo& capture) {
    return capture.inputs.empty() ? "" : capture.inputs.front().path;
}

bool same_packets(const CaptureInfo& a, const CaptureInfo& b) {
    return a.read.packets != 0 && a.read == b.read;
}

bool same_capture(const CaptureInfo& a, const CaptureInfo& b) {
    return a.read == b.read && a.shards == b.shards && a.shards != 1 && a.secret == b.secret;
}

// Return an error if a capture is counted twice, or if shards do not belong together. name: the
// file of b; before: the file of a.
Status check(const CaptureInfo& a, const CaptureInfo& b, const std::string& name,
             const std::string& before) {
    const auto refuse = [&](const std::string& what) {
        return fail(Errc::kInvalidArgument, fmt::format("{}: {}", name, what));
    };
    if (same_capture(a, b)) {
        const auto twice =
            std::find_first_of(a.parts.begin(), a.parts.end(), b.parts.begin(), b.parts.end());
        return twice == a.parts.end()
                   ? Status{}
                   : refuse(fmt::format("shard {} is in {} already; allowed: each once",
                                        shard_text(*twice, a), before));
    }
    if (same_packets(a, b)) {
        if (a.shards == 1 && b.shards == 1) {
            return refuse("the same packets as in " + before + "; allowed: each capture once");
        }
        return a.shards != b.shards
                   ? refuse(fmt::format(
                         "shard {} of what {} has shard {} of; allowed: shards of one number",
                         shard_text(b.parts.front(), b), before, shard_text(a.parts.front(), a)))
                   : refuse(fmt::format(
                         "shards of another {} than those of {}; allowed: the same for all",
                         option::kSeed, before));
    }
    if (a.shards != 1 && a.shards == b.shards && a.secret == b.secret) {
        return refuse(
            fmt::format("shard {} of other packets than {}: {} were read there, {} here; allowed: "
                        "the same inputs in the same order",
                        shard_text(b.parts.front(), b), before, b.read.packets, a.read.packets));
    }
    return {};
}

tl::unexpected<Error> too_large(const std::string& name) {
    return fail(Errc::kNoMemory, fmt::format("{}: to merge it takes more than {} allows; give "
                                             "more, or make the report again if it is damaged",
                                             name, option::kMemory));
}

std::uint64_t sources_of(const AnalysisState& whole) {
    std::uint64_t sources = 0;
    for (const CaptureInfo& capture : whole.captures) {
        sources += capture.interfaces.size() + capture.inputs.size();
    }
    return sources;
}

Status check_options(const std::string& name, const AnalysisState& more, const std::string& first,
                     const AnalysisState& whole) {
    const auto refuse = [&](const std::string& what) {
        return fail(Errc::kInvalidArgument,
                    fmt::format("{}: {} than {}; allowed: reports made with the same options", name,
                                what, first));
    };
    std::optional<WhatIfQuestion> asked = more.asked;
    if (asked && whole.asked) {
        asked->forgotten = whole.asked->forgotten;
    }
    if (asked != whole.asked) {
        return refuse(fmt::format("other {}, {} or what else a configuration has were asked about",
                                  option::kKey, option::kWindow));
    }
    if (more.vxlan_ports != whole.vxlan_ports) {
        return refuse(fmt::format("other {} were told", option::kVxlanPorts));
    }
    return {};
}

// Return all captures, ordered by when they began, so that the order of merging does not matter.
std::vector<CaptureInfo> all_captures(const std::vector<CaptureInfo>& a,
                                      const std::vector<CaptureInfo>& b) {
    std::vector<CaptureInfo> out = a;
    for (const CaptureInfo& one : b) {
        const auto same = std::find_if(out.begin(), out.end(), [&](const CaptureInfo& other) {
            return same_capture(one, other);
        });
        if (same == out.end()) {
            out.push_back(one);
            continue;
        }
        // Names and warnings come from the shard with the lowest number.
        CaptureInfo first = same->parts.front() < one.parts.front() ? *same : one;
        first.parts = joined(same->parts, one.parts);
        first.incomplete = same->incomplete || one.incomplete;
        *same = std::move(first);
    }
    std::sort(out.begin(), out.end(), [](const CaptureInfo& x, const CaptureInfo& y) {
        const auto key = [](const CaptureInfo& it) {
            return std::tuple(it.first, it.read.mark, it.read.packets, first_path(it));
        };
        return key(x) < key(y);
    });
    return out;
}

// Return the positions that a part's captures, interfaces and files have among all.
Findings::Places places_of(const std::vector<CaptureInfo>& part,
                           const std::vector<CaptureInfo>& all) {
    Findings::Places out;
    out.all_captures = all.size();
    std::vector<bool> taken(all.size());
    for (const CaptureInfo& one : part) {
        std::uint32_t at = 0;
        std::uint32_t interfaces = 0;
        std::uint32_t files = 0;
        const auto is_it = [&](const CaptureInfo& other) {
            return same_capture(one, other) ||
                   (one.shards == 1 && other.shards == 1 && one.read == other.read &&
                    (one.read.packets != 0 || first_path(one) == first_path(other)));
        };
        while (taken[at] || !is_it(all[at])) {
            interfaces += static_cast<std::uint32_t>(all[at].interfaces.size());
            files += static_cast<std::uint32_t>(all[at].inputs.size());
            ++at;
        }
        taken[at] = true;
        out.captures.push_back(at);
        for (std::uint32_t i = 0; i < one.interfaces.size(); ++i) {
            out.interfaces.push_back(interfaces + i);
        }
        for (std::uint32_t i = 0; i < one.inputs.size(); ++i) {
            out.files.push_back(files + i);
        }
    }
    return out;
}

void add(AnalysisState& whole, AnalysisState more) {
    const std::vector<CaptureInfo> all = all_captures(whole.captures, more.captures);
    whole.views.renumber(places_of(whole.captures, all));
    more.views.renumber(places_of(more.captures, all));
    whole.views.add(more.views);
    whole.captures = all;
    if (whole.asked && more.asked) {
        whole.asked->forgotten += more.asked->forgotten;
    }
}

}  // namespace

std::vector<std::uint32_t> CaptureInfo::missing() const {
    std::vector<std::uint32_t> out;
    for (std::uint32_t i = 1; i <= shards; ++i) {
        if (!std::binary_search(parts.begin(), parts.end(), i)) {
            out.push_back(i);
        }
    }
    return out;
}

Status ReportMerger::check_captures(const std::string& name, const AnalysisState& more) const {
    for (const Added& before : added_) {
        for (const CaptureInfo& a : before.captures) {
            for (const CaptureInfo& b : more.captures) {
                UNECHO_TRY(check(a, b, name, before.name));
            }
        }
    }
    return {};
}

std::uint64_t ReportMerger::room() {
    std::uint64_t taken = 0;
    if (whole_) {
        state::StateSizer meter;
        whole_->state(meter);
        taken = meter.bytes();
    }
    // The other half is for the report made from the merged state.
    const std::uint64_t most = memory_ / 2;
    return most - std::min(most, taken);
}

Status ReportMerger::add(const std::string& name, std::string_view report) {
    const auto named = [&](const Error& error) {
        return error.code == Errc::kNoMemory ? too_large(name)
                                             : fail(error.code, name + ": " + error.context);
    };
    const std::uint64_t room = this->room();
    Result<AnalysisState> more = parse_analysis_state(report, room);
    if (!more) {
        return named(more.error());
    }
    if (whole_) {
        UNECHO_TRY(check_options(name, *more, added_.front().name, *whole_));
        UNECHO_TRY(check_captures(name, *more));
        // Merged, each count by interface or file becomes a list of all of them, in many bins.
        const std::uint64_t lists = whole_->views.lists_by_source() + more->views.lists_by_source();
        if (lists * (sources_of(*whole_) + sources_of(*more)) * sizeof(Count) > room) {
            return too_large(name);
        }
    }
    added_.push_back({name, more->captures});
    if (whole_) {
        analyze::add(*whole_, std::move(*more));
    } else {
        whole_ = std::move(*more);
    }
    return {};
}

}  // namespace unecho::analyze
