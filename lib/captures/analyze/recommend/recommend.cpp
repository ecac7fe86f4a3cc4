// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/recommend/recommend.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/core.h>

#include "base/humanize.h"
#include "base/units.h"
#include "captures/analyze/recommend/recommend_key_bytes.h"
#include "captures/analyze/recommend/recommend_tunnels.h"
#include "captures/analyze/tally/age_histogram.h"
#include "captures/analyze/tally/copies.h"
#include "captures/analyze/tally/windows.h"
#include "config/schema.h"
#include "dedup/engines/planning/candidates.h"
#include "dedup/engines/spec.h"

namespace unecho::analyze {
namespace {

constexpr double kCovered = 0.999;  // share of the copies that a window should reach
constexpr Nanoseconds with_margin(Nanoseconds age) {
    return age + age / 2;
}
constexpr double kRateMargin = 1.5;
constexpr double kFewMargin = 4;  // standard deviations of a count
constexpr double kLowestRate = 1000;
constexpr Nanoseconds kShortest = PeakRates::kShortestWindow;
static_assert(config::kWindow.contains(kShortest) &&
              config::kWindow.contains(kWindowBuckets[kWindows - 2]));
constexpr Nanoseconds kWithoutCopies = 50 * kMillisecond;
constexpr Nanoseconds kMaxCopiesSpan = 8;  // in windows
constexpr double kWorthRefresh = 0.001;    // share of the copies that only refresh drops
constexpr double kWorthRemoving = 1e-4;    // share of all packets

// Return the shortest window bucket that is at least this long.
unsigned window_at_least(Nanoseconds window) {
    return static_cast<unsigned>(
        std::lower_bound(kWindowBuckets.begin(), kWindowBuckets.end() - 2, window) -
        kWindowBuckets.begin());
}

// The groups that the filter should separate: the copies that it compares, and their repeats.
struct Sides {
    Count copies;
    Nanoseconds oldest = 0;           // of the copies
    Nanoseconds next = kNoWindowEnd;  // age of the youngest repeat
    bool frames = false;              // includes frames without an IP packet
};

struct Choice {
    unsigned window = 0;  // index in kWindowBuckets
    std::string reason;
    Nanoseconds between = 0;  // not 0: the window itself, as no bucket separates the two

    [[nodiscard]] Nanoseconds length() const {
        return between != 0 ? between : kWindowBuckets[window];
    }
};

Sides sides_of(const Report& report, bool frames) {
    Sides out{report.copied, report.ages.oldest, report.basis.youngest_keyed.value_or(kNoWindowEnd),
              frames};
    if (frames) {
        out.next = std::min(out.next, report.basis.youngest_frame.value_or(kNoWindowEnd));
        return out;
    }
    out.copies -= report.non_ip_copied;
    out.oldest = report.basis.oldest_keyed;
    return out;
}

bool is_far_shifted(const Report& report) {
    return std::any_of(report.clock_shifts.begin(), report.clock_shifts.end(),
                       [](const ClockShift& one) { return one.age > kMaxClockShift; });
}

// Choose a default window, below the youngest repeat as far as windows are so short.
Choice without_copies(const Report& report, const Sides& sides) {
    Choice out{window_at_least(kWithoutCopies), "", 0};
    const Nanoseconds next = report.copied.packets == 0 ? sides.next : kNoWindowEnd;
    while (kWindowBuckets[out.window] >= next && kWindowBuckets[out.window] > kShortest) {
        --out.window;
    }
    out.reason =
        report.echoes.packets + report.sent_again.packets == 0
            ? fmt::format("No packet came twice{}, so nothing says how long it must be; ",
                          report.cut.packets == 0 ? "" : " as a whole")
        : report.copied.packets == 0
            ? "Nothing was copied, so nothing says how long it must be; "
            : "The copies' ages do not say how long it must be, as clocks differ or it would drop "
              "what was sent again; ";
    out.reason += kWindowBuckets[out.window] >= kWithoutCopies
                      ? "50 ms is more than what lies between two taps of one network."
                      : "this is less than what was sent again leaves.";
    return out;
}

// Return what is dropped with a window bucket.
WindowRow window_row(const Report& report, unsigned i, const Sides& sides) {
    WindowRow row = report.windows[i];
    if (sides.frames) {
        row.fixed += report.basis.frame_windows[i].fixed;
        row.refresh += report.basis.frame_windows[i].refresh;
        row.fixed_copied += report.basis.frame_windows[i].fixed_copied;
        row.refresh_copied += report.basis.frame_windows[i].refresh_copied;
    }
    return row;
}

// Lengthen the window to span all copies of a packet: with policy fixed it must reach from the
// first to the last. It stays within kMaxCopiesSpan and below repeats; a longer series is a loop.
void span_several_copies(const Report& report, const Sides& sides, Choice& choice) {
    if (choice.between != 0) {
        return;
    }
    const auto found =
        static_cast<double>(window_row(report, choice.window, sides).refresh.packets);
    const Nanoseconds end = std::min(sides.next, kMaxCopiesSpan * kWindowBuckets[choice.window]);
    for (unsigned i = choice.window; i < kWindows - 1 && kWindowBuckets[i] < end; ++i) {
        const WindowRow row = window_row(report, i, sides);
        if (static_cast<double>(row.fixed.packets) >= kCovered * found) {
            if (i != choice.window) {
                choice.window = i;
                choice.reason += " It is so long that it spans all copies of a packet.";
            }
            return;
        }
    }
}

// Return the roundest number above low and below high, near their geometric mean; else high.
Nanoseconds between(Nanoseconds low, Nanoseconds high) {
    const double middle = std::sqrt(static_cast<double>(low) * static_cast<double>(high));
    double unit = std::pow(10, std::floor(std::log10(middle)));
    for (; unit >= 1; unit /= 10) {
        const auto round = to_whole(std::round(middle / unit) * unit);
        if (round > low && round < high) {
            return round;
        }
    }
    return high;
}

// Choose a window half longer than the ages of all but one in a thousand copies, longer than the
// oldest copy, and shorter than the age of the youngest repeat, as far as these agree.
Choice choose_window(const Report& report, const Sides& sides) {
    if (sides.copies.packets == 0 || is_far_shifted(report) || report.appended.packets != 0) {
        return without_copies(report, sides);
    }
    const Nanoseconds oldest = sides.oldest;
    const Nanoseconds age = std::min(quantile(report.ages, kCovered), oldest);
    const Nanoseconds next = sides.next;
    Choice out{window_at_least(std::max({with_margin(age), oldest + 1, kShortest})), "", 0};
    out.reason = fmt::format("99.9 % of the copies come within {} of the packet before them; ",
                             brief_duration(age));
    const unsigned rounded = out.window;
    while (kWindowBuckets[out.window] >= next && out.window > window_at_least(oldest + 1) &&
           kWindowBuckets[out.window] > kShortest) {
        --out.window;
    }
    if (oldest < next && kWindowBuckets[out.window] > next && next > kShortest) {
        out.between = between(std::max(oldest, kShortest), next);
        --out.window;  // the bucket with the nearest counts
    }
    out.reason += with_margin(age) < kShortest && oldest < kShortest
                      ? "half more, rounded up to no less than a millisecond."
                  : out.window == rounded ? "half more, rounded up."
                  : oldest < next         ? "more, and less than what was sent again leaves."
                                          : "more would drop even more of what was sent again.";
    span_several_copies(report, sides, out);
    return out;
}

std::string came(std::uint64_t packets, std::string_view more) {
    return format_quantity(packets, "packet") + (packets == 1 ? " was " : " were ") +
           std::string(more);
}

// Return reasons to suspect copies although none were found.
std::string doubts(const UncertainRepeats& doubtful) {
    std::string out;
    if (doubtful.doubled != 0) {
        out += fmt::format(
            " But {} within {}, about as many as there are different ones. Where a mirror or a "
            "second tap may stand behind that, take a window just above it.",
            came(doubtful.doubled, "there again"), brief_duration(doubtful.within));
    }
    if (doubtful.in_storms != 0) {
        out += fmt::format(
            " But {} came within a millisecond of the same one before, many times in a row: a "
            "flood, or a loop of bridges. For a loop take policy refresh, and non_ip \"frame\" if "
            "they have no IP packet.",
            format_quantity(doubtful.in_storms, "packet"));
    }
    return out;
}

// Return what separates copies from repeats, and by how much.
std::string sure_reason(const Report& report, const Sides& sides, Nanoseconds window) {
    const std::string again = came(report.sent_again.packets, "sent again");
    if (report.copied.packets == 0) {
        return report.sent_again.packets == 0
                   ? ""
                   : fmt::format(
                         "{} by those who sent them before: that is no reason to remove them.{}",
                         again, doubts(report.basis.doubtful));
    }
    const Count& copied = sides.copies.packets == 0 ? report.copied : sides.copies;
    const Nanoseconds oldest = sides.copies.packets == 0 ? report.ages.oldest : sides.oldest;
    const Nanoseconds next =
        sides.copies.packets == 0 ? report.youngest_sent_again.value_or(kNoWindowEnd) : sides.next;
    const std::string copies =
        fmt::format("{} up to {} old", format_quantity(copied.packets, "copied packet"),
                    brief_duration(oldest));
    if (next == kNoWindowEnd) {
        return fmt::format("{}, and nothing was sent again{}", copies,
                           report.youngest_sent_again ? " that this configuration compares." : ".");
    }
    const bool passed = report.youngest_sent_again && *report.youngest_sent_again < next;
    const std::string both = copies + ", and " + again +
                             (passed ? ", of what this configuration compares from " : " from ") +
                             brief_duration(next) + " on";
    if (next <= oldest) {
        return fmt::format("{}: no window parts all of them{}", both,
                           next < window ? ", and some that were sent again are dropped." : ".");
    }
    if (next < window) {
        return fmt::format(
            "{}: some that were sent again are dropped, as no window is shorter than {}.", both,
            brief_duration(kShortest));
    }
    return both + (next / 2 < oldest    ? ": the gap is narrow, so look at them."
                   : next / 10 < oldest ? ": a gap of more than an octave."
                                        : ": a wide gap.");
}

bool is_window_bucket(Nanoseconds window) {
    return std::binary_search(kWindowBuckets.begin(), kWindowBuckets.end(), window);
}

std::string loop_text(const Report& report) {
    if (report.loops.empty()) {
        return "";
    }
    const Loop& loop = report.loops.front();
    return fmt::format(
        " {} {} round{}, the TTL lower by {} each time: a routing loop.",
        format_quantity(loop.packets, "packet"), loop.packets == 1 ? "goes" : "go",
        loop.one.empty() ? "" : fmt::format(" between {} and {}", loop.one, loop.other), loop.step);
}

void choose_policy(const Report& report, std::uint64_t copied, const WindowRow& row,
                   Recommendation& out) {
    const auto fixed = static_cast<double>(row.fixed.packets);
    const auto refresh = static_cast<double>(row.refresh.packets);
    const auto copies = static_cast<double>(copied);
    if (!is_window_bucket(out.window) && fixed < refresh) {
        out.policy = engines::Policy::kRefresh;
        out.removed = row.refresh;
        out.removed_copies = row.refresh_copied;
        out.policy_reason =
            "It measures each copy from the one before it, and so parts them from what was sent "
            "again wherever the window between these lies.";
        return;
    }
    if (std::min(refresh, copies) - fixed > kWorthRefresh * copies) {
        out.policy = engines::Policy::kRefresh;
        out.removed = row.refresh;
        out.removed_copies = row.refresh_copied;
        out.policy_reason = fmt::format(
            "Copies of a packet go on for longer than the window, each soon behind the one before, "
            "as in a loop: refresh drops {} packets, fixed {}.{}",
            format_count(row.refresh.packets), format_count(row.fixed.packets), loop_text(report));
        return;
    }
    out.policy = engines::Policy::kFixed;
    out.removed = row.fixed;
    out.removed_copies = row.fixed_copied;
    out.policy_reason =
        row.fixed == row.refresh
            ? "It drops as much here as refresh does, and never keeps a steady repeat out for good."
            : fmt::format("A steady repeat passes once a window; refresh would drop {} here.",
                          format_quantity(row.refresh.packets - row.fixed.packets, "more packet"));
}

// Return what is dropped with this window. If it lies between two buckets, it separates copies from
// repeats, so refresh drops exactly the copies. So does fixed, if it drops as much as refresh with
// both buckets.
WindowRow row_at(const Report& report, const Choice& choice, const Sides& sides) {
    if (choice.between == 0) {
        return window_row(report, choice.window, sides);
    }
    WindowRow out{choice.between, sides.copies, sides.copies, sides.copies, sides.copies};
    for (const unsigned i : {choice.window, choice.window + 1}) {
        const WindowRow row = window_row(report, i, sides);
        const std::uint64_t left = row.refresh.packets - row.fixed.packets;
        const std::uint64_t copies = sides.copies.packets;
        out.fixed.packets = std::min(out.fixed.packets, copies - std::min(left, copies));
        out.fixed_copied = out.fixed;
    }
    return out;
}

// A rule that defines second looks, among looks at a point that saw the packet before. The counts
// are those of this capture.
struct SecondLookRule {
    Nanoseconds within = config::kDefaultSamePort;          // same_port
    unsigned bins = age_bin(config::kDefaultSamePort) + 1;  // age bins below this one are taken
    packet::SecondLooks which = packet::SecondLooks::kDoubled;
    Count all;
    Count copies;
    double copied = 1;  // share of the looks of these ages that are copies
    double lost = 0;    // transmissions of which no look passes
    double cost = 0;
};

// The looks by which repeats = "keep" is judged: of packets, and of frames if those are compared.
struct Looks {
    std::vector<const RepeatsBasis*> of;
    double transmissions = 1;
    double copies = 1;

    template <typename Take>
    void each_here(Take take) const {
        for (const RepeatsBasis* basis : of) {
            for (const SamePointRow& looks : basis->here) {
                take(looks);
            }
        }
    }
    // Return the sum over the populations whose second looks are dropped.
    [[nodiscard]] DoubledLooks seen_twice(packet::SecondLooks which, Nanoseconds within) const {
        DoubledLooks sum;
        for (const RepeatsBasis* basis : of) {
            const auto& steps = basis->seen_twice[static_cast<std::size_t>(which)];
            const auto found =
                std::find_if(steps.begin(), steps.end(),
                             [&](const DoubledLooks& looks) { return looks.within >= within; });
            if (found != steps.end()) {
                sum.add(*found);
            }
        }
        return sum;
    }
};

Looks looks_of(const Report& report, const Sides& sides) {
    Looks out{{&report.basis.repeats}, 1, 1};
    if (sides.frames) {
        out.of.push_back(&report.basis.frame_repeats);
    }
    const std::uint64_t copies = std::max<std::uint64_t>(sides.copies.packets, 1);
    out.copies = static_cast<double>(copies);
    out.transmissions = static_cast<double>(
        std::max<std::uint64_t>(report.total.packets - std::min(report.total.packets, copies), 1));
    return out;
}

// Evaluate a rule: looks of the bins below `bins`, of all populations or of doubled ones.
SecondLookRule second_looks(const Looks& looks, unsigned bins, Nanoseconds within,
                            packet::SecondLooks which) {
    SecondLookRule out{within, bins, which, {}, {}, 1, 0, 0};
    Count again;
    Count copies;
    looks.each_here([&](const SamePointRow& here) {
        copies += here.copies;
        if (here.bin < bins) {
            out.copies += here.copies;
            again += here.again;
        }
    });
    out.all = out.copies + again;
    out.copied = out.all.packets == 0 ? 1 : share(out.copies.packets, out.all.packets);
    const DoubledLooks of_these = looks.seen_twice(which, within);
    if (which == packet::SecondLooks::kDoubled) {
        out.all = least(out.all, of_these.all);
        out.copies = least(out.copies, out.all);
    }
    const double left = static_cast<double>((copies - out.copies).packets) / looks.copies;
    out.lost = of_these.unshown / std::max(1.0, of_these.first) *
               static_cast<double>((out.all - out.copies).packets);
    out.cost = kLossCost * out.lost / looks.transmissions + left;
    return out;
}

// Return a round time for same_port: above these bins, below all other looks, within the window.
Nanoseconds same_port_behind(const Looks& looks, unsigned bins, Nanoseconds window) {
    constexpr double kNear = 1.1;
    const Nanoseconds oldest = std::max(age_bin_low(bins) - 1, kMicrosecond);
    Nanoseconds next = kMaxPathDelay;
    looks.each_here([&](const SamePointRow& here) {
        if (here.bin >= bins) {
            next = std::min(next, age_bin_low(here.bin));
        }
    });
    const Nanoseconds most = std::min(next, 2 * oldest);
    return std::min(between(oldest, static_cast<double>(most) > kNear * static_cast<double>(oldest)
                                        ? most
                                        : oldest + oldest / 4),
                    window);
}

// Choose the default rule, unless another one leaves in less and loses less.
SecondLookRule choose_second_looks(const Report& report, const Sides& sides, Nanoseconds window) {
    constexpr double kWorth = 0.002;  // of the cost
    const Looks looks = looks_of(report, sides);
    SecondLookRule best = second_looks(looks, age_bin(config::kDefaultSamePort) + 1,
                                       config::kDefaultSamePort, packet::SecondLooks::kDoubled);
    looks.each_here([&](const SamePointRow& here) {
        if (here.copies.packets == 0) {
            return;
        }
        const Nanoseconds within = same_port_behind(looks, here.bin + 1, window);
        for (const auto which : {packet::SecondLooks::kDoubled, packet::SecondLooks::kAll}) {
            const SecondLookRule other = second_looks(looks, here.bin + 1, within, which);
            best = other.cost + kWorth < best.cost ? other : best;
        }
    });
    return best;
}

// Packets that the window would drop and that repeats = "keep" forwards.
struct Stays {
    Count all;
    Count copies;
    SecondLookRule second_looks;  // looks that it drops all the same
    unsigned views = 2;
};

// Return how often a port shows a packet, as the mean over its second looks. The copies among them
// are an upper bound, because periodic repeats look like one packet that is shown forever.
unsigned views_of(const DoubledLooks& looks, double copied) {
    const double by_looks = looks.by_views / std::max(1.0, looks.second);
    const double second = copied * looks.second;
    const double by_copies = 1 + second / std::max(1.0, looks.first + looks.second - second);
    const double views = std::min(by_looks, by_copies);
    return views < 2.5 ? 2 : views < 4.5 ? 4 : engines::kMaxViews;
}

Stays stays_of(const Report& report, const Choice& choice, const Sides& sides,
               engines::Policy policy) {
    const unsigned at = choice.window + (choice.between != 0 ? 1 : 0);
    const bool refresh = policy == engines::Policy::kRefresh;
    Stays out;
    out.second_looks = choose_second_looks(report, sides, choice.length());
    const Looks looks = looks_of(report, sides);
    Count below;
    Count copies_below;
    const auto add = [&](const KeptRow& row) {
        out.all += refresh ? row.refresh : row.fixed;
        out.copies += refresh ? row.refresh_copied : row.fixed_copied;
    };
    looks.each_here([&](const SamePointRow& here) {
        if (here.bin >= out.second_looks.bins) {
            if (!here.kept.empty()) {
                add(here.kept[at]);
            }
        } else {
            below += here.copies + here.again;
            copies_below += here.copies;
        }
    });
    for (const RepeatsBasis* basis : looks.of) {
        if (!basis->elsewhere.empty()) {
            add(basis->elsewhere[at]);
        }
    }
    out.views = views_of(looks.seen_twice(out.second_looks.which, out.second_looks.within),
                         out.second_looks.copied);
    out.all += below - out.second_looks.all;
    out.copies += copies_below - out.second_looks.copies;
    if (choice.between != 0) {
        out.all = out.copies;  // repeats are older than this window
    }
    return out;
}

std::string copies_text(std::uint64_t copies) {
    return copies == 1 ? "1 copy" : format_count(copies) + " copies";
}

// Recommend "keep" for unidentified packets at points that saw them before; "drop" if "keep" leaves
// in copies, and "drop" removes at most a twentieth as many repeats.
void choose_repeats(const Report& report, const Stays& stays, Recommendation& out) {
    constexpr std::uint64_t kWorth = 20;
    constexpr std::uint64_t kFew = 100;
    const Count lost = out.removed - least(out.removed, out.removed_copies);
    const bool few = kFew * stays.copies.packets <= out.removed_copies.packets;
    if (!few && kWorth * lost.packets <= stays.copies.packets) {
        out.repeats = packet::Repeats::kDrop;
        out.repeats_reason = fmt::format(
            "{} without an ID came where the {} before came, and too late or too seldom for a port "
            "that shows each packet twice: \"keep\" would leave {} in{}",
            copies_text(stays.copies.packets), stays.copies.packets == 1 ? "packet" : "packets",
            stays.copies.packets == 1 ? "it" : "them",
            lost.packets == 0 ? "."
                              : fmt::format(". {} and is lost.", came(lost.packets, "sent again")));
        return;
    }
    out.removed -= stays.all;
    out.removed_copies -= stays.copies;
    const SecondLookRule& second = stays.second_looks;
    if (second.all.packets != 0 &&
        (report.interfaces.size() > 1 || second.within != config::kDefaultSamePort)) {
        out.same_port = second.within;
    }
    out.second_looks = second.all.packets != 0 ? second.which : out.second_looks;
    out.point = report.basis.point.ttl ? packet::Point::kLinkTtl : out.point;
    out.tags = report.basis.point.tags ? packet::Tags::kPoint : out.tags;
    out.views = stays.views;
    if (stays.all.packets + second.all.packets == 0) {
        return;
    }
    const Count again = stays.all - stays.copies;
    out.repeats_reason =
        (again.packets == 0
             ? std::string()
             : fmt::format("{} without an ID that came again where {} came before: kept. ",
                           format_quantity(again.packets, "packet"),
                           again.packets == 1 ? "it" : "they")) +
        (stays.copies.packets == 0 ? std::string()
                                   : copies_text(stays.copies.packets) +
                                         (stays.copies.packets == 1 ? " stays. " : " stay. ")) +
        (second.all.packets == 0
             ? std::string()
             : fmt::format("{} of a port that shows {} {}{}: dropped.",
                           format_quantity(second.all.packets, "second look"),
                           second.which == packet::SecondLooks::kAll ? "packets" : "each packet",
                           stays.views == 2 ? "twice" : fmt::format("up to {} times", stays.views),
                           out.same_port ? " within " + brief_duration(second.within) : ""));
    while (!out.repeats_reason.empty() && out.repeats_reason.back() == ' ') {
        out.repeats_reason.pop_back();
    }
}

void choose_non_ip(const Report& report, const Sides& sides, Recommendation& out) {
    const Count& copied = report.non_ip_copied;
    if (copied.packets == 0) {
        return;
    }
    const std::string frames = fmt::format("{} without an IP packet {} of an earlier one",
                                           format_quantity(copied.packets, "frame"),
                                           copied.packets == 1 ? "is a copy" : "are copies");
    if (sides.frames) {
        out.non_ip = packet::NonIp::kFrame;
        out.non_ip_reason = frames + ", and this window parts them from what was sent again.";
    } else {
        out.non_ip_reason =
            frames + ", but what was sent again of these is too close behind: they pass.";
    }
}

void choose_key(const Report& report, unsigned window, Recommendation& out) {
    const auto& frame = report.modes[static_cast<std::size_t>(packet::KeyMode::kFrame)];
    const auto& flow = report.modes[static_cast<std::size_t>(packet::KeyMode::kFlow)];
    out.key = packet::KeyMode::kPacket;
    out.key_reason = "It finds copies whatever hops changed (TTL, MAC addresses, tags, TOS)";
    if (frame.rows[window].missed.packets != 0) {
        out.key_reason += "; comparing whole frames would miss " +
                          format_count(frame.rows[window].missed.packets);
    }
    if (flow.rows[window].lost.packets != 0) {
        out.key_reason += fmt::format(
            "; flow would also drop {} {}",
            format_quantity(flow.rows[window].lost.packets, "packet"),
            flow.rows[window].lost.packets == 1 ? "that is no copy" : "that are no copies");
    }
    out.key_reason += ".";
}

double to_three_digits(double value) {
    const double unit = value < 100 ? 1 : std::pow(10, std::floor(std::log10(value)) - 2);
    return std::round(value / unit) * unit;
}

// Choose the rate at which packets fill a generation of the filter, echoes too if it inserts them
// (refresh). A short burst is counted in full, as in the filter. Few packets get more margin:
// generations begin anywhere, and chance places keys in a small filter.
void choose_rate(const Peaks& peaks, unsigned window, Recommendation& out) {
    const bool all = out.non_ip == packet::NonIp::kFrame || out.policy == engines::Policy::kRefresh;
    const PeakRates::Peak peak = (all ? peaks.all : peaks.accepted).peak(window);
    const auto most = static_cast<double>(peak.most);
    const double margin = std::max(kRateMargin * most, most + kFewMargin * std::sqrt(most)) / most;
    const double highest = peak.per_second();
    const double wanted = peak.most == 0 ? kLowestRate : std::max(margin * highest, kLowestRate);
    const double unit = std::pow(10, std::floor(std::log10(wanted)) - 1);
    const double rounded = std::ceil(wanted / unit - 1e-9) * unit;
    out.rate = std::clamp(rounded, kLowestRate, config::kRate.hi);
    out.rate_reason = fmt::format("At most {} in any {}",
                                  format_quantity(peak.most, all ? "packet" : "new packet"),
                                  brief_duration(peak.stretch));
    if (peak.least < peak.most) {
        out.rate_reason += " (as a sum of what shards met at times of their own; at least " +
                           format_count(peak.least) + ")";
    }
    if (wanted <= kLowestRate) {
        out.rate_reason += "; no rate below " + format_rate(kLowestRate) + " is recommended.";
        return;
    }
    out.rate_reason += ", which is " + format_rate(to_three_digits(highest));
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
    engines::SizingRequest question;
    question.window = out.window;
    question.rate = out.rate;
    question.max_false_drop = out.max_false_drop;
    const auto found = engines::find_candidates(question, engines::kAutoEngines);
    if (found) {
        out.memory = found->list.front().bytes;
        out.engine_chosen = engines::engine_name(found->list.front().geometry);
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
    const std::string sums = fmt::format(
        "{} came at another interface than {} original, {} at the same one",
        format_quantity(between, "echo"), between == 1 ? "its" : "their", format_count(within));
    return between != 0 ? sums + ": one route from all of them, so that copies meet."
                        : sums + ": each could have a route of its own.";
}

// Fill the rows for the recommended window. If it is between two buckets, take the longer one,
// which shows why it is not recommended. Frames without an IP packet are counted as recommended.
// Packets that are dropped in addition to the copies are lost, with key packet too.
void fill_modes(Report& report, const Choice& choice, const Sides& sides) {
    const unsigned at = choice.window + (choice.between != 0 ? 1 : 0);
    for (Mode& mode : report.modes) {
        ModeRow& row = mode.recommended = mode.rows[at];
        if (sides.frames && mode.key != packet::KeyMode::kFrame) {
            const Count& frames = report.basis.frame_windows[at].fixed;
            row.dropped += frames;
            row.missed -= least(row.missed, frames);
        }
        const Count& most = sides.copies;
        if (row.lost.packets == 0 && row.dropped.packets > most.packets) {
            row.lost = row.dropped - least(row.dropped, most);
        }
    }
}

// No appliance has such a long window, but that of `unecho pcap` may have no end.
void take_out_appended(const Report& report, Recommendation& out) {
    const std::uint64_t packets = report.appended.packets;
    out.removed = out.removed_copies = report.copied;
    out.repeats = packet::Repeats::kDrop;
    out.repeats_reason = "What was appended came where it came before.";
    out.needed = true;
    out.covered = 1;
    out.sure_reason = fmt::format(
        "{} behind a step back in time {} before it once more: the capture was appended to itself.",
        format_quantity(packets, "packet"), packets == 1 ? "is one of those" : "are those");
}

// A configuration, and what it costs with this capture.
struct Attempt {
    Sides sides;
    Choice window;
    Recommendation out;
    double cost = 0;
};

Attempt attempt(const Report& report, const Sides& sides) {
    Attempt it{sides, choose_window(report, sides), report.recommendation, 0};
    Recommendation& out = it.out;
    out.window = it.window.length();
    out.window_reason = it.window.reason;
    choose_policy(report, sides.copies.packets, row_at(report, it.window, sides), out);
    choose_key(report, it.window.window, out);
    choose_non_ip(report, sides, out);
    const Stays stays = stays_of(report, it.window, sides, out.policy);
    choose_repeats(report, stays, out);
    const auto packets_of = [](const Count& count) { return static_cast<double>(count.packets); };
    double lost = packets_of(out.removed - least(out.removed, out.removed_copies));
    if (out.repeats == packet::Repeats::kKeep) {
        const SecondLookRule& second = stays.second_looks;
        lost -= packets_of(second.all - second.copies) - second.lost;
    }
    const Count left = report.copied - least(report.copied, out.removed_copies);
    it.cost =
        kLossCost * std::max(lost, 0.0) / std::max(1.0, packets_of(report.total - report.copied)) +
        packets_of(left) / std::max(1.0, packets_of(report.copied));
    return it;
}

// Compare frames without an IP packet if some of them are copies and that costs less, but not if
// packets need a narrower window for it than they do alone.
Attempt choose_sides(const Report& report) {
    Attempt packets = attempt(report, sides_of(report, false));
    if (report.non_ip_copied.packets == 0) {
        return packets;
    }
    Attempt both = attempt(report, sides_of(report, true));
    const bool narrows = packets.sides.copies.packets != 0 && packets.window.between == 0 &&
                         both.window.between != 0;
    return narrows || packets.cost < both.cost ? packets : both;
}

}  // namespace

void recommend(Report& report, const Peaks& peaks) {
    const auto [sides, window, chosen, cost] = choose_sides(report);
    Recommendation& out = report.recommendation = chosen;
    choose_rate(peaks, window.window, out);
    choose_engine(out);
    const std::uint64_t copies = out.removed_copies.packets;
    out.covered = share(copies, report.copied.packets);
    out.needed = share(copies, report.total.packets) >= kWorthRemoving;
    out.sure_reason = sure_reason(report, sides, out.window);
    if (!out.sure_reason.empty() && report.confidence.value_or(1) < 1) {
        out.sure_reason += fmt::format(" About {} of these verdicts are expected to be right.",
                                       percent(*report.confidence));
    }
    if (report.appended.packets != 0) {
        take_out_appended(report, out);
    }
    out.taps_reason = taps_reason(report);
    fill_modes(report, window, sides);
    recommend_key_bytes(report, window.window);
    recommend_tunnels(report);
    out.needed =
        out.needed || share(out.removed_cut.packets, report.total.packets) >= kWorthRemoving;
}

}  // namespace unecho::analyze
