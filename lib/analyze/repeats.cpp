// SPDX-License-Identifier: BSD-3-Clause
#include "analyze/repeats.h"

#include <algorithm>

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

void merge(Count& into, const Count& part) {
    into.packets += part.packets;
    into.bytes += part.bytes;
}

}  // namespace

Repeats::Repeats(std::uint64_t memory) : most_labels_(most_labels(memory)), senders_(kSenders) {}

// The ID of a sender that writes the same into everything does not count.
bool Repeats::counts(const Kind& kind) const noexcept {
    const Sender& sender = senders_[kind.source % kSenders];
    return kind.counts && !(sender.source == kind.source && sender.same > sender.other);
}

void Repeats::first(const Kind& kind) {
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

Repeats::Bins& Repeats::bins_of(std::uint32_t label) {
    const auto found = labels_.find(label);
    if (found != labels_.end()) {
        return *found->second;
    }
    std::unique_ptr<Bins>& bins = labels_[labels_.size() < most_labels_ ? label : kOthers];
    if (!bins) {
        bins = std::make_unique<Bins>();
    }
    return *bins;
}

Repeats::Place Repeats::again(const Kind& kind, const Again& echo) {
    const bool young = echo.age < kOneSwitch;
    const bool sure = echo.moved || counts(kind) || (kind.opaque && young);
    const bool again = echo.age >= kLongestPath || echo.cause == Cause::kResent;
    const Class is = again ? kLate : sure ? kSure : kUnsure;
    const unsigned at = age_bin(echo.age);
    for (Bin* bin : {&bins_of(kind.label())[is][at], &all_[is][at]}) {
        bin->echoes.add(echo.length);
        bin->ages += echo.age;
        bin->youngest = std::min(bin->youngest, echo.age);
        bin->oldest = std::max(bin->oldest, echo.age);
    }
    ++causes_[is][at][static_cast<std::size_t>(echo.cause)];
    const Place place{is, static_cast<std::uint8_t>(at)};
    if (is != kUnsure || kind.answer) {
        return place;
    }
    if (echo.run > kMostInRow) {
        ++eligible_;
        return place;
    }
    hits_ += young ? 1 : 0;
    segment_hits_ += kind.segment ? 1 : 0;
    return place;
}

// Behind the last bin of sure copies. A gap behind nearly all of them ends them: what comes later
// was sent again by somebody who uses the same ID.
unsigned Repeats::end_of_sure() const {
    const auto& bins = all_[kSure];
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
        const bool gap = end != 0 && i - end >= kGapBins && age_bin_low(i) >= kStraightPath;
        if (gap && share(before, all) >= kMostCopies) {
            break;
        }
        before += bins[i].echoes.packets;
        end = i + 1;
    }
    return end;
}

unsigned Repeats::end_of_unsure(std::optional<Nanoseconds> mirrored) const {
    const unsigned one_switch = age_bin(kOneSwitch);
    if (mirrored) {
        return std::max(age_bin(*mirrored) + 1, one_switch);
    }
    if (segment_hits_ * kMirrorShare >= std::max<std::uint64_t>(eligible_, 1)) {
        return kAgeBins;
    }
    return hits_ != 0 && hits_ * kMirrorShare >= eligible_ ? one_switch : 0;
}

Repeats::Ends Repeats::ends(std::optional<Nanoseconds> mirrored) const {
    const unsigned sure = end_of_sure();
    if (sure != 0) {
        const Nanoseconds oldest = all_[kSure][sure - 1].oldest;
        mirrored = std::max(mirrored.value_or(0), oldest);
    }
    return {sure, end_of_unsure(mirrored), 0};
}

namespace {

template <typename Bins>
SentAgain summed(const Bins& bins, const std::array<unsigned, 3>& ends) {
    SentAgain out;
    std::array<std::uint64_t, kAgeBins> echoes{};
    std::array<Nanoseconds, kAgeBins> ages{};
    out.youngest = UINT64_MAX;
    for (std::size_t i = 0; i < bins.size(); ++i) {
        for (unsigned at = ends[i]; at < kAgeBins; ++at) {
            const auto& bin = bins[i][at];
            merge(out.echoes, bin.echoes);
            echoes[at] += bin.echoes.packets;
            ages[at] += bin.ages;
            out.youngest = std::min(out.youngest, bin.youngest);
            out.oldest = std::max(out.oldest, bin.oldest);
        }
    }
    std::uint64_t before = 0;
    for (unsigned at = 0; at < kAgeBins && out.echoes.packets != 0; ++at) {
        before += echoes[at];
        if (2 * before < out.echoes.packets) {
            continue;
        }
        out.period = ages[at] / echoes[at];
        std::uint64_t near = 0;
        for (unsigned i = at == 0 ? 0 : at - 1; i < std::min(at + 2, kAgeBins); ++i) {
            near += echoes[i];
        }
        out.regular =
            out.echoes.packets >= kLeastRegular && share(near, out.echoes.packets) >= kRegular;
        break;
    }
    return out;
}

}  // namespace

Told Repeats::tell(Nanoseconds resolution, std::optional<Nanoseconds> mirrored) const {
    const auto end = ends(mirrored);
    Told out;
    out.ends = end;
    AgeHistogram ages;
    for (std::size_t i = 0; i < kClasses; ++i) {
        for (unsigned at = 0; at < end[i]; ++at) {
            const Bin& bin = all_[i][at];
            if (bin.echoes.packets != 0) {
                merge(out.copies, bin.echoes);
                ages.add(at, causes_[i][at], bin.youngest, bin.oldest);
            }
        }
    }
    out.ages = ages.ages(resolution);
    for (const auto& [label, bins] : labels_) {
        SentAgain one = summed(*bins, end);
        if (one.echoes.packets != 0) {
            one.protocol = label == kOthers ? "others" : kind_name(label);
            merge(out.sent_again, one.echoes);
            out.youngest_again = std::min(out.youngest_again.value_or(one.youngest), one.youngest);
            out.kinds.push_back(std::move(one));
        }
    }
    std::stable_sort(out.kinds.begin(), out.kinds.end(), [](const auto& a, const auto& b) {
        return a.echoes.packets > b.echoes.packets;
    });
    return out;
}

}  // namespace unecho::analyze
