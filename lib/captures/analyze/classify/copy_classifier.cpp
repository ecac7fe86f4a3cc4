// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/classify/copy_classifier.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace unecho::analyze {
namespace {

// So many bins without an echo make a gap: a factor of four in age.
constexpr unsigned kGapBins = 6;
constexpr double kMaxCopies = 0.95;  // a gap after this share ends them
// Half the Earth's circumference in fibre. A copy that takes longer made a detour. After a gap
// behind nearly all others, such an echo is more likely a repeat.
constexpr Nanoseconds kStraightPath = 100 * kMillisecond;
constexpr std::uint64_t kMinDetoured = 5;      // fewer with a longer path decide nothing
constexpr std::uint32_t kOthers = UINT32_MAX;  // label of those beyond most_labels_
constexpr double kRegular = 0.75;              // share of ages within a bin of the median
constexpr std::uint64_t kMinRegular = 3;
// More echoes of a key in a row within kMaxSwitchDelay are a storm; a sender repeats itself only a
// few times.
constexpr unsigned kStorm = 32;
// A mirror is suspected if at least this many packets, and this share of all, have repeats.
constexpr std::uint64_t kMinDoubled = 8;
constexpr double kDoubled = 0.75;
// The clocks of two taps differ if at least this many packets of one, and this share of them, were
// at the other before.
constexpr std::uint64_t kMinCrossed = 10;
constexpr double kMostlyCrossed = 0.25;
// With such low odds by its number of looks, a population was not mirrored in any case.
constexpr double kContradicts = -3;
// Odds of frames whose ages resemble those of the companion's copies.
constexpr double kShownBeside = 5;
constexpr double kEvenOdds = 0.5;

// Return the probability that a judgement with these odds (a logarithm) is wrong. It is calibrated
// to the errors on 2,000 random mixes (docs/captures-report.md): pieces of evidence depend on each
// other, so two count as one, and the best evidence misleads once in 200 times.
double chance_wrong(double odds) {
    constexpr double kDependent = 2;
    constexpr double kMisled = 0.005;
    constexpr double kTooFew = 0.05;  // with too few looks to decide
    return std::isinf(odds) ? kTooFew
                            : kMisled + (1 - 2 * kMisled) / (1 + std::exp(odds / kDependent));
}

}  // namespace

CopyClassifier::CopyClassifier(std::uint64_t memory)
    : most_labels_(most_labels(memory)),
      most_classes_(most_classes(memory)),
      most_crossed_(most_crossed(memory)),
      senders_(kSenders),
      slots_(kSlots),
      flows_(kFlows) {}

void CopyClassifier::first(const Dissected& packet, std::uint64_t population) {
    const PacketKind& kind = packet.kind;
    if (kind.id != 0) {
        Sender& sender = senders_[kind.source % kSenders];
        if (sender.source != kind.source) {
            sender = {kind.source, kind.id, 0, 0};
        } else {
            ++(sender.id == kind.id ? sender.same : sender.other);
            sender.id = kind.id;
        }
    }
    if (counts(kind)) {
        ++slots_[slot_of(population)].identified;
    } else {
        note_unsure(complete(kind, packet.ip), population);
    }
}

void CopyClassifier::note_unsure(const PacketKind& kind, std::uint64_t population) {
    ++slots_[slot_of(population)].packets[static_cast<std::size_t>(kind.group())];
    ++flows_[kind.flow >> kFlowBits].packets;
}

CopyClassifier::Bins& CopyClassifier::bins_of(std::uint32_t label, std::uint8_t of_class) {
    const auto key = [&](std::uint32_t any) { return std::uint64_t{any} << 8 | of_class; };
    const auto found = labels_.find(key(label));
    return found != labels_.end() ? found->second
                                  : labels_[key(labels_.size() < most_labels_ ? label : kOthers)];
}

std::uint8_t CopyClassifier::class_of(const PacketKind& kind, const Echo& echo) const noexcept {
    if (echo.behind && is_twice()) {
        return kTwice;
    }
    if (echo.cause == Cause::kResent) {
        return kLate;
    }
    if (echo.age >= kMaxPathDelay) {
        return echo.moved ? kCrossed : kLate;
    }
    if (echo.moved || counts(kind) || (kind.opaque && echo.age < kMaxSwitchDelay)) {
        return kSure;
    }
    if (echo.hops > 0) {
        return kHops;
    }
    const std::uint8_t own = class_of(slot_of(echo.population), kind.group());
    const bool room = classes_.size() + 2 * kGroups < most_classes_ || classes_.contains(own);
    return room ? own : class_of(echo.population & 1U, kind.group());
}

void CopyClassifier::note_look(const PacketKind& kind, const Echo& echo, unsigned at) {
    Slot& slot = slots_[slot_of(echo.population)];
    if (counts(kind)) {
        slot.identified_again[at] += !echo.moved && echo.hops == 0 && echo.looks == 1 ? 1 : 0;
    } else if (!echo.moved && echo.hops <= 0) {
        if (echo.looks > 1) {
            ++slot.later[at][std::min<std::size_t>(echo.looks, kLooks) - 2];
        } else {
            ++slot.second[at][static_cast<std::size_t>(kind.group())];
            Flow& flow = flows_[kind.flow >> kFlowBits];
            ++(echo.age < kMaxSwitchDelay ? flow.soon : flow.later);
        }
    }
}

void CopyClassifier::note_crossed(const Echo& echo, unsigned at) {
    const std::uint64_t pair = pair_of(echo.original, echo.interface);
    auto found = crossed_.find(pair);
    if (found == crossed_.end()) {
        if (crossed_.size() >= most_crossed_) {
            return;
        }
        found = crossed_.try_emplace(pair).first;
    }
    ++found->second.echoes[at];
    found->second.ages[at] += echo.age;
}

EchoBin CopyClassifier::add(const PacketKind& kind, const Echo& echo) {
    behind_again_ += echo.behind ? 1 : 0;
    const std::uint8_t is = class_of(kind, echo);
    const unsigned at = age_bin(echo.age);
    if (is == kCrossed && echo.few) {
        note_crossed(echo, at);
    }
    if (is == kTwice) {
        // Such echoes are no evidence of mirrors or senders.
    } else if (echo.looks == 0) {
        if (counts(kind)) {
            ++slots_[slot_of(echo.population)].identified;
        } else {
            note_unsure(kind, echo.population);
        }
    } else if (echo.cause != Cause::kResent) {
        note_look(kind, echo, at);
    }
    in_storms_ += echo.run > kStorm ? 1 : 0;
    lowered_ += echo.hops > 0 && echo.age < kMaxPathDelay ? 1 : 0;
    raised_ += echo.hops < 0 && echo.age < kMaxPathDelay ? 1 : 0;
    OfClass& all = classes_[is];
    for (Bin* bin : {&bins_of(kind.label(), is)[at], &all.bins[at]}) {
        bin->echoes.add(echo.length);
        bin->ages += echo.age;
        bin->youngest = std::min(bin->youngest, echo.age);
        bin->oldest = std::max(bin->oldest, echo.age);
    }
    ++all.causes[at][static_cast<std::size_t>(echo.cause)];
    return {is, static_cast<std::uint8_t>(at)};
}

CopyClassifier::Bin& CopyClassifier::Bin::operator+=(const Bin& other) noexcept {
    echoes += other.echoes;
    ages += other.ages;
    youngest = std::min(youngest, other.youngest);
    oldest = std::max(oldest, other.oldest);
    return *this;
}

void CopyClassifier::add(const CopyClassifier& others) {
    const auto add_bins = [](Bins& into, const Bins& from) {
        for (unsigned at = 0; at < kAgeBins; ++at) {
            into[at] += from[at];
        }
    };
    for (const auto& [label, bins] : others.labels_) {
        add_bins(labels_[label], bins);
    }
    for (const auto& [pair, crossed] : others.crossed_) {
        Crossed& into = crossed_[pair];
        for (unsigned at = 0; at < kAgeBins; ++at) {
            into.echoes[at] += crossed.echoes[at];
            into.ages[at] += crossed.ages[at];
        }
    }
    for (const auto& [of_class, from] : others.classes_) {
        OfClass& into = classes_[of_class];
        add_bins(into.bins, from.bins);
        for (unsigned at = 0; at < kAgeBins; ++at) {
            for (std::size_t cause = 0; cause < kCauses; ++cause) {
                into.causes[at][cause] += from.causes[at][cause];
            }
        }
    }
    for (std::size_t i = 0; i < kSlots; ++i) {
        slots_[i] += others.slots_[i];
    }
    for (std::size_t i = 0; i < kFlows; ++i) {
        flows_[i].packets += others.flows_[i].packets;
        flows_[i].soon += others.flows_[i].soon;
        flows_[i].later += others.flows_[i].later;
    }
    behind_ += others.behind_;
    behind_again_ += others.behind_again_;
    steps_back_ += others.steps_back_;
    lowered_ += others.lowered_;
    raised_ += others.raised_;
    in_storms_ += others.in_storms_;
}

CopyClassifier::Slot& CopyClassifier::Slot::operator+=(const Slot& other) noexcept {
    for (std::size_t i = 0; i < kGroups; ++i) {
        packets[i] += other.packets[i];
    }
    identified += other.identified;
    for (unsigned at = 0; at < kLookBins; ++at) {
        identified_again[at] += other.identified_again[at];
        for (std::size_t i = 0; i < later[at].size(); ++i) {
            later[at][i] += other.later[at][i];
        }
        for (std::size_t i = 0; i < kGroups; ++i) {
            second[at][i] += other.second[at][i];
        }
    }
    return *this;
}

void CopyClassifier::renumber(std::span<const std::uint32_t> to) {
    std::map<std::uint64_t, Crossed> renumbered;
    for (auto& [pair, crossed] : crossed_) {
        renumbered.emplace(pair_of(to[pair >> 32], to[pair & UINT32_MAX]), crossed);
    }
    crossed_ = std::move(renumbered);
}

bool CopyClassifier::within(std::size_t interfaces) const {
    return std::all_of(classes_.begin(), classes_.end(),
                       [](const auto& one) { return one.first < kClasses; }) &&
           std::all_of(labels_.begin(), labels_.end(),
                       [](const auto& one) { return (one.first & 255) < kClasses; }) &&
           std::all_of(crossed_.begin(), crossed_.end(), [&](const auto& one) {
               return one.first >> 32 < interfaces && (one.first & UINT32_MAX) < interfaces;
           });
}

std::uint64_t CopyClassifier::echoes_of(std::size_t of_class, unsigned at) const {
    const auto found = classes_.find(static_cast<std::uint8_t>(of_class));
    return found == classes_.end() ? 0 : found->second.bins[at].echoes.packets;
}

// Return the bin after the last copies among sure echoes; all of them may be copies. A gap that
// reaches beyond kStraightPath, behind nearly all of them, ends the copies: later echoes are
// repeats by a sender that reuses its IDs.
unsigned CopyClassifier::end_of_sure() const {
    std::uint64_t all = 0;
    for (unsigned i = 0; i < kAgeBins; ++i) {
        all += echoes_of(kSure, i);
    }
    std::uint64_t before = 0;
    unsigned end = 0;
    for (unsigned i = 0; i < kAgeBins; ++i) {
        const std::uint64_t some = echoes_of(kSure, i);
        if (some == 0) {
            continue;
        }
        const bool detour = age_bin_low(i) >= kStraightPath;
        const bool gap = end != 0 && i - end >= kGapBins && detour;
        if (detour && all < kMinDetoured) {
            break;
        }
        if (gap && share(before, all) >= kMaxCopies) {
            break;
        }
        before += some;
        end = i + 1;
    }
    return end;
}

// resolution: of ages. A cluster ends before ages beyond all that a mirror certainly showed, and
// where the copies of the companion's packets end.
std::vector<CopyClassifier::Cluster> CopyClassifier::clusters(Nanoseconds resolution,
                                                              const CopyAgeLimits& beside) const {
    const unsigned known = end_of_known();
    const unsigned shortest = age_bin(resolution);
    const auto ends_beside = [&](unsigned at) {
        return std::find(beside.begin() + kUnsure, beside.begin() + kLate, at) !=
               beside.begin() + kLate;
    };
    std::vector<Cluster> out;
    for (unsigned at = 0; at < kLookBins; ++at) {
        if (!has_looks(at) && (beside_ == nullptr || !beside_->has_looks(at))) {
            continue;
        }
        const bool beyond = known != 0 && at >= known;
        const bool gap = !out.empty() && at >= std::max(out.back().end, shortest + 1) + kGapBins;
        if (out.empty() || gap || beyond != out.back().beyond || ends_beside(at)) {
            out.push_back({at, at, beyond});
        }
        out.back().end = at + 1;
    }
    return out;
}

// Return true if there are looks at unidentified packets, or second looks at identified ones.
bool CopyClassifier::has_looks(unsigned at) const {
    return std::any_of(slots_.begin(), slots_.end(), [&](const Slot& slot) {
        return slot.identified_again[at] != 0 || slot.second_at(at) != 0 ||
               std::any_of(slot.later[at].begin(), slot.later[at].end(),
                           [](std::uint32_t looks) { return looks != 0; });
    });
}

// Return the bin after the oldest second look at an identified packet, here or in the companion.
unsigned CopyClassifier::end_of_known() const {
    unsigned end = 0;
    for (const CopyClassifier* of : {this, beside_}) {
        for (unsigned at = 0; of != nullptr && at < kLookBins; ++at) {
            for (const Slot& slot : of->slots_) {
                end = slot.identified_again[at] != 0 ? std::max(end, at + 1) : end;
            }
        }
    }
    if (end == 0) {
        return 0;
    }
    Nanoseconds oldest = 0;
    Nanoseconds youngest = UINT64_MAX;
    for (const CopyClassifier* of : {this, beside_}) {
        if (of != nullptr && of->classes_.contains(kSure)) {
            oldest = std::max(oldest, of->classes_.at(kSure).bins[end - 1].oldest);
        }
    }
    for (const auto& [of_class, all] : classes_) {
        if (of_class >= kUnsure && of_class != kLate) {
            youngest = std::min(youngest, all.bins[end - 1].youngest);
        }
    }
    return youngest != UINT64_MAX && youngest > oldest ? end - 1 : end;
}

// Add the counts of a cluster and a slot, and those of the companion: a mirror shows both.
void CopyClassifier::count(const Cluster& cluster, std::size_t slot, MirrorCounts& into) const {
    if (beside_ != nullptr) {
        const auto looks = into.looks;  // frames of a protocol repeat at a pace of their own
        beside_->count(cluster, slot, into);
        into.looks = looks;
    }
    const Slot& of = slots_[slot];
    for (unsigned at = 0; at < cluster.begin; ++at) {
        into.earlier += static_cast<double>(of.second_at(at));
    }
    into.identified.packets += static_cast<double>(of.identified);
    for (std::size_t i = 0; i < kGroups; ++i) {
        Shown& group = into.groups[i];
        group.packets += static_cast<double>(of.packets[i]);
        for (unsigned at = cluster.begin; at < cluster.end; ++at) {
            into.second[i] += static_cast<double>(of.second[at][i]);
            const auto found = classes_.find(class_of(slot, static_cast<PacketGroup>(i)));
            if (found != classes_.end()) {
                group.again += static_cast<double>(found->second.bins[at].echoes.packets);
                into.oldest = std::max(into.oldest, found->second.bins[at].oldest);
            }
        }
    }
    for (unsigned at = cluster.begin; at < cluster.end; ++at) {
        into.identified.again += cluster.beyond ? 0 : static_cast<double>(of.identified_again[at]);
        into.looks[0] += static_cast<double>(of.second_at(at));
        for (std::size_t i = 1; i < into.looks.size(); ++i) {
            into.looks[i] += static_cast<double>(of.later[at][i - 1]);
        }
    }
}

MirrorOdds CopyClassifier::odds_of(const Cluster& cluster, std::size_t slot) const {
    MirrorCounts counts;
    count(cluster, slot, counts);
    return odds_of_population(counts);
}

MirrorOdds CopyClassifier::odds_of(const Cluster& cluster) const {
    MirrorCounts counts;
    for (std::size_t slot = 0; slot < kSlots; ++slot) {
        count(cluster, slot, counts);
    }
    std::vector<Shown> flows;
    const bool soon = age_bin_low(cluster.begin) < kMaxSwitchDelay;
    const bool later = counts.oldest > kMaxSwitchDelay;
    double looks = 0;
    for (const Flow& flow : flows_) {
        if (flow.packets != 0 && beside_ == nullptr) {
            const auto packets = static_cast<double>(flow.packets);
            const auto again =
                static_cast<double>((soon ? flow.soon : 0) + (later ? flow.later : 0));
            flows.push_back({packets, std::min(packets, again)});
            looks += again;
        }
    }
    // Flows are not counted by age, so most of their echoes must be in this cluster.
    constexpr double kMostly = 0.8;
    if (counts.looks[0] < kMostly * looks) {
        flows.clear();
    }
    return odds_of_all(counts, flows);
}

CopyClassifier::Judged CopyClassifier::judged(Nanoseconds resolution) const {
    Judged judged;
    CopyAgeLimits& out = judged.ends;
    out[kSure] = end_of_sure();
    out[kCrossed] = end_of_crossed_;
    constexpr std::uint64_t kMinTwice = 10;
    out[kTwice] =
        behind_ >= kMinTwice * std::max<std::uint64_t>(steps_back_, 1) && is_twice() ? kAgeBins : 0;
    out[kHops] = has_lower_mirror() ? kAgeBins : 0;
    judge_unsure(resolution, judged);
    return judged;
}

// Return true if lower TTLs come from a mirror: with repeats, higher ones would be as frequent.
bool CopyClassifier::has_lower_mirror() const noexcept {
    constexpr std::uint64_t kLeast = 8;
    constexpr std::uint64_t kMaxRaised = 10;  // one higher in so many lower
    return lowered_ >= kLeast && kMaxRaised * raised_ <= lowered_;
}

// Judge clusters from the youngest on, because a window separates younger from older ones. A few
// younger repeats do not matter: they are counted with the copies.
void CopyClassifier::judge_unsure(Nanoseconds resolution, Judged& out) const {
    constexpr std::uint64_t kFew = 10;  // one in so many
    struct Before {
        bool open = true;
        std::uint64_t sent_again = 0;  // in younger clusters, since the last one of copies
    };
    std::array<Before, kSlots> all_before{};
    const CopyAgeLimits ends_beside =
        beside_ != nullptr ? beside_->judged(resolution).ends : CopyAgeLimits{};
    for (Cluster cluster : clusters(resolution, ends_beside)) {
        const bool shown = beside_ != nullptr && is_beside(cluster, ends_beside);
        double odds = shown ? kShownBeside : odds_of(cluster).all;
        if (!shown) {
            Cluster sooner = cluster;
            sooner.end = end_of_second(cluster);
            const double of_sooner = sooner.end != cluster.end ? odds_of(sooner).all : odds;
            if (sooner.end != cluster.end && (odds > 0 || of_sooner > 0)) {
                cluster = sooner;
                odds = std::max(odds, of_sooner);
            }
        }
        const std::array<bool, kSlots> unshown = unshown_slots(cluster);
        for (std::size_t slot = 0; slot < kSlots; ++slot) {
            const std::uint64_t echoes = echoes_of(cluster, slot);
            Before& before = all_before[slot];
            if (echoes == 0) {
                continue;
            }
            const MirrorOdds own = odds_of(cluster, slot);
            const double likely = std::max(own.all, odds);
            const bool denied = unshown[slot] || (!shown && own.looks <= kContradicts);
            const bool sent_again = own.all <= 0 && (odds <= 0 || denied);
            out.misjudged += static_cast<double>(echoes) * (!before.open  ? kEvenOdds
                                                            : likely <= 0 ? chance_wrong(-likely)
                                                            : sent_again  ? chance_wrong(-own.looks)
                                                                          : chance_wrong(likely));
            if (!before.open) {
                continue;
            }
            if (sent_again) {
                before.sent_again += echoes;
                continue;
            }
            before.open = kFew * before.sent_again <= echoes;
            before.sent_again = 0;
            for (std::size_t i = 0; i < kGroups && before.open; ++i) {
                out.ends[class_of(slot, static_cast<PacketGroup>(i))] = cluster.end;
            }
        }
    }
}

// Return the slots that no mirror shows. A mirror of whole populations shows nothing of those of
// which it shows no identified packet.
std::array<bool, kSlots> CopyClassifier::unshown_slots(const Cluster& cluster) const {
    constexpr double kLeast = 8;
    constexpr double kNone = 0.01;
    constexpr double kAll = 0.95;
    std::array<bool, kSlots> out{};
    bool any_shown = false;
    for (std::size_t slot = 0; slot < kSlots; ++slot) {
        MirrorCounts counts;
        count(cluster, slot, counts);
        const Shown& identified = counts.identified;
        if (identified.packets < kLeast) {
            continue;
        }
        const double part = identified.again / identified.packets;
        out[slot] = part < kNone;
        any_shown = any_shown || part > kAll;
        if (part >= kNone && part <= kAll) {
            return {};
        }
    }
    return any_shown ? out : std::array<bool, kSlots>{};
}

// Return true if the companion's packets of these ages are copies with similar ages.
bool CopyClassifier::is_beside(const Cluster& cluster, const CopyAgeLimits& ends) const {
    constexpr std::uint64_t kLeast = 8;
    constexpr double kNearly = 0.95;
    constexpr double kAlike = 0.3;  // common part of the two distributions
    std::array<std::uint64_t, kAgeBins> copies{};
    std::array<std::uint64_t, kAgeBins> here{};
    std::uint64_t beside = 0;
    for (unsigned at = cluster.begin; at < cluster.end; ++at) {
        for (std::size_t is = kUnsure; is < kLate; ++is) {
            const std::uint64_t some = beside_->echoes_of(is, at);
            beside += some;
            copies[at] += at < ends[is] ? some : 0;
            here[at] += echoes_of(is, at);
        }
        for (const Slot& slot : beside_->slots_) {
            beside += slot.identified_again[at];
            copies[at] += !cluster.beyond && at < ends[kSure] ? slot.identified_again[at] : 0;
        }
    }
    const auto sum = [](const auto& of) {
        return std::accumulate(of.begin(), of.end(), std::uint64_t{0});
    };
    double common = 0;
    for (unsigned at = cluster.begin; at < cluster.end; ++at) {
        common += std::min(share(copies[at], sum(copies)), share(here[at], sum(here)));
    }
    return sum(copies) >= kLeast && share(sum(copies), beside) >= kNearly && common >= kAlike;
}

// Return the bin from which on many looks of a cluster are third or fifth ones. Those see packets
// that were sent again after a mirror had shown them; second and fourth looks are the mirror's own.
unsigned CopyClassifier::end_of_second(const Cluster& cluster) const {
    constexpr std::uint64_t kLeast = 8;
    constexpr double kFew = 0.1;
    constexpr double kMany = 0.3;
    std::array<std::uint64_t, kAgeBins> second{};
    std::array<std::uint64_t, kAgeBins> later{};
    for (const Slot& slot : slots_) {
        for (unsigned at = cluster.begin; at < cluster.end; ++at) {
            second[at] += slot.second_at(at) + slot.later[at][1];
            later[at] += slot.later[at][0] + slot.later[at][2];
        }
    }
    const auto sum = [](const auto& of, unsigned begin, unsigned end) {
        return std::accumulate(of.begin() + begin, of.begin() + end, std::uint64_t{0});
    };
    // Several cuts may separate the two; take the most likely one.
    const auto information = [](std::uint64_t some, std::uint64_t all) {
        const double part = share(some, all);
        const auto of = [](double p) { return p > 0 ? p * std::log(p) : 0; };
        return static_cast<double>(all) * (of(part) + of(1 - part));
    };
    unsigned best = cluster.end;
    double most = -INFINITY;
    for (unsigned cut = cluster.begin + 1; cut < cluster.end; ++cut) {
        const std::uint64_t before = sum(later, cluster.begin, cut);
        const std::uint64_t behind = sum(later, cut, cluster.end);
        const std::uint64_t all_before = before + sum(second, cluster.begin, cut);
        const std::uint64_t all_behind = behind + sum(second, cut, cluster.end);
        const double likely = information(before, all_before) + information(behind, all_behind);
        if (all_behind >= kLeast && share(before, all_before) <= kFew &&
            share(behind, all_behind) >= kMany && likely > most) {
            most = likely;
            best = cut;
        }
    }
    return best;
}

// Count unsure echoes only.
std::uint64_t CopyClassifier::echoes_of(const Cluster& cluster, std::size_t slot) const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < kGroups; ++i) {
        for (unsigned at = cluster.begin; at < cluster.end; ++at) {
            sum += echoes_of(class_of(slot, static_cast<PacketGroup>(i)), at);
        }
    }
    return sum;
}

namespace {

// The bin of the median, how many are in it and its neighbours, and how many there are.
struct Middle {
    unsigned at = 0;
    std::uint64_t near = 0;
    std::uint64_t all = 0;
};

Middle middle_of(const std::array<std::uint64_t, kAgeBins>& echoes) {
    Middle out;
    out.all = std::accumulate(echoes.begin(), echoes.end(), std::uint64_t{0});
    std::uint64_t before = 0;
    for (; out.at < kAgeBins; ++out.at) {
        before += echoes[out.at];
        if (before != 0 && 2 * before >= out.all) {
            break;
        }
    }
    for (unsigned i = out.at == 0 ? 0 : out.at - 1; i < std::min(out.at + 2, kAgeBins); ++i) {
        out.near += echoes[i];
    }
    return out;
}

}  // namespace

void CopyClassifier::find_clock_shifts(std::span<const std::uint64_t> packets) {
    shifts_.clear();
    end_of_crossed_ = 0;
    for (const auto& [pair, crossed] : crossed_) {
        const Middle middle = middle_of(crossed.echoes);
        const auto to = static_cast<std::uint32_t>(pair);
        // A manipulated report may count echoes of an interface without packets.
        const bool many = middle.near >= kMinCrossed && to < packets.size() &&
                          share(middle.near, packets[to]) >= kMostlyCrossed;
        if (many && share(middle.near, middle.all) >= kRegular) {
            const Nanoseconds age = crossed.ages[middle.at] / crossed.echoes[middle.at];
            shifts_.push_back({static_cast<std::uint32_t>(pair >> 32), to, middle.near, age});
            end_of_crossed_ = std::max(end_of_crossed_, std::min(middle.at + 2, kAgeBins));
        }
    }
}

namespace {

// The repeats of a kind, in the bins from `end` on.
struct Again {
    Again() { sum.youngest = UINT64_MAX; }

    SentAgain sum;
    std::array<std::uint64_t, kAgeBins> echoes{};
    std::array<Nanoseconds, kAgeBins> ages{};

    template <typename Bins>
    void add(const Bins& bins, unsigned end) {
        for (unsigned at = end; at < kAgeBins; ++at) {
            const auto& bin = bins[at];
            sum.echoes += bin.echoes;
            echoes[at] += bin.echoes.packets;
            ages[at] += bin.ages;
            sum.youngest = std::min(sum.youngest, bin.youngest);
            sum.oldest = std::max(sum.oldest, bin.oldest);
        }
    }
    void judge() {
        const Middle middle = middle_of(echoes);
        sum.period = ages[middle.at] / echoes[middle.at];
        sum.regular = middle.all >= kMinRegular && share(middle.near, middle.all) >= kRegular;
    }
};

}  // namespace

ClassifiedEchoes CopyClassifier::sorted(Nanoseconds resolution) const {
    ClassifiedEchoes out;
    const Judged judged = this->judged(resolution);
    out.ends = judged.ends;
    out.misjudged = judged.misjudged;
    AgeHistogram& ages = out.histogram;
    for (const auto& [of_class, all] : classes_) {
        for (unsigned at = 0; at < out.ends[of_class]; ++at) {
            const Bin& bin = all.bins[at];
            if (bin.echoes.packets != 0) {
                out.copies += bin.echoes;
                out.appended += of_class == kTwice ? bin.echoes : Count{};
                out.by_hops += of_class == kHops ? bin.echoes : Count{};
                ages.add(at, all.causes[at], bin.youngest, bin.oldest);
            }
        }
    }
    out.ages = ages.ages(resolution);
    std::map<std::uint32_t, Again> kinds;
    for (const auto& [key, bins] : labels_) {
        const auto label = static_cast<std::uint32_t>(key >> 8);
        kinds.try_emplace(label).first->second.add(bins, out.ends[key & 255]);
    }
    for (auto& [label, again] : kinds) {
        SentAgain& one = again.sum;
        if (one.echoes.packets != 0) {
            again.judge();
            one.protocol = label == kOthers ? "others" : kind_name(label);
            out.sent_again += one.echoes;
            out.youngest_sent_again =
                std::min(out.youngest_sent_again.value_or(one.youngest), one.youngest);
            out.kinds_sent_again.push_back(std::move(one));
        }
    }
    std::stable_sort(
        out.kinds_sent_again.begin(), out.kinds_sent_again.end(),
        [](const auto& a, const auto& b) { return a.echoes.packets > b.echoes.packets; });
    doubt(out);
    out.doubtful.in_storms = in_storms_;
    return out;
}

// Report unsure echoes that were judged as repeats although nearly every packet has one.
void CopyClassifier::doubt(ClassifiedEchoes& out) const {
    std::uint64_t packets = 0;
    std::uint64_t again = 0;
    for (const Slot& slot : slots_) {
        packets = std::accumulate(slot.packets.begin(), slot.packets.end(), packets);
    }
    Nanoseconds oldest = 0;
    for (const auto& [of_class, all] : classes_) {
        if (of_class < kUnsure || of_class == kLate) {
            continue;
        }
        for (unsigned at = out.ends[of_class]; at < kAgeBins; ++at) {
            again += all.bins[at].echoes.packets;
            oldest = std::max(oldest, all.bins[at].oldest);
        }
    }
    if (again >= kMinDoubled && share(again, packets) >= kDoubled) {
        out.doubtful.doubled = again;
        out.doubtful.within = oldest;
    }
}

}  // namespace unecho::analyze
