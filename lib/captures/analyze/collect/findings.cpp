// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/collect/findings.h"

#include <algorithm>

#include "filters/hash/digest.h"

namespace unecho::analyze {
namespace {

template <typename List>
void add_each(List& into, const List& more) {
    for (std::size_t i = 0; i < into.size(); ++i) {
        into[i] += more[i];
    }
}

template <typename T>
void add_longer(std::vector<T>& into, const std::vector<T>& more) {
    into.resize(std::max(into.size(), more.size()));
    for (std::size_t i = 0; i < more.size(); ++i) {
        into[i] += more[i];
    }
}

template <typename T>
std::vector<T> renumbered(const std::vector<T>& list, std::span<const std::uint32_t> to) {
    std::vector<T> out;
    for (std::size_t i = 0; i < list.size(); ++i) {
        out.resize(std::max<std::size_t>(out.size(), to[i] + std::size_t{1}));
        out[to[i]] = list[i];
    }
    return out;
}

}  // namespace

CollectorCounts::Tally& CollectorCounts::Tally::operator+=(const Tally& more) noexcept {
    total += more.total;
    echoes += more.echoes;
    return *this;
}

void CollectorCounts::Echoes::add(const Echoes& more) {
    sorter.add(more.sorter);
    copies.add(more.copies);
    fixed.add(more.fixed);
    refresh.add(more.refresh);
    kept.add(more.kept);
}

void ReadCounts::add(const capture::Record& record) noexcept {
    ++packets;
    bytes += record.wire_length;
    mark = remix(mark ^ record.time, std::uint64_t{record.interface} << 48 ^
                                         std::uint64_t{record.wire_length} << 24 ^ record.length);
}

void Findings::renumber(const Places& places) {
    std::vector<PerCapture> captures(places.all_captures);
    for (std::size_t i = 0; i < by_capture.size(); ++i) {
        captures[places.captures[i]] = by_capture[i];
    }
    by_capture = std::move(captures);
    interfaces_ = renumbered(interfaces_, places.interfaces);
    files_ = renumbered(files_, places.files);
    std::map<std::uint64_t, Count> crossed;
    for (const auto& [pair, count] : crossings) {
        crossed[std::uint64_t{places.interfaces[pair >> 32]} << 32 |
                places.interfaces[pair & UINT32_MAX]] = count;
    }
    crossings = std::move(crossed);
    for (Echoes* echoes : {&packet_echoes_, &frame_echoes_}) {
        echoes->sorter.renumber(places.interfaces);
        echoes->copies.renumber(places.interfaces, places.files);
    }
}

void Findings::add(const Findings& more) {
    resolution_ = std::min(resolution_, more.resolution_);
    all_ += more.all_;
    keyed_ += more.keyed_;
    non_ip_ += more.non_ip_;
    for (const auto& [type, packets] : more.non_ip_types_) {
        non_ip_types_[type] += packets;
    }
    malformed_ += more.malformed_;
    cut_ += more.cut_;
    captured_ += more.captured_;
    longest_ = std::max(longest_, more.longest_);
    keys_ += more.keys_;
    add_each(key_times_, more.key_times_);
    packet_echoes_.add(more.packet_echoes_);
    frame_echoes_.add(more.frame_echoes_);
    non_ip_dropped_.add(more.non_ip_dropped_);
    short_echoes_ += more.short_echoes_;
    retagged_ += more.retagged_;
    populations_.add(more.populations_);
    add_each(causes_, more.causes_);
    add_each(differences_, more.differences_);
    add_each(protocols_, more.protocols_);
    add_longer(interfaces_, more.interfaces_);
    add_longer(files_, more.files_);
    if (tally_ && more.tally_) {
        tally_->add(*more.tally_);
    }
    for (std::size_t i = 0; i < by_capture.size(); ++i) {
        by_capture[i].all.take_maxima(more.by_capture[i].all);
        by_capture[i].timeline.add(more.by_capture[i].timeline);
        by_capture[i].accepted.add_concurrent(more.by_capture[i].accepted, by_capture[i].all);
    }
    for (const auto& [pair, count] : more.crossings) {
        crossings[pair] += count;
    }
    for (std::size_t i = 0; i < modes.size(); ++i) {
        modes[i].add(more.modes[i]);
    }
    segments.add(more.segments);
    for (const LoopCount& loop : more.loops) {
        const auto same = std::find_if(loops.begin(), loops.end(), [&](const LoopCount& one) {
            return one.place == loop.place;
        });
        if (same != loops.end()) {
            same->add(loop);
        } else {
            loops.push_back(loop);
        }
    }
    if (more.prefixes) {
        prefixes = prefixes ? prefixes : PrefixCounts{};
        prefixes->add(*more.prefixes);
    }
    prefixes_wanted = prefixes_wanted || more.prefixes_wanted;
    pairs.add(more.pairs);
    blind_after = earlier(blind_after, more.blind_after);
    others_blind_after = earlier(others_blind_after, more.others_blind_after);
    memory_bytes += more.memory_bytes;
    ladders_taken += more.ladders_taken;
}

// The copy took no memory of its own.
Findings Findings::as_inner_view() const {
    Findings out = *this;
    out.inside = true;
    out.memory_bytes = 0;
    return out;
}

namespace {

// Return true if this encodes a NonIpType.
bool is_type(std::uint32_t mark) {
    const auto what = static_cast<packet::NonIpNumber>(mark >> 16);
    return what < packet::NonIpNumber::kNone ||
           (what == packet::NonIpNumber::kNone && (mark & 0xFFFF) < packet::kLinks);
}

}  // namespace

bool Findings::valid(std::size_t captures, std::size_t interfaces, std::size_t files) const {
    const auto known = [&](const Echoes& echoes) {
        return echoes.sorter.within(interfaces) &&
               echoes.copies.within(interfaces, files, kProtocols);
    };
    return resolution_ != 0 && resolution_ <= kMillisecond && known(packet_echoes_) &&
           known(frame_echoes_) && interfaces_.size() <= interfaces && files_.size() <= files &&
           by_capture.size() == captures &&
           std::all_of(non_ip_types_.begin(), non_ip_types_.end(),
                       [](const auto& one) { return is_type(one.first); }) &&
           std::all_of(by_capture.begin(), by_capture.end(),
                       [](const PerCapture& one) { return one.timeline.valid(); }) &&
           std::all_of(crossings.begin(), crossings.end(),
                       [&](const auto& one) {
                           return one.first >> 32 < interfaces &&
                                  (one.first & UINT32_MAX) < interfaces;
                       }) &&
           (!tally_ || tally_->valid());
}

// A filter is filled by one capture at a time, so the largest peak of several counts.
PeakCounts Findings::accepted() const noexcept {
    PeakCounts out;
    for (const PerCapture& one : by_capture) {
        out.take_maxima(one.accepted);
    }
    return out;
}

PeakCounts Findings::all() const noexcept {
    PeakCounts out;
    for (const PerCapture& one : by_capture) {
        out.take_maxima(one.all);
    }
    return out;
}

std::size_t Views::lists_by_source() const noexcept {
    const auto in = [](const Findings& view) {
        return view.packet_echoes_.copies.used_bins() + view.frame_echoes_.copies.used_bins() + 1;
    };
    return in(plain) + (inside ? in(*inside) : 0);
}

void Views::renumber(const Findings::Places& places) {
    plain.renumber(places);
    if (inside) {
        inside->renumber(places);
    }
}

void Views::add(const Views& more) {
    if (inside || more.inside) {
        inside = inside ? std::move(inside) : plain.as_inner_view();
        inside->add(more.inside ? *more.inside : more.plain.as_inner_view());
    }
    plain.add(more.plain);
    tunnels.add(more.tunnels);
    hidden.add(more.hidden);
}

}  // namespace unecho::analyze
