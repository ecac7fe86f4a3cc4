// SPDX-License-Identifier: BSD-3-Clause
#include "dedup/engines/planning/candidates.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/humanize.h"
#include "base/table.h"

namespace unecho::engines {
namespace {

// Among engines that need at most this factor of the least memory, speed decides: the time of a new
// packet in the filter.
constexpr double kMemoryRange = 2;

// The least number of looks that are remembered, if repeats are kept.
constexpr std::uint64_t kMinLooks = 1024;

// The planned number of points that see each transmission. With more, the rule forgets sooner.
constexpr double kPoints = 2;

// An engine that does not count is queried for i digests by the i-th of the first n packets of a
// flow (filters/first_packets.h).
double mean_queries(unsigned first) {
    return (1 + static_cast<double>(first)) / 2;
}

Result<Candidate> candidate_at(Engine engine, const SizingRequest& question, double rate) {
    const double margin = question.bounded ? info_of(engine).chance_margin : 1;
    const bool shrinks = question.shrinks && info_of(engine).on_full.contains(OnFull::kShrink);
    const sizing::Targets targets{question.window, rate, question.max_false_drop / margin,
                                  shrinks ? kRandomArrivals : 0};
    const auto geometry = size(engine, targets, question.first);
    UNECHO_TRY(geometry);
    Candidate out;
    out.geometry = *geometry;
    out.rate = rate;
    out.prediction = predict(*geometry, question.window, rate);
    const auto bytes = bytes_of({*geometry, question.window});
    UNECHO_TRY(bytes);
    out.bytes = *bytes;
    const double queries = info_of(engine).counts_packets ? 1 : mean_queries(question.first);
    out.packet_ns = queries * packet_ns(*geometry, out.prediction, *bytes);
    out.lines = queries * out.prediction.lines_per_packet;
    if (question.unidentified) {
        filter::UnionSpec spec;
        spec.window = question.window;
        const auto repeats = size_repeats(spec, rate, *question.unidentified);
        UNECHO_TRY(repeats);
        out.repeats_bytes = filter::UnionRule::bytes(*repeats);
    }
    out.fits = !question.memory || out.all_bytes() <= *question.memory;
    return out;
}

// Find nearly the highest rate that the engine accepts and that the memory takes. Memory grows in
// proportion to the rate, except for steps: whole cache lines, the geometry, and tables whose size
// is a power of two.
Result<Candidate> candidate_for_memory(Engine engine, const SizingRequest& question) {
    constexpr unsigned kSteps = 24;
    constexpr double kAim = 0.998;
    constexpr double kNearEnough = 1.005;
    const double lowest = kSecond / static_cast<double>(question.window);  // one packet a window
    Result<Candidate> best = candidate_at(engine, question, lowest);
    UNECHO_TRY(best);
    if (!best->fits) {
        return fail(Errc::kInvalidArgument,
                    fmt::format("needs at least {} for any rate", format_size(best->all_bytes())));
    }
    double beyond = std::numeric_limits<double>::infinity();  // the least rate that is too high
    Candidate last = *best;
    for (unsigned step = 0; step < kSteps && best->rate * kNearEnough < beyond; ++step) {
        const double scale =
            kAim * static_cast<double>(*question.memory) / static_cast<double>(last.all_bytes());
        double rate = std::clamp(last.rate * scale, lowest, sizing::kMaxRate);
        if (rate <= best->rate || rate >= beyond) {
            rate = std::min(std::sqrt(best->rate * beyond), sizing::kMaxRate);
        }
        const Result<Candidate> tried = candidate_at(engine, question, rate);
        if (tried) {
            last = *tried;
        }
        if (tried && tried->fits && tried->rate > best->rate) {
            best = tried;
        } else {
            beyond = std::min(beyond, rate);
        }
    }
    return best;
}

std::vector<Candidate>::const_iterator least_memory(const std::vector<Candidate>& list) {
    return std::min_element(list.begin(), list.end(),
                            [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
}

// For a given rate: what fits comes first; of that, the fastest within kMemoryRange of the least
// memory, then the rest by memory. For a given memory: the highest rate first.
void rank(Candidates& candidates) {
    auto& list = candidates.list;
    if (!candidates.question.rate) {
        std::stable_sort(list.begin(), list.end(),
                         [](const Candidate& a, const Candidate& b) { return a.rate > b.rate; });
        return;
    }
    const auto least = std::min_element(
        list.begin(), list.end(), [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
    const double range = kMemoryRange * static_cast<double>(least->bytes);
    const auto order = [&](const Candidate& c) {
        const bool far = static_cast<double>(c.bytes) > range;
        return std::tuple(!c.fits, far, far ? static_cast<double>(c.bytes) : c.packet_ns);
    };
    std::stable_sort(list.begin(), list.end(),
                     [&](const Candidate& a, const Candidate& b) { return order(a) < order(b); });
}

std::string reason_for(const Candidates& candidates) {
    const Candidate& first = candidates.list.front();
    const std::string name = engine_name(first.geometry);
    if (!candidates.question.rate) {
        return name + " is first: it takes the highest rate in this memory";
    }
    if (!first.fits) {
        const auto least = least_memory(candidates.list);
        return fmt::format("nothing fits into {}: {} needs the least, {}",
                           format_size(*candidates.question.memory), engine_name(least->geometry),
                           format_size(least->all_bytes()));
    }
    std::string text = fmt::format(
        "{} is first: of the engines within {:g} times the least memory a new packet takes the "
        "least time in it, about {:.0f} ns for {:.1f} cache lines",
        name, kMemoryRange, first.packet_ns, first.lines);
    const auto least = least_memory(candidates.list);
    if (least->bytes < first.bytes) {
        const double saved =
            100 * (1 - static_cast<double>(least->bytes) / static_cast<double>(first.bytes));
        text += fmt::format("; {} saves {:.0f} % of the memory but takes about {:.0f} ns",
                            engine_name(least->geometry), saved, least->packet_ns);
    }
    return text;
}

std::string counting_engines() {
    std::string names;
    for (const auto name :
         engines_that([](const EngineInfo& info) { return info.counts_packets; })) {
        names.append(names.empty() ? "" : " or ").append(name);
    }
    return names;
}

}  // namespace

Result<filter::UnionParams> size_repeats(filter::UnionSpec spec, double rate, double unidentified) {
    const auto packets_in = [rate](Nanoseconds time, double share) {
        return static_cast<std::uint64_t>(rate * share * static_cast<double>(time) / kSecond);
    };
    spec.looks =
        std::max<std::uint64_t>(packets_in(spec.window, unidentified * kPoints), kMinLooks);
    spec.identified = packets_in(spec.same_port, 1) + kMinLooks;
    auto params = filter::UnionParams::make(spec);
    if (!params) {
        return fail(
            Errc::kConfig,
            fmt::format(
                "packets without an ID cannot all be remembered: {} of them come in {}, and "
                "{} fit; a shorter window, a lower rate or unidentified, more workers, or "
                "repeats = \"drop\" would do",
                format_count(spec.looks), format_duration(spec.window),
                format_count(filter::ChainedRing<filter::Look>::kMaxNodes)));
    }
    return *params;
}

Result<Candidates> find_candidates(const SizingRequest& question) {
    std::vector<Engine> engines;
    for (const EngineInfo& info : kEngineTable) {
        if (info.engine != Engine::kAuto && (question.first > 1 || !info.counts_packets)) {
            engines.push_back(info.engine);
        }
    }
    return find_candidates(question, engines);
}

Result<Candidates> find_candidates(const SizingRequest& question, std::span<const Engine> engines) {
    if (!question.rate && !question.memory) {
        return fail(Errc::kConfig, "neither a rate nor a memory is given; one of them is needed");
    }
    Candidates out;
    out.question = question;
    // If no engine can do it, report the error of one that is planned for the bound itself, not for
    // a part of it: its message repeats the user's numbers.
    double margin = std::numeric_limits<double>::infinity();
    std::string told;
    for (const Engine engine : engines) {
        auto found = question.rate ? candidate_at(engine, question, *question.rate)
                                   : candidate_for_memory(engine, question);
        if (found) {
            out.list.push_back(std::move(*found));
        } else {
            out.refused.push_back(std::string(info_of(engine).name) + ": " + found.error().context);
            if (const double own = question.bounded ? info_of(engine).chance_margin : 1;
                own < margin) {
                margin = own;
                told = out.refused.back();
            }
        }
    }
    if (out.list.empty()) {
        return fail(Errc::kConfig, "no engine can, for instance " + told);
    }
    rank(out);
    out.reason = reason_for(out);
    return out;
}

std::string to_text(const Candidates& candidates) {
    const bool by_memory = !candidates.question.rate;
    std::vector<std::string> header{"engine",           ">memory",      ">bits a key",
                                    ">lines a packet",  ">ns a packet", ">slack",
                                    ">predicted drops", "geometry"};
    if (by_memory) {
        header.insert(header.begin() + 1, ">highest rate");
    }
    if (candidates.question.unidentified) {
        header.insert(header.end() - 6, ">without an ID");
    }
    TextTable table(header);
    for (const Candidate& c : candidates.list) {
        const sizing::Prediction& p = c.prediction;
        std::vector<std::string> row{engine_name(c.geometry),
                                     format_size(c.bytes) + (c.fits ? "" : " (too much)"),
                                     format_number("%.1f", p.bits_per_key),
                                     format_number("%.1f", c.lines),
                                     format_number("%.0f", c.packet_ns),
                                     p.slack == 0 ? "none" : format_duration(p.slack),
                                     format_number("%.2g", p.false_drop),
                                     geometry_text(c.geometry)};
        if (candidates.question.unidentified) {
            row.insert(row.begin() + 2, format_size(c.repeats_bytes));
        }
        if (by_memory) {
            row.insert(row.begin() + 1, format_rate(c.rate));
        }
        table.row(row);
    }
    std::string text = table.text() + candidates.reason + "\n";
    if (candidates.question.unidentified) {
        text += fmt::format(
            "without an ID: beside it, for {:g} % of the packets, as repeats are kept\n",
            100 * *candidates.question.unidentified);
    }
    if (const unsigned first = candidates.question.first; first > 1) {
        text += fmt::format(
            "the first {} packets of a flow pass: lines and ns are their mean; a later packet asks "
            "{} times, with {} once\n",
            first, first, counting_engines());
    }
    for (const std::string& refused : candidates.refused) {
        text += fmt::format("not possible: {}\n", refused);
    }
    return text;
}

nlohmann::ordered_json to_json(const Candidates& candidates) {
    using nlohmann::ordered_json;
    ordered_json list = ordered_json::array();
    for (const Candidate& c : candidates.list) {
        const sizing::Prediction& p = c.prediction;
        list.push_back({{"engine", engine_name(c.geometry)},
                        {"geometry", geometry_text(c.geometry)},
                        {"rate_pps", c.rate},
                        {"bytes", c.bytes},
                        {"repeats_bytes", c.repeats_bytes},
                        {"fits", c.fits},
                        {"bits_per_key", p.bits_per_key},
                        {"lines_per_packet", c.lines},
                        {"packet_ns", c.packet_ns},
                        {"false_drop", p.false_drop},
                        {"npws", p.npws},
                        {"slack_ns", p.slack},
                        {"generation_ns", p.generation * p.phases},
                        {"generation_keys", p.shift_keys},
                        {"tick_ns", p.generation},
                        {"window_keys", p.window_keys}});
    }
    return {{"window_ns", candidates.question.window},
            {"max_false_drop", candidates.question.max_false_drop},
            {"first", candidates.question.first},
            {"candidates", list},
            {"refused", candidates.refused},
            {"reason", candidates.reason}};
}

}  // namespace unecho::engines
