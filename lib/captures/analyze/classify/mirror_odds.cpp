// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/classify/mirror_odds.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace unecho::analyze {
namespace {

struct Beta {
    double again;
    double once;
};

// Of what senders say again: mostly little, hardly ever all.
constexpr Beta kSender{0.3, 3};
constexpr Beta kAny{1, 1};
constexpr Beta kPart{2, 2};  // of what a mirror shows; less than one in a hundred would be odd
constexpr Beta kNearlyAll{20, 1};
constexpr Beta kNearlyNone{0.05, 20};
constexpr Beta kOneMore{1, 100};  // than a mirror's number of looks
// The chance that a protocol says all of its packets twice, by PacketGroup.
constexpr std::array<double, kGroups> kSaidTwice{0.001, 0.02, 0.05, 0.05};
// So many packets say all that can be learned: the shares of a real mirror are never quite equal.
constexpr double kEnough = 2000;
constexpr double kUnlikely = -5;  // before anything was seen
constexpr unsigned kMaxViews = 4;
constexpr double kScattered = 2;   // packets that say how far the shares of flows lie apart,
constexpr double kTogether = 200;  // and of those that a mirror shows
// Identified packets that came again are of a mirror.
constexpr double kKnownMirror = 0.25;
constexpr double kFewKnown = 4;
constexpr double kFewLooks = 5;  // fewer decide nothing where no mirror is known
constexpr double kOneKind = 0.95;

double log_beta(double a, double b) {
    return std::lgamma(a) + std::lgamma(b) - std::lgamma(a + b);
}

// Likelihood of these in this order.
double log_likelihood(const Shown& shown, const Beta& prior) {
    return log_beta(shown.again + prior.again, shown.packets - shown.again + prior.once) -
           log_beta(prior.again, prior.once);
}

double log_sum(double a, double b) {
    const double most = std::max(a, b);
    return most + std::log(std::exp(a - most) + std::exp(b - most));
}

double log_mixed(double chance, double a, double b) {
    return log_sum(std::log(chance) + a, std::log(1 - chance) + b);
}

Shown sum_of(const Shown& a, const Shown& b) {
    return {a.packets + b.packets, a.again + b.again};
}

Shown sum_of(const MirrorCounts& it) {
    return std::accumulate(it.groups.begin(), it.groups.end(), Shown{},
                           [](const Shown& a, const Shown& b) { return sum_of(a, b); });
}

// Each kind of packet is said again as its protocol wants.
double of_senders(const MirrorCounts& it) {
    double out = 0;
    for (std::size_t i = 0; i < kGroups; ++i) {
        if (it.groups[i].packets > 0) {
            out += log_mixed(kSaidTwice[i], log_likelihood(it.groups[i], kNearlyAll),
                             log_likelihood(it.groups[i], kSender));
        }
    }
    return out;
}

// One share of all kinds, that of the identified ones too. Where those came again there is a mirror
// in any case; where none did, that is what senders alone are sure to leave.
double of_mirror(const MirrorCounts& it, const Beta& prior) {
    return log_likelihood(sum_of(it.identified, sum_of(it)), prior) -
           (it.identified.again > 0 ? log_likelihood(it.identified, prior) : 0);
}

struct FlowOdds {
    double alike = 0;  // the same share of each
    double whole = 0;  // all of some
};

// Against a share of each flow, however far from the others'.
FlowOdds of_flows(const MirrorCounts& it, std::span<const Shown> flows) {
    const Shown all = sum_of(it);
    const double share = std::clamp(all.again / std::max(all.packets, 1.0), 0.001, 0.999);
    const auto near = [&](double packets) { return Beta{packets * share, packets * (1 - share)}; };
    FlowOdds out;
    double packets = 0;
    for (const Shown& flow : flows) {
        const double own = log_likelihood(flow, near(kScattered));
        out.whole +=
            log_mixed(share, log_likelihood(flow, kNearlyAll), log_likelihood(flow, kNearlyNone)) -
            own;
        out.alike += log_likelihood(flow, near(kTogether)) - own;
        packets += flow.packets;
    }
    const double scale = std::min(1.0, kEnough / std::max(packets, 1.0));
    return {out.alike * scale, out.whole * scale};
}

// A last look, against the same chance of one more after each.
double of_looks(const std::array<double, kLooks>& looks) {
    const auto more = [&](unsigned k) { return Shown{looks[k], std::min(looks[k + 1], looks[k])}; };
    const auto from = [&](unsigned first) {
        Shown sum;
        for (unsigned k = first; k + 2 < kLooks; ++k) {
            sum = sum_of(sum, more(k));
        }
        return log_likelihood(sum, kAny);
    };
    double mirror = -INFINITY;
    double before = 0;
    for (unsigned views = 2; views <= kMaxViews; ++views) {
        const unsigned last = views - 2;
        mirror = std::max(mirror, before + log_likelihood(more(last), kOneMore) + from(last + 1));
        before += log_likelihood(more(last), kNearlyAll) - 1;
    }
    return mirror - from(0);
}

double of_age(Nanoseconds oldest) {
    return oldest == 0                    ? 4.7  // in no time
           : oldest <= 100 * kMicrosecond ? 2    // no host answers so fast
           : oldest <= kMillisecond       ? 1
           : oldest <= 25 * kMillisecond  ? 0
           : oldest <= 50 * kMillisecond  ? -2
                                          : -3;
}

// What the looks say, and what has to be told of the rest before.
struct Begun {
    MirrorCounts counts;
    MirrorOdds odds;
};

Begun begin(const MirrorCounts& counts) {
    Begun out{counts, {}};
    MirrorCounts& it = out.counts;
    // Third looks are of packets whose second ones count. Where those came sooner nothing is said.
    const bool begins_here = it.earlier < it.looks[0];
    double packets = it.identified.packets;
    for (std::size_t i = 0; i < kGroups; ++i) {
        Shown& group = it.groups[i];
        group.again = std::min(begins_here ? it.second[i] : group.again, group.packets);
        packets += group.packets;
    }
    it.identified.again = std::min(it.identified.again, it.identified.packets);
    const bool known = it.identified.again >= kFewKnown &&
                       it.identified.again >= kKnownMirror * it.identified.packets;
    const bool few = !known && it.oldest != 0 && it.looks[0] < kFewLooks;
    const double scale = std::min(1.0, kEnough / std::max(packets, 1.0));
    for (Shown& group : it.groups) {
        group = {group.packets * scale, group.again * scale};
    }
    it.identified = {it.identified.packets * scale, it.identified.again * scale};
    for (double& some : it.looks) {
        some *= scale;
    }
    out.odds.looks = begins_here && it.oldest != 0 ? of_looks(it.looks) : 0;
    out.odds.all = (few ? -INFINITY : known ? 0 : kUnlikely + of_age(it.oldest)) + out.odds.looks;
    return out;
}

// Whether all echoes are of one kind.
bool is_of_one_kind(const MirrorCounts& it) {
    const double again = sum_of(it).again;
    return std::any_of(it.groups.begin(), it.groups.end(),
                       [&](const Shown& group) { return group.again >= kOneKind * again; });
}

// Whether all echoes are of TCP without data.
bool is_of_answers(const MirrorCounts& it) {
    return it.groups[static_cast<std::size_t>(PacketGroup::kAnswer)].again >=
           kOneKind * sum_of(it).again;
}

}  // namespace

MirrorOdds odds_of_population(const MirrorCounts& counts) {
    auto [it, out] = begin(counts);
    out.all += of_mirror(it, kNearlyAll) - of_senders(it);
    return out;
}

MirrorOdds odds_of_all(const MirrorCounts& counts, std::span<const Shown> flows) {
    auto [it, out] = begin(counts);
    const FlowOdds by_flow = of_flows(it, flows);
    const double alike = log_mixed(0.5, of_mirror(it, kPart), of_mirror(it, kNearlyAll)) -
                         of_senders(it) + by_flow.alike;
    // These may be of a protocol that says everything twice, or three times as TCP its ACKs.
    const double most = -std::log(kSaidTwice.back()) - 1;
    out.all += std::max(alike, is_of_one_kind(it) ? std::min(by_flow.whole, most) : by_flow.whole);
    out.all -= is_of_answers(it) ? std::max(0.0, out.looks - most) : 0;
    return out;
}

}  // namespace unecho::analyze
