// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/classify/mirror_odds.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/log_gamma.h"

namespace unecho::analyze {
namespace {

struct Beta {
    double again;
    double once;
};

// Priors, first of the share that senders repeat: mostly little, hardly ever all.
constexpr Beta kSender{0.3, 3};
constexpr Beta kAny{1, 1};
constexpr Beta kPart{2, 2};  // share that a mirror shows; less than 1 % would be odd
constexpr Beta kNearlyAll{20, 1};
constexpr Beta kNearlyNone{0.05, 20};
constexpr Beta kOneMore{1, 100};  // looks beyond a mirror's number of looks
// Probability that a protocol sends all of its packets twice, by PacketGroup.
constexpr std::array<double, kGroups> kSaidTwice{0.001, 0.02, 0.05, 0.05};
// More packets teach nothing: the shares of a real mirror are never quite equal.
constexpr double kEnough = 2000;
constexpr double kUnlikely = -5;  // odds of a mirror without any evidence
constexpr unsigned kMaxViews = 4;
constexpr double kScattered = 2;   // weight of a common share of flows, in packets,
constexpr double kTogether = 200;  // without a mirror and with one
// A mirror is known if at least this share and number of identified packets came again.
constexpr double kKnownMirror = 0.25;
constexpr double kFewKnown = 4;
constexpr double kFewLooks = 5;  // fewer decide nothing unless a mirror is known
constexpr double kOneKind = 0.95;

double log_beta(double a, double b) {
    return log_gamma(a) + log_gamma(b) - log_gamma(a + b);
}

// Return the log-likelihood of these packets, in this order.
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

// Return the log-likelihood if senders repeat each kind of packet as its protocol requires.
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

// Return the log-likelihood of one share of all kinds. If identified packets came again, a mirror
// exists anyway, so they are no evidence; if none did, that is certain with senders alone.
double of_mirror(const MirrorCounts& it, const Beta& prior) {
    return log_likelihood(sum_of(it.identified, sum_of(it)), prior) -
           (it.identified.again > 0 ? log_likelihood(it.identified, prior) : 0);
}

struct FlowOdds {
    double alike = 0;  // the same share of each flow
    double whole = 0;  // all of some flows
};

// Return the odds against an independent share of each flow.
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

// Return the odds that looks end at some number, against equal chances of one more after each.
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
    return oldest == 0                    ? 4.7  // at the same time
           : oldest <= 100 * kMicrosecond ? 2    // no host answers so fast
           : oldest <= kMillisecond       ? 1
           : oldest <= 25 * kMillisecond  ? 0
           : oldest <= 50 * kMillisecond  ? -2
                                          : -3;
}

// Odds by number of looks and age, and the counts for all other evidence.
struct Begun {
    MirrorCounts counts;
    MirrorOdds odds;
};

Begun begin(const MirrorCounts& counts) {
    Begun out{counts, {}};
    MirrorCounts& it = out.counts;
    // Third looks follow counted second looks; if those were earlier, they are no evidence.
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

bool is_of_one_kind(const MirrorCounts& it) {
    const double again = sum_of(it).again;
    return std::any_of(it.groups.begin(), it.groups.end(),
                       [&](const Shown& group) { return group.again >= kOneKind * again; });
}

// Return true if nearly all echoes are TCP without data.
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
    // A protocol may send everything twice, or three times, as TCP does with ACKs.
    const double most = -std::log(kSaidTwice.back()) - 1;
    out.all += std::max(alike, is_of_one_kind(it) ? std::min(by_flow.whole, most) : by_flow.whole);
    out.all -= is_of_answers(it) ? std::max(0.0, out.looks - most) : 0;
    return out;
}

}  // namespace unecho::analyze
