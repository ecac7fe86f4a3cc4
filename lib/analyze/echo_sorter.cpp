// SPDX-License-Identifier: BSD-3-Clause
#include "analyze/echo_sorter.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace unecho::analyze {
namespace {

// A mirror of one direction doubles about half of the packets, one of a host among others less; a
// host that says some things twice, of all that is said, hardly a quarter.
constexpr std::uint64_t kMirrorShare = 4;
// Copies that mirrors and taps make of one packet, one behind the other: of both directions at two
// switches. A flood or a short cycle goes on.
constexpr unsigned kMostInRow = 4;

// Bins without any echo that make a gap: a factor of four.
constexpr unsigned kGapBins = 6;
constexpr double kMostCopies = 0.95;  // a gap behind these ends them
// Half the Earth's circumference in fibre. What needs longer has come by a detour, and if nothing
// is between it and nearly all others, rather by none.
constexpr Nanoseconds kStraightPath = 100 * kMillisecond;
constexpr std::uint32_t kOthers = UINT32_MAX;
constexpr double kRegular = 0.75;  // of the ages lie within a bin of the median's
constexpr std::uint64_t kLeastRegular = 3;
// More of a key, in a row within kOneSwitch, is a storm: hosts say something again a few times.
constexpr unsigned kStorm = 32;
// So many packets, of all that came, make one suspect a mirror where nothing tells of it.
constexpr std::uint64_t kLeastDoubled = 8;
constexpr double kDoubled = 0.75;
// Taps whose clocks differ: so many of one's packets, and so large a part of these, were at the
// other before.
constexpr std::uint64_t kLeastCrossed = 10;
constexpr double kMostlyCrossed = 0.25;

}  // namespace

EchoSorter::EchoSorter(std::uint64_t memory)
    : most_labels_(most_labels(memory)), most_crossed_(most_crossed(memory)), senders_(kSenders) {}

// The ID of a sender that writes the same into everything does not count.
bool EchoSorter::counts(const Kind& kind) const noexcept {
    const Sender& sender = senders_[kind.source % kSenders];
    return kind.counts && !(sender.source == kind.source && sender.same > sender.other);
}

void EchoSorter::first(const Kind& kind) {
    eligible_ += kind.answer ? 0 : 1;
    if (kind.id == 0) {
        return;
    }
    Sender& sender = senders_[kind.source % kSenders];
    if (sender.source != kind.source) {
        sender = {kind.source, kind.id, 0, 0};
        return;
    }
    ++(sender.id == kind.id ? sender.same : sender.other);
    sender.id = kind.id;
}

EchoSorter::Bins& EchoSorter::bins_of(std::uint32_t label) {
    const auto found = labels_.find(label);
    return found != labels_.end() ? found->second
                                  : labels_[labels_.size() < most_labels_ ? label : kOthers];
}

EchoSorter::Class EchoSorter::class_of(const Kind& kind, const Echo& echo) const noexcept {
    if (echo.cause == Cause::kResent) {
        return kLate;
    }
    if (echo.age >= kLongestPath) {
        return echo.original != echo.interface ? kCrossed : kLate;
    }
    const bool sure = echo.moved || counts(kind) || (kind.opaque && echo.age < kOneSwitch);
    return sure ? kSure : kind.answer ? kAnswer : kUnsure;
}

void EchoSorter::note_crossed(const Echo& echo, unsigned at) {
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

EchoBin EchoSorter::add(const Kind& kind, const Echo& echo) {
    const Class is = class_of(kind, echo);
    const unsigned at = age_bin(echo.age);
    if (is == kCrossed && echo.second) {
        note_crossed(echo, at);
    }
    in_storms_ += echo.run > kStorm ? 1 : 0;
    for (Bin* bin : {&bins_of(kind.label())[is][at], &all_[is][at]}) {
        bin->echoes.add(echo.length);
        bin->ages += echo.age;
        bin->youngest = std::min(bin->youngest, echo.age);
        bin->oldest = std::max(bin->oldest, echo.age);
    }
    ++causes_[is][at][static_cast<std::size_t>(echo.cause)];
    const EchoBin bin{is, static_cast<std::uint8_t>(at)};
    if (is != kUnsure) {
        return bin;
    }
    if (echo.run > kMostInRow) {
        ++eligible_;
        return bin;
    }
    hits_ += echo.age < kOneSwitch ? 1 : 0;
    segment_hits_ += kind.segment ? 1 : 0;
    ++any_hits_;
    any_oldest_ = std::max(any_oldest_, echo.age);
    return bin;
}

EchoSorter::Bin& EchoSorter::Bin::operator+=(const Bin& other) noexcept {
    echoes += other.echoes;
    ages += other.ages;
    youngest = std::min(youngest, other.youngest);
    oldest = std::max(oldest, other.oldest);
    return *this;
}

void EchoSorter::add(const EchoSorter& others) {
    const auto add_bins = [](Bins& into, const Bins& from) {
        for (std::size_t i = 0; i < kClasses; ++i) {
            for (unsigned at = 0; at < kAgeBins; ++at) {
                into[i][at] += from[i][at];
            }
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
    add_bins(all_, others.all_);
    for (std::size_t i = 0; i < kClasses; ++i) {
        for (unsigned at = 0; at < kAgeBins; ++at) {
            for (std::size_t cause = 0; cause < kCauses; ++cause) {
                causes_[i][at][cause] += others.causes_[i][at][cause];
            }
        }
    }
    eligible_ += others.eligible_;
    hits_ += others.hits_;
    segment_hits_ += others.segment_hits_;
    any_hits_ += others.any_hits_;
    any_oldest_ = std::max(any_oldest_, others.any_oldest_);
    in_storms_ += others.in_storms_;
}

void EchoSorter::renumber(std::span<const std::uint32_t> to) {
    std::map<std::uint64_t, Crossed> renumbered;
    for (auto& [pair, crossed] : crossed_) {
        renumbered.emplace(pair_of(to[pair >> 32], to[pair & UINT32_MAX]), crossed);
    }
    crossed_ = std::move(renumbered);
}

bool EchoSorter::within(std::size_t interfaces) const {
    return std::all_of(crossed_.begin(), crossed_.end(), [&](const auto& one) {
        return one.first >> 32 < interfaces && (one.first & UINT32_MAX) < interfaces;
    });
}

// Behind the last bin of copies, where all of them may be. A gap that reaches beyond least, behind
// nearly all of them, ends them: what comes later was sent again by somebody who uses the same ID.
unsigned EchoSorter::end_of(Class is, Nanoseconds least) const {
    const auto& bins = all_[is];
    std::uint64_t all = 0;
    for (const Bin& bin : bins) {
        all += bin.echoes.packets;
    }
    std::uint64_t before = 0;
    unsigned end = 0;
    for (unsigned i = 0; i < kAgeBins; ++i) {
        if (bins[i].echoes.packets == 0) {
            continue;
        }
        const bool gap = end != 0 && i - end >= kGapBins && age_bin_low(i) >= least;
        if (gap && share(before, all) >= kMostCopies) {
            break;
        }
        before += bins[i].echoes.packets;
        end = i + 1;
    }
    return end;
}

unsigned EchoSorter::end_of_unsure(Class is, std::optional<Nanoseconds> mirrored) const {
    const unsigned one_switch = age_bin(kOneSwitch);
    if (mirrored) {
        const unsigned last = age_bin(*mirrored);
        const bool beyond = all_[is][last].youngest > *mirrored;
        return std::max(beyond ? last : last + 1, one_switch);
    }
    if (segment_hits_ * kMirrorShare >= std::max<std::uint64_t>(eligible_, 1)) {
        return std::max(end_of(kUnsure, kOneSwitch), one_switch);
    }
    return hits_ != 0 && hits_ * kMirrorShare >= eligible_ ? one_switch : 0;
}

CopyEnds EchoSorter::ends(std::optional<Nanoseconds> mirrored) const {
    const unsigned sure = end_of(kSure, kStraightPath);
    if (sure != 0) {
        const Nanoseconds oldest = all_[kSure][sure - 1].oldest;
        mirrored = std::max(mirrored.value_or(0), oldest);
    }
    return {sure, end_of_unsure(kUnsure, mirrored), end_of_unsure(kAnswer, mirrored),
            end_of_crossed_, 0};
}

namespace {

// The bin of the median, how many lie in it and in those beside it, and how many there are.
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

void EchoSorter::judge_clocks(std::span<const std::uint64_t> packets) {
    shifts_.clear();
    end_of_crossed_ = 0;
    for (const auto& [pair, crossed] : crossed_) {
        const Middle middle = middle_of(crossed.echoes);
        const auto to = static_cast<std::uint32_t>(pair);
        const bool many =
            middle.near >= kLeastCrossed && share(middle.near, packets[to]) >= kMostlyCrossed;
        if (many && share(middle.near, middle.all) >= kRegular) {
            const Nanoseconds age = crossed.ages[middle.at] / crossed.echoes[middle.at];
            shifts_.push_back({static_cast<std::uint32_t>(pair >> 32), to, middle.near, age});
            end_of_crossed_ = std::max(end_of_crossed_, std::min(middle.at + 2, kAgeBins));
        }
    }
}

namespace {

template <typename Bins>
SentAgain summed(const Bins& bins, const CopyEnds& ends) {
    SentAgain out;
    std::array<std::uint64_t, kAgeBins> echoes{};
    std::array<Nanoseconds, kAgeBins> ages{};
    out.youngest = UINT64_MAX;
    for (std::size_t i = 0; i < bins.size(); ++i) {
        for (unsigned at = ends[i]; at < kAgeBins; ++at) {
            const auto& bin = bins[i][at];
            out.echoes += bin.echoes;
            echoes[at] += bin.echoes.packets;
            ages[at] += bin.ages;
            out.youngest = std::min(out.youngest, bin.youngest);
            out.oldest = std::max(out.oldest, bin.oldest);
        }
    }
    if (out.echoes.packets != 0) {
        const Middle middle = middle_of(echoes);
        out.period = ages[middle.at] / echoes[middle.at];
        out.regular = middle.all >= kLeastRegular && share(middle.near, middle.all) >= kRegular;
    }
    return out;
}

}  // namespace

SortedEchoes EchoSorter::sorted(Nanoseconds resolution, std::optional<Nanoseconds> mirrored) const {
    const auto end = ends(mirrored);
    SortedEchoes out;
    out.ends = end;
    AgeHistogram& ages = out.histogram;
    for (std::size_t i = 0; i < kClasses; ++i) {
        for (unsigned at = 0; at < end[i]; ++at) {
            const Bin& bin = all_[i][at];
            if (bin.echoes.packets != 0) {
                out.copies += bin.echoes;
                ages.add(at, causes_[i][at], bin.youngest, bin.oldest);
            }
        }
    }
    out.ages = ages.ages(resolution);
    for (const auto& [label, bins] : labels_) {
        SentAgain one = summed(bins, end);
        if (one.echoes.packets != 0) {
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
    if (any_hits_ >= kLeastDoubled && share(any_hits_, eligible_) >= kDoubled) {
        out.doubtful.doubled = any_hits_;
        out.doubtful.within = any_oldest_;
    }
    out.doubtful.in_storms = in_storms_;
    return out;
}

}  // namespace unecho::analyze
