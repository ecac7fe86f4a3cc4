// SPDX-License-Identifier: BSD-3-Clause
// Derive the report from the findings.
#include <algorithm>

#include "base/option_names.h"
#include "captures/analyze/collect/findings.h"

namespace unecho::analyze {
namespace {

constexpr std::size_t kMaxTalkers = 20;

std::optional<Nanoseconds> window_at(unsigned i) {
    return kWindowBuckets[i] == kNoWindowEnd ? std::nullopt : std::optional(kWindowBuckets[i]);
}

}  // namespace

Report Findings::report(std::span<const Nanoseconds> later) {
    Report out;
    out.total = all_.total;
    out.captured = captured_;
    out.echoes = all_.echoes;
    out.keyed = keyed_;
    out.non_ip = non_ip_;
    engines::NonIpTypeCounter types;
    for (const auto& [type, packets] : non_ip_types_) {
        types.add({static_cast<packet::NonIpNumber>(type >> 16), static_cast<std::uint16_t>(type)},
                  packets);
    }
    out.non_ip_types = types.most_first();
    out.malformed = malformed_;
    out.basis.longest_frame = longest_;
    out.basis.short_echoes = short_echoes_;
    out.first_time = first_;
    out.last_time = latest_;
    out.duration = elapsed_;
    out.keys = keys_;
    out.loops = loop_rows(loops);
    out.cut = cut_;
    for (unsigned i = 0; prefixes && prefixes_wanted && i < kWindows; ++i) {
        std::vector<KeyBytes>& row = out.basis.key_bytes.emplace_back();
        for (std::size_t n = 0; n < kKeyBytesAsked.size(); ++n) {
            row.push_back(prefixes->at(n, i));
        }
    }
    out.basis.inside = inside;
    report_echoes(out);
    report_time(out, later);
    const Judgement judged = sort_echoes(out);
    report_windows(out);
    report_copies(out, judged);
    take_copied_frames(out);
    report_memory(out);
    return out;
}

void Findings::report_echoes(Report& out) {
    out.key_times = key_times_;
    for (std::size_t i = 0; i < kCauses; ++i) {
        out.causes.push_back({static_cast<Cause>(i), causes_[i], {}});
    }
    for (std::size_t i = 0; i < kDifferences; ++i) {
        out.differences.push_back({static_cast<Difference>(i), differences_[i], 0});
    }
    out.look_alikes = segments.look_alikes(resolution_);
    report_places(out);
    for (std::uint16_t i = 0; i < kProtocols; ++i) {
        if (protocols_[i].total.packets != 0) {
            out.protocols.push_back(
                {protocol_name(i), protocols_[i].total, protocols_[i].echoes, {}, i});
        }
    }
    std::stable_sort(out.protocols.begin(), out.protocols.end(), [](const auto& a, const auto& b) {
        return a.total.packets > b.total.packets;
    });
    out.talkers = top_talkers(pairs, kMaxTalkers);
}

void Findings::report_time(Report& out, std::span<const Nanoseconds> later) const {
    Timeline all;
    for (std::size_t i = 0; i < by_capture.size(); ++i) {
        all.add_shifted(by_capture[i].timeline, i < later.size() ? later[i] : 0);
    }
    out.time_bin = all.width();
    out.time = all.bins();
}

void Findings::report_places(Report& out) {
    for (std::size_t i = 0; i < interfaces_.size(); ++i) {
        InterfaceInfo info;
        info.total = interfaces_[i].total;
        info.echoes = interfaces_[i].echoes;
        out.interfaces.push_back(info);
    }
    for (const Tally& file : files_) {
        out.files.push_back({"", file.total, file.echoes, {}});
    }
    for (const auto& [pair, count] : crossings) {
        out.crossings.push_back(
            {static_cast<std::uint32_t>(pair >> 32), static_cast<std::uint32_t>(pair), count});
    }
}

// Judge packets first: where they are copied, frames without a packet are likely to be, too.
Findings::Judgement Findings::sort_echoes(Report& out) {
    std::vector<std::uint64_t> totals;
    for (const Tally& tally : interfaces_) {
        totals.push_back(tally.total.packets);
    }
    CopyClassifier& sorter = packet_echoes_.sorter;
    sorter.find_clock_shifts(totals);
    out.clock_shifts = sorter.clock_shifts();
    const ClassifiedEchoes packets = sorter.sorted(resolution_);
    frame_echoes_.sorter.set_companion(sorter);
    const ClassifiedEchoes frames = frame_echoes_.sorter.sorted(resolution_);
    if (tally_) {
        tally_->judge(packets, frames);
    }
    out.non_ip_copied = frames.copies;
    out.copied = packets.copies + frames.copies;
    out.appended = packets.appended + frames.appended;
    constexpr std::uint64_t kMinRetagged = 8;
    out.basis.point = {packets.by_hops.packets != 0, retagged_ >= kMinRetagged,
                       populations_.is_doubled_elsewhere()};
    AgeHistogram ages = packets.histogram;
    ages.add(frames.histogram);
    out.ages = ages.ages(resolution_);
    out.sent_again = packets.sent_again + frames.sent_again;
    out.basis.youngest_keyed = packets.youngest_sent_again;
    out.basis.youngest_frame = frames.youngest_sent_again;
    out.basis.oldest_keyed = packets.copies.packets == 0 ? 0 : packets.ages.oldest;
    out.basis.doubtful = packets.doubtful;
    out.basis.doubtful.in_storms += frames.doubtful.in_storms;
    out.youngest_sent_again = earlier(packets.youngest_sent_again, frames.youngest_sent_again);
    if (const std::uint64_t judged = (out.copied + out.sent_again).packets; judged != 0) {
        out.confidence =
            1 - std::min(1.0, (packets.misjudged + frames.misjudged) / static_cast<double>(judged));
    }
    out.kinds_sent_again = packets.kinds_sent_again;
    out.kinds_sent_again.insert(out.kinds_sent_again.end(), frames.kinds_sent_again.begin(),
                                frames.kinds_sent_again.end());
    std::stable_sort(
        out.kinds_sent_again.begin(), out.kinds_sent_again.end(),
        [](const auto& a, const auto& b) { return a.echoes.packets > b.echoes.packets; });
    return {packets.ends, frames.ends};
}

void Findings::report_copies(Report& out, const Judgement& judged) {
    CopyCounts copies = packet_echoes_.copies.counts(judged.packets);
    const CopyCounts frames = frame_echoes_.copies.counts(judged.frames);
    for (unsigned i = 0; i < kWindows; ++i) {
        out.windows[i].fixed_copied = copies.fixed.at(i);
        out.windows[i].refresh_copied = copies.refresh.at(i);
        out.basis.frame_windows[i].fixed_copied = frames.fixed.at(i);
        out.basis.frame_windows[i].refresh_copied = frames.refresh.at(i);
    }
    report_kept(out, copies, frames, judged);
    tunnelled_ = copies.tunnelled;
    copies.add(frames);
    for (std::size_t i = 0; i < kCauses; ++i) {
        out.causes[i].copied = copies.causes[i];
    }
    for (std::size_t i = 0; i < kDifferences; ++i) {
        out.differences[i].copied = copies.differences[i];
    }
    // A manipulated report may count copies of an interface without packets.
    out.interfaces.resize(std::max(out.interfaces.size(), copies.interfaces.size()));
    out.files.resize(std::max(out.files.size(), copies.files.size()));
    for (std::size_t i = 0; i < copies.interfaces.size(); ++i) {
        out.interfaces[i].copied = copies.interfaces[i];
    }
    for (std::size_t i = 0; i < copies.files.size(); ++i) {
        out.files[i].copied = copies.files[i];
    }
    for (ProtocolCount& one : out.protocols) {
        one.copied = one.number < copies.protocols.size() ? copies.protocols[one.number] : Count{};
    }
}

// Report which echoes repeats = "keep" forwards.
void Findings::report_kept(Report& out, const CopyCounts& copies, const CopyCounts& frames,
                           const Judgement& judged) const {
    const auto basis = [&](const Echoes& all, const KeptTally& copied, const CopyAgeLimits& ends,
                           LooksAgain Population::*asked) {
        RepeatsBasis of;
        const KeptCounts elsewhere = all.kept.kept_elsewhere(out.basis.point);
        const KeptCounts copied_elsewhere = copied.kept_elsewhere(out.basis.point);
        for (unsigned i = 0; i < kWindows; ++i) {
            of.elsewhere.push_back({elsewhere.fixed.at(i), elsewhere.refresh.at(i),
                                    copied_elsewhere.fixed.at(i), copied_elsewhere.refresh.at(i)});
        }
        of.here = all.copies.same_point_rows(ends, out.basis.point);
        // Echoes that CopyTally does not hold came too late to be copies.
        const SamePointLooks looks = all.kept.looks(out.basis.point);
        SamePointRow late{kAgeBins - 1, {}, looks.all, {}};
        for (unsigned i = 0; i < kWindows; ++i) {
            late.kept.push_back({looks.kept.fixed.at(i), looks.kept.refresh.at(i), {}, {}});
        }
        for (const SamePointRow& looks : of.here) {
            late.again -= looks.copies + looks.again;
            for (unsigned i = 0; i < kWindows; ++i) {
                late.kept[i].fixed -= looks.kept[i].fixed;
                late.kept[i].refresh -= looks.kept[i].refresh;
            }
        }
        of.here.push_back(late);
        for (std::size_t which = 0; which < of.seen_twice.size(); ++which) {
            of.seen_twice[which] =
                populations_.seen_twice(asked, static_cast<packet::SecondLooks>(which));
        }
        return of;
    };
    out.basis.repeats =
        basis(packet_echoes_, copies.kept, judged.packets, &Population::packets_asked);
    out.basis.frame_repeats =
        basis(frame_echoes_, frames.kept, judged.frames, &Population::frames_asked);
}

// Add copies of frames without an IP packet to the modes. Key frame loses nothing by dropping them,
// but misses those with other tags or padding; the other keys miss all of them.
void Findings::take_copied_frames(Report& out) const {
    if (out.non_ip_copied.packets == 0) {
        return;
    }
    for (unsigned i = 0; i < kWindows; ++i) {
        const Count found = least(frame_echoes_.fixed.at(i), out.non_ip_copied);
        const Count copies = least(non_ip_dropped_.at(i), found);
        for (Mode& mode : out.modes) {
            ModeRow& row = mode.rows[i];
            if (mode.key == packet::KeyMode::kFrame) {
                row.lost -= copies;
                row.missed += found - copies;
            } else {
                row.missed += found;
            }
        }
    }
}

void Findings::report_windows(Report& out) {
    for (std::size_t i = 0; i < packet::kKeyModes; ++i) {
        out.modes[i].key = static_cast<packet::KeyMode>(i);
    }
    const auto row = [&](packet::KeyMode mode, ModeRow one) {
        out.modes[static_cast<std::size_t>(mode)].rows.push_back(one);
    };
    for (unsigned i = 0; i < kWindows; ++i) {
        const auto window = window_at(i);
        const Count fixed = packet_echoes_.fixed.at(i);
        out.windows.push_back({window, fixed, packet_echoes_.refresh.at(i), {}, {}});
        out.basis.frame_windows.push_back(
            {window, frame_echoes_.fixed.at(i), frame_echoes_.refresh.at(i), {}, {}});
        row(packet::KeyMode::kPacket, {window, fixed, {}, {}});
        const auto of_mode = [&](packet::KeyMode mode, const ModeCounts& counts) {
            const Count lost = counts.lost.at(i);
            const Count missed = counts.missed.at(i);
            row(mode, {window, fixed + lost - missed, lost, missed});
        };
        of_mode(packet::KeyMode::kFrame, modes[0]);
        of_mode(packet::KeyMode::kFlow, modes[1]);
        of_mode(packet::KeyMode::kFlowBidir, modes[2]);
    }
}

void Findings::report_memory(Report& out) const {
    out.blind_after = blind_after;
    out.others_blind_after = others_blind_after;
    out.memory_bytes = memory_bytes;
    if (out.total.packets > 1 && out.duration == 0) {
        out.warnings.push_back({"", 0, 1,
                                "all packets have the same time: nothing tells copies from what "
                                "was sent again, nor how long a window must be",
                                "no_times"});
    }
    if (ladders_taken != 0) {
        out.warnings.push_back({"", 0, ladders_taken,
                                "memory was full: drops by window of keys that repeat irregularly "
                                "are approximate; more " +
                                    option::kMemory + " helps"});
    }
}

std::optional<TunnelReport> Views::tunnel_report() const {
    if (!tunnels.any()) {
        return std::nullopt;
    }
    TunnelReport out = tunnels.report();
    if (inside) {
        const TunnelledCopies& copies = inside->tunnelled();
        for (std::size_t i = 0; i < kTunnelRelations; ++i) {
            out.meetings[i].copied = copies.meetings[i];
            if (static_cast<TunnelRelation>(i) != TunnelRelation::kWhole) {
                out.needing += copies.meetings[i];
            }
        }
        out.across_tenants = copies.other_tenant;
        out.needed = copies.needed;
        if (inside->prefixes) {
            out.needed_cut = inside->prefixes->around;
            out.across_tenants_cut = inside->prefixes->across_tenants;
        }
    }
    return out;
}

}  // namespace unecho::analyze
