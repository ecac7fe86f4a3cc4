// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/option_names.h"
#include "captures/analyze/analysis_state.h"
#include "captures/analyze/state_json.h"

namespace unecho::analyze {
namespace {

using Json = nlohmann::ordered_json;

// Increment whenever the format or the meaning of the written state changes.
constexpr std::uint64_t kVersion = 6;

bool valid(const WhatIfQuestion& asked) {
    return static_cast<std::size_t>(asked.key) < packet::kKeyModes &&
           asked.non_ip <= packet::NonIp::kFrame && asked.tenant <= packet::Tenant::kMatch &&
           asked.tags <= packet::Tags::kPoint &&
           static_cast<std::size_t>(asked.policy) < engines::kPolicyNames.size() &&
           asked.repeats <= packet::Repeats::kKeep;
}

bool valid(const CaptureInfo& capture) {
    const auto& parts = capture.parts;
    return capture.shards >= 1 && capture.shards <= kMaxShards && !parts.empty() &&
           parts.front() >= 1 && parts.back() <= capture.shards &&
           std::adjacent_find(parts.begin(), parts.end(), std::greater_equal<>()) == parts.end() &&
           capture.interfaces.size() <= CollectorCounts::kMaxInterfaces &&
           (capture.other_interfaces == 0 || !capture.interfaces.empty()) &&
           std::all_of(
               capture.interfaces.begin(), capture.interfaces.end(),
               [&](const CaptureInfo::Source& one) { return one.file < capture.inputs.size(); });
}

// Return true if every index in the state refers to something that exists.
bool valid(const AnalysisState& whole) {
    std::size_t interfaces = 0;
    std::size_t files = 0;
    for (const CaptureInfo& capture : whole.captures) {
        interfaces += capture.interfaces.size();
        files += capture.inputs.size();
    }
    const auto known = [&](const Findings& view) {
        return view.valid(whole.captures.size(), interfaces, files) &&
               view.what_if_asked() == whole.asked.has_value();
    };
    return !whole.captures.empty() &&
           std::all_of(whole.captures.begin(), whole.captures.end(),
                       [](const CaptureInfo& one) { return valid(one); }) &&
           known(whole.views.plain) && (!whole.views.inside || known(*whole.views.inside)) &&
           whole.views.tunnels.valid() && whole.views.hidden.valid() &&
           (!whole.asked || valid(*whole.asked));
}

// Limit of nesting, far deeper than a report.
constexpr unsigned kDeepest = 64;

// Return an upper bound for the bytes of the parsed JSON with its text; nothing if it is nested too
// deeply, as destroying a document recurses. Text that is no JSON may get any number.
std::optional<std::uint64_t> document_bytes(std::string_view text) {
    constexpr std::uint64_t kValue = 2 * (sizeof(Json) + sizeof(std::string));  // vectors double
    constexpr std::uint64_t kContainer = 64;  // a string, list or object, with its allocation
    std::uint64_t bytes = 2 * text.size() + kValue;
    unsigned depth = 0;
    bool in_string = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '"') {
            in_string = !in_string;
            bytes += in_string ? kContainer : 0;
        } else if (in_string) {
            i += c == '\\' ? 1 : 0;
        } else if (c == '[' || c == '{') {
            bytes += kValue + kContainer;
            if (++depth > kDeepest) {
                return std::nullopt;
            }
        } else if (c == ']' || c == '}') {
            depth -= depth != 0 ? 1 : 0;
        } else if (c == ',') {
            bytes += kValue;
        }
    }
    return bytes;
}

}  // namespace

std::string to_json_text(const AnalysisState& whole) {
    AnalysisState copy = whole;  // state() is shared with readers, so it takes mutable members
    std::string text;
    state::StateWriter writer(text);
    writer.name("version", kVersion);
    copy.state(writer);
    writer.end();
    return text;
}

Result<AnalysisState> parse_analysis_state(std::string_view text, std::uint64_t memory) {
    const auto too_large = [] { return fail(Errc::kNoMemory, ""); };
    const std::optional<std::uint64_t> document = document_bytes(text);
    if (!document) {
        return fail(
            Errc::kInvalidArgument,
            fmt::format("is nested deeper than a report; allowed: what unecho analyze {} prints",
                        option::kJson));
    }
    if (*document > memory) {
        return too_large();
    }
    std::uint64_t left = memory - *document;
    const Json report = Json::parse(text, nullptr, false);
    if (report.is_discarded()) {  // an empty text, too
        return fail(Errc::kInvalidArgument,
                    "is no JSON; allowed: a report of unecho analyze " + option::kJson);
    }
    const auto found = report.is_object() ? report.find("merge") : report.end();
    if (found == report.end() || !found->is_object() || !found->contains("version")) {
        return fail(Errc::kInvalidArgument,
                    fmt::format("is no report that merges; allowed: what unecho analyze {} prints",
                                option::kJson));
    }
    const Json& version = (*found)["version"];
    if (version != kVersion) {
        return fail(
            Errc::kInvalidArgument,
            fmt::format(
                "holds {} of what merges; this unecho has {}: make all reports with the same one",
                version.is_number() ? "version " + version.dump() : "no version", kVersion));
    }
    AnalysisState out;
    state::StateReader reader(*found, left);
    reader.take(*found, out);
    if (reader.is_short()) {
        return too_large();
    }
    if (reader.failed() || !valid(out)) {
        return fail(Errc::kInvalidArgument, "is damaged in what merges; make the report again");
    }
    return out;
}

}  // namespace unecho::analyze
