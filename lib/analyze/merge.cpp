// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "analyze/whole.h"
#include "base/option_names.h"

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

// Whether one capture is counted twice, or shards are not of one whole. name: of b's file; before:
// of a's.
Status check(const CaptureInfo& a, const CaptureInfo& b, const std::string& name,
             const std::string& before) {
    const auto refuse = [&](const std::string& what) {
        return fail(Errc::kInvalidArgument, name + ": " + what);
    };
    if (same_capture(a, b)) {
        const auto twice =
            std::find_first_of(a.parts.begin(), a.parts.end(), b.parts.begin(), b.parts.end());
        return twice == a.parts.end() ? Status{}
                                      : refuse("shard " + shard_text(*twice, a) + " is in " +
                                               before + " already; allowed: each once");
    }
    if (same_packets(a, b)) {
        if (a.shards == 1 && b.shards == 1) {
            return refuse("the same packets as in " + before + "; allowed: each capture once");
        }
        return a.shards != b.shards
                   ? refuse("shard " + shard_text(b.parts.front(), b) + " of what " + before +
                            " has shard " + shard_text(a.parts.front(), a) +
                            " of; allowed: shards of one number")
                   : refuse("shards of another " + option::kSeed + " than those of " + before +
                            "; allowed: the same for all");
    }
    if (a.shards != 1 && a.shards == b.shards && a.secret == b.secret) {
        return refuse("shard " + shard_text(b.parts.front(), b) + " of other packets than " +
                      before + ": " + std::to_string(b.read.packets) + " were read there, " +
                      std::to_string(a.read.packets) +
                      " here; allowed: the same inputs in the same order");
    }
    return {};
}

bool same_question(const Asked& a, const Asked& b) {
    const auto all = [](const Asked& one) {
        return std::tie(one.key, one.non_ip, one.tunnels, one.tenant, one.key_bytes, one.window,
                        one.policy, one.first);
    };
    return all(a) == all(b);
}

Status check_options(const Part& part, const Part& first) {
    const auto refuse = [&](const std::string& what) {
        return fail(Errc::kInvalidArgument, part.name + ": " + what + " than " + first.name +
                                                "; allowed: reports made with the same options");
    };
    const auto& asked = part.whole.asked;
    const auto& other = first.whole.asked;
    if (asked.has_value() != other.has_value() || (asked && !same_question(*asked, *other))) {
        return refuse("other " + option::kKey + ", " + option::kWindow +
                      " or what else a configuration has were asked about");
    }
    if (part.whole.vxlan_ports != first.whole.vxlan_ports) {
        return refuse("other " + option::kVxlanPorts + " were told");
    }
    return {};
}

// Those of the whole, in the order in which they began, so that it is the same however they come.
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
        // Names and warnings are those that the first of the shards has.
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

// Where the captures of a part stand among all.
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

void add(Whole& whole, Whole more) {
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

Result<Whole> merge(std::vector<Part> parts) {
    for (std::size_t i = 1; i < parts.size(); ++i) {
        if (const Status options = check_options(parts[i], parts.front()); !options) {
            return tl::unexpected(options.error());
        }
        for (std::size_t before = 0; before < i; ++before) {
            for (const CaptureInfo& a : parts[before].whole.captures) {
                for (const CaptureInfo& b : parts[i].whole.captures) {
                    if (const Status fits = check(a, b, parts[i].name, parts[before].name); !fits) {
                        return tl::unexpected(fits.error());
                    }
                }
            }
        }
    }
    Whole out = std::move(parts.front().whole);
    for (std::size_t i = 1; i < parts.size(); ++i) {
        add(out, std::move(parts[i].whole));
    }
    return out;
}

}  // namespace unecho::analyze
