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
constexpr Nanoseconds kWithoutCopies = 50 * kMillisecond;
constexpr Nanoseconds kMostCopiesSpan = 8;  // windows
constexpr double kWorthRefresh = 0.05;      // more, of the copies, dropped than with fixed
constexpr double kWorthRemoving = 1e-4;     // of all packets

// The shortest of the ladder that is at least this long.
unsigned ladder_at_least(Nanoseconds window) {
    return static_cast<unsigned>(std::lower_bound(kLadder.begin(), kLadder.end() - 2, window) -
                                 kLadder.begin());
}

struct Choice {
    unsigned window = 0;  // index
    std::string reason;
};

// Below what was sent again, as far as there is a window so short.
Choice without_copies(const Report& report) {
    Choice out{ladder_at_least(kWithoutCopies), ""};
    const Nanoseconds next = report.youngest_repeat.value_or(kForever);
    while (kLadder[out.window] >= next && kLadder[out.window] > kShortest) {
        --out.window;
    }
    out.reason = report.echoes.packets + report.sent_again.packets == 0
                     ? "No packet came twice, so nothing says how long it must be; "
                     : "Nothing was copied, so nothing says how long it must be; ";
    out.reason += kLadder[out.window] >= kWithoutCopies
                      ? "50 ms is more than what lies between two taps of one network."
                      : "this is less than what was sent again leaves.";
    return out;
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

// Twice the age that all but one in a thousand copies have, no less than the oldest has, and
// shorter than the least time after which something was sent again, as far as these agree.
Choice choose_window(const Report& report) {
    if (report.copied.packets == 0) {
        return without_copies(report);
    }
    const Nanoseconds age = quantile(report.ages, kCovered);
    const Nanoseconds oldest = report.ages.oldest;
    const Nanoseconds next = report.youngest_repeat.value_or(kForever);
    Choice out{ladder_at_least(std::max({kMargin * age, oldest + 1, kShortest})), ""};
    out.reason = "99.9 % of the copies come within " + brief(age) + " of the packet before them; ";
    const unsigned rounded = out.window;
    while (out.window > 0 && kLadder[out.window] >= next && kLadder[out.window - 1] > oldest &&
           kLadder[out.window] > kShortest) {
        --out.window;
    }
    out.reason += kMargin * age < kShortest && oldest < kShortest
                      ? "twice that, rounded up to no less than a millisecond."
                  : out.window == rounded ? "twice that, rounded up."
                                          : "more, and less than what was sent again leaves.";
    span_several_copies(report, next, out);
    return out;
}

std::string came(std::uint64_t packets, std::string_view more) {
    return counted(packets, "packet") + (packets == 1 ? " was " : " were ") + std::string(more);
}

// What parts the two, and how widely.
std::string sure_reason(const Report& report, Nanoseconds window) {
    const std::string again = came(report.sent_again.packets, "sent again");
    if (report.copied.packets == 0) {
        return report.sent_again.packets == 0
                   ? ""
                   : again + " by those who sent them before: that is no reason to remove them.";
    }
    const std::string copies = counted(report.copied.packets, "copied packet") + " up to " +
                               brief(report.ages.oldest) + " old";
    if (!report.youngest_repeat) {
        return copies + ", and nothing was sent again.";
    }
    const Nanoseconds next = *report.youngest_repeat;
    const std::string both = copies + ", and " + again + " from " + brief(next) + " on";
    if (next < window || next <= report.ages.oldest) {
        return both + ": no window parts all of them, and some that were sent again are dropped.";
    }
    return both + (next / 2 < report.ages.oldest    ? ": the gap is narrow, so look at them."
                   : next / 10 < report.ages.oldest ? ": a gap of more than an octave."
                                                    : ": a wide gap.");
}

void choose_policy(const Report& report, const WindowRow& row, Recommendation& out) {
    const auto fixed = static_cast<double>(row.fixed.packets);
    const auto refresh = static_cast<double>(row.refresh.packets);
    if (refresh - fixed > kWorthRefresh * static_cast<double>(report.copied.packets)) {
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
    if (report.keyed.packets == 0 && report.non_ip_copied.packets != 0) {
        out.key = packet::KeyMode::kFrame;
        out.removed = frame.rows[window].dropped;
        out.key_reason =
            "No frame has an IP packet in it that could be compared; whole frames "
            "can.";
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
    if (report.non_ip_copied.packets != 0) {
        out.key_reason += " It passes " + counted(report.non_ip_copied.packets, "copied frame") +
                          " without an IP packet.";
    }
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
    if (between + within == 0) {
        return "";
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
    const std::uint64_t copies = std::min(out.removed.packets, report.copied.packets);
    out.covered = share(copies, report.copied.packets);
    out.needed = share(copies, report.total.packets) >= kWorthRemoving;
    out.sure_reason = sure_reason(report, out.window);
    out.taps_reason = taps_reason(report);
    fill_modes(report, window.window);
}

}  // namespace unecho::analyze
