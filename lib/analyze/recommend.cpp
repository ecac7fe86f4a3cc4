// SPDX-License-Identifier: BSD-3-Clause
#include "analyze/recommend.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include "analyze/ages.h"
#include "analyze/windows.h"
#include "analyze/words.h"
#include "config/schema.h"
#include "control/candidates.h"

namespace unecho::analyze {
namespace {

constexpr double kCovered = 0.999;  // of the echoes that are taken for copies
constexpr unsigned kMargin = 2;     // on their age
constexpr double kRateMargin = 1.5;
constexpr double kFewMargin = 4;  // standard deviations of a count
constexpr double kLowestRate = 1000;
constexpr Nanoseconds kShortest = PeakRates::kShortestWindow;
static_assert(config::kWindow.contains(kShortest) &&
              config::kWindow.contains(kLadder[kWindows - 2]));
constexpr Nanoseconds kWithoutEchoes = 50 * kMillisecond;
// Behind this time a packet is hardly still on its way by another path: what repeats later, behind
// a gap, was sent again by somebody who uses the same IP ID.
constexpr Nanoseconds kLongestPath = 200 * kMillisecond;
constexpr unsigned kGapBins = 8;            // two octaves
constexpr double kMostCopies = 0.95;        // a gap behind these ends them
constexpr Nanoseconds kMostCopiesSpan = 8;  // windows
constexpr double kWorthRefresh = 0.05;      // more of the echoes dropped than with fixed
constexpr double kWorthRemoving = 1e-4;     // of all packets

// Echoes whose ages lie close together: bins first to last, with no gap between.
struct Cluster {
    std::size_t first = 0;
    std::size_t last = 0;
    std::uint64_t echoes = 0;
};

std::vector<Cluster> clusters_of(const std::vector<AgeBin>& bins) {
    std::vector<Cluster> out;
    for (std::size_t i = 0; i < bins.size(); ++i) {
        if (bins[i].echoes == 0) {
            continue;
        }
        if (out.empty() || i - out.back().last > kGapBins) {
            out.push_back({i, i, 0});
        }
        out.back().last = i;
        out.back().echoes += bins[i].echoes;
    }
    return out;
}

// How many clusters are taken for copies: up to the gap that has nearly all echoes before it, or
// one that reaches beyond kLongestPath.
std::size_t copies_end(const std::vector<Cluster>& clusters, const std::vector<AgeBin>& bins) {
    std::uint64_t all = 0;
    for (const Cluster& cluster : clusters) {
        all += cluster.echoes;
    }
    std::uint64_t before = clusters.front().echoes;
    std::size_t end = 1;
    while (end < clusters.size() && bins[clusters[end].first].low < kLongestPath &&
           share(before, all) < kMostCopies) {
        before += clusters[end++].echoes;
    }
    return end;
}

Ages first_of(const Ages& ages, std::size_t bins) {
    Ages out = ages;
    out.bins.resize(bins);
    out.oldest = std::min(ages.oldest, out.bins.back().high);
    return out;
}

// The shortest of the ladder that is at least this long.
unsigned ladder_at_least(Nanoseconds window) {
    return static_cast<unsigned>(std::lower_bound(kLadder.begin(), kLadder.end() - 2, window) -
                                 kLadder.begin());
}

struct Choice {
    unsigned window = 0;  // index
    std::string reason;
};

Choice without_echoes() {
    return {ladder_at_least(kWithoutEchoes),
            "No packet came twice, so nothing says how long it must be; 50 ms is more than what "
            "lies between two taps of one network."};
}

// A packet may have several copies, one behind the other: with policy fixed the window must reach
// from the first to the last. Within kMostCopiesSpan and limit; what goes on for longer is a loop.
void span_several_copies(const Report& report, Nanoseconds limit, Choice& choice) {
    const auto found = static_cast<double>(report.windows[choice.window].refresh.packets);
    const Nanoseconds end = std::min(limit, kMostCopiesSpan * kLadder[choice.window]);
    for (unsigned i = choice.window; i < kWindows - 1 && kLadder[i] < end; ++i) {
        if (static_cast<double>(report.windows[i].fixed.packets) >= kCovered * found) {
            if (i != choice.window) {
                choice.window = i;
                choice.reason += " It is so long that it spans all copies of a packet.";
            }
            return;
        }
    }
}

std::string repeat_more(std::uint64_t packets) {
    return counted(packets, "more packet") + (packets == 1 ? " repeats" : " repeat");
}

// Twice the age that all but one in a thousand copies have, and within the gap behind them.
Choice choose_window(const Report& report) {
    const std::vector<AgeBin>& bins = report.ages.bins;
    if (bins.empty()) {
        return without_echoes();
    }
    const std::vector<Cluster> clusters = clusters_of(bins);
    const std::size_t end = copies_end(clusters, bins);
    const std::size_t last = clusters[end - 1].last;
    const Ages copies = first_of(report.ages, last + 1);
    const Nanoseconds age = quantile(copies, kCovered);
    Choice out{ladder_at_least(std::max(kMargin * age, kShortest)), ""};
    out.reason = "99.9 % of the copies come within " + brief(age) + " of the packet before them";
    const bool longest = kMargin * age > kLadder[out.window];
    if (end == clusters.size()) {
        out.reason +=
            longest ? "; no window longer than " + brief(kLadder[out.window]) + " is recommended."
                    : "; twice that, rounded up";
        out.reason += longest                     ? ""
                      : kMargin * age < kShortest ? " to no less than a millisecond."
                                                  : ".";
        span_several_copies(report, kForever, out);
        return out;
    }
    const Nanoseconds next = bins[clusters[end].first].low;
    std::uint64_t behind = 0;
    for (std::size_t i = end; i < clusters.size(); ++i) {
        behind += clusters[i].echoes;
    }
    if (next <= kShortest) {
        out.window = ladder_at_least(kShortest);
        out.reason += "; a window is no shorter than a millisecond, though from " + brief(next) +
                      " on " + repeat_more(behind) + ".";
        return out;
    }
    const bool inside = !longest && kLadder[out.window] < next;
    while (kLadder[out.window] >= next) {
        --out.window;
    }
    out.reason += std::string("; ") + (inside ? "twice that, rounded up," : "more") +
                  " lies in the gap between " + brief(copies.oldest) + " and " + brief(next) +
                  ", behind which " + repeat_more(behind) +
                  ": so late, they were rather sent again than on their way.";
    span_several_copies(report, next, out);
    return out;
}

void choose_policy(const Report& report, const WindowRow& row, Recommendation& out) {
    const auto fixed = static_cast<double>(row.fixed.packets);
    const auto refresh = static_cast<double>(row.refresh.packets);
    if (refresh - fixed > kWorthRefresh * static_cast<double>(report.echoes.packets)) {
        out.policy = "refresh";
        out.removed = row.refresh;
        out.policy_reason =
            "Copies of a packet go on for longer than the window, each soon behind "
            "the one before, as in a loop: refresh drops " +
            format_count(row.refresh.packets) + " of them, fixed " +
            format_count(row.fixed.packets) + ".";
        return;
    }
    out.policy = "fixed";
    out.removed = row.fixed;
    out.policy_reason =
        row.fixed == row.refresh
            ? "It drops as much here as refresh does, and never keeps a steady repeat out for good."
            : "A steady repeat passes once a window; refresh would drop " +
                  counted(row.refresh.packets - row.fixed.packets, "more packet") + " here.";
}

// The mode that finds most of the copies without dropping what is none.
void choose_key(const Report& report, unsigned window, Recommendation& out) {
    const auto& frame = report.modes[static_cast<std::size_t>(packet::KeyMode::kFrame)];
    const auto& flow = report.modes[static_cast<std::size_t>(packet::KeyMode::kFlow)];
    if (report.keyed.packets == 0 && frame.rows[window].dropped.packets != 0) {
        out.key = packet::KeyMode::kFrame;
        out.removed = frame.rows[window].dropped;
        out.key_reason =
            "No frame has an IP packet in it that could be compared; whole frames "
            "can.";
        out.window_reason =
            "Ages are known of IP packets only; 50 ms is more than what lies "
            "between two taps of one network.";
        return;
    }
    out.key = packet::KeyMode::kPacket;
    out.key_reason = "It finds copies whatever hops changed (TTL, MAC addresses, tags, TOS)";
    if (frame.rows[window].missed.packets != 0) {
        out.key_reason += "; comparing whole frames would miss " +
                          format_count(frame.rows[window].missed.packets);
    }
    if (flow.rows[window].lost.packets != 0) {
        out.key_reason +=
            "; flow would also drop " + counted(flow.rows[window].lost.packets, "packet") +
            (flow.rows[window].lost.packets == 1 ? " that is no copy" : " that are no copies");
    }
    out.key_reason += ".";
}

double three_digits(double value) {
    const double unit = value < 100 ? 1 : std::pow(10, std::floor(std::log10(value)) - 2);
    return std::round(value / unit) * unit;
}

// What fills a generation of the filter, echoes too where it takes these in: with policy refresh.
// A short burst counts in full, as it does in the filter. Few packets get more margin: a generation
// may begin anywhere, and where they lie in a small filter is chance.
void choose_rate(const Peaks& peaks, unsigned window, Recommendation& out) {
    const bool all = out.key == packet::KeyMode::kFrame || out.policy == "refresh";
    const PeakRates::Peak peak = (all ? peaks.all : peaks.accepted).peak(window);
    const auto most = static_cast<double>(peak.most);
    const double margin = std::max(kRateMargin * most, most + kFewMargin * std::sqrt(most)) / most;
    const double highest = peak.per_second();
    const double wanted = peak.most == 0 ? kLowestRate : std::max(margin * highest, kLowestRate);
    const double unit = std::pow(10, std::floor(std::log10(wanted)) - 1);
    const double rounded = std::ceil(wanted / unit - 1e-9) * unit;
    out.rate = std::clamp(rounded, kLowestRate, config::kRate.hi);
    out.rate_reason = "At most " + counted(peak.most, all ? "packet" : "new packet") + " in any " +
                      brief(peak.stretch);
    if (wanted <= kLowestRate) {
        out.rate_reason += "; no rate below " + format_rate(kLowestRate) + " is recommended.";
        return;
    }
    out.rate_reason += ", which is " + format_rate(three_digits(highest));
    if (rounded > config::kRate.hi) {
        out.rate_reason +=
            "; this is the highest that a configuration may have, so some echoes "
            "may pass as doubts.";
        return;
    }
    out.rate_reason += (margin > kRateMargin ? "; more for so few and" : "; half more") +
                       std::string(" for what was not captured.");
}

void choose_engine(Recommendation& out) {
    control::SizeQuestion question;
    question.window = out.window;
    question.rate = out.rate;
    question.max_false_drop = out.max_false_drop;
    const auto found = control::find_candidates(question, control::kAutoEngines);
    if (found) {
        out.memory = found->list.front().bytes;
        out.engine_chosen = control::engine_name(found->list.front().geometry);
    }
}

std::string taps_reason(const Report& report) {
    if (report.interfaces.size() < 2) {
        return "";
    }
    std::uint64_t within = 0;
    std::uint64_t between = 0;
    for (const Crossing& cell : report.crossings) {
        (cell.original == cell.echo ? within : between) += cell.echoes.packets;
    }
    const std::string sums = counted(between, "echo") + " came at another interface than " +
                             (between == 1 ? "its" : "their") + " original, " +
                             format_count(within) + " at the same one";
    return between != 0 ? sums + ": one route from all of them, so that copies meet."
                        : sums + ": each could have a route of its own.";
}

void fill_modes(Report& report, unsigned window) {
    for (Mode& mode : report.modes) {
        mode.recommended = mode.rows[window];
    }
}

}  // namespace

void recommend(Report& report, const Peaks& peaks) {
    const Choice window = choose_window(report);
    Recommendation& out = report.recommendation;
    const WindowRow& row = report.windows[window.window];
    out.window = kLadder[window.window];
    out.window_reason = window.reason;
    choose_policy(report, row, out);
    choose_key(report, window.window, out);
    choose_rate(peaks, window.window, out);
    choose_engine(out);
    out.covered = share(out.removed.packets, report.echoes.packets);
    out.needed = share(out.removed.packets, report.total.packets) >= kWorthRemoving;
    out.taps_reason = taps_reason(report);
    fill_modes(report, window.window);
}

}  // namespace unecho::analyze
