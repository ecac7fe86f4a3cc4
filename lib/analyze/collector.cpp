// SPDX-License-Identifier: BSD-3-Clause
#include "analyze/collector.h"

#include <algorithm>

namespace unecho::analyze {
namespace {

using capture::Record;
using packet::KeyMode;
using packet::Link;

// Shares of the memory. A key of mode packet or frame rarely needs a ladder, one of a flow mostly.
constexpr double kPacketShare = 0.40;
constexpr double kFrameShare = 0.18;
constexpr double kFlowShare = 0.16;  // each
constexpr double kSegmentShare = 0.10;
constexpr double kFewLadders = 0.2;
constexpr double kManyLadders = 0.75;

// The end of the year 2261, so that ages are below kForever.
constexpr Nanoseconds kLatest = kForever - 1;

// Of what the repeats leave, of packets and of frames.
std::size_t part(std::uint64_t memory, double share) {
    const std::uint64_t repeats = 2 * Repeats::most_bytes(memory);
    return static_cast<std::size_t>(static_cast<double>(memory - repeats) * share);
}

std::uint16_t bounded(std::uint32_t interface) noexcept {
    constexpr std::uint32_t kLast = Collector::kMostInterfaces - 1;
    return static_cast<std::uint16_t>(std::min(interface, kLast));
}

// Whether a second look at the same packet explains the differences, and its sender hardly does. A
// sender may write any TTL; a router that lowers it writes MAC addresses too, where there are any.
bool is_elsewhere(const Origin& origin, Differences differences) noexcept {
    return has(differences, Difference::kMacs) || has(differences, Difference::kTags) ||
           has(differences, Difference::kChecksum) ||
           (has(differences, Difference::kHopLimit) && origin.macs == 0);
}

}  // namespace

struct Collector::Burst {
    struct Found {
        PacketEntry* packet;
        KeyEntry* frame;
        KeyEntry* flow;
        KeyEntry* flow_bidir;
    };

    std::size_t count = 0;
    std::array<packet::Frame, kMaxBurst> frames{};
    std::array<Dissected, kMaxBurst> packets;
    packet::KeyMasks keys;
    std::uint64_t flows = 0;     // bit i: has a key in the flow modes
    std::uint64_t segments = 0;  // bit i: is a TCP segment with payload
    std::array<Digest, kMaxBurst> packet{};
    std::array<Digest, kMaxBurst> frame{};
    std::array<Digest, kMaxBurst> flow{};
    std::array<Digest, kMaxBurst> flow_bidir{};
    std::array<Digest, kMaxBurst> segment{};
    std::array<Found, kMaxBurst> found{};
    std::uint64_t removed = 0;  // bit i: by what is asked about
    std::array<Nanoseconds, kMaxBurst> removed_ages;

    [[nodiscard]] bool is_removed(std::size_t i) const noexcept { return (removed >> i & 1) != 0; }
};

Collector::Collector(std::uint64_t memory, const hash::Secret& secret)
    : secret_(secret),
      packets_(part(memory, kPacketShare), kFewLadders),
      frame_(part(memory, kFrameShare), kFewLadders),
      flow_(part(memory, kFlowShare), kManyLadders),
      flow_bidir_(part(memory, kFlowShare), kManyLadders),
      segments_(part(memory, kSegmentShare)),
      repeats_(memory),
      frame_repeats_(memory) {}

// Bursts of packets with one link type.
void Collector::add(std::span<const Record> records, std::span<const capture::Interface> interfaces,
                    std::span<const Removed> removed) {
    std::size_t begin = 0;
    while (begin < records.size()) {
        const std::uint16_t type = interfaces[records[begin].interface].link_type;
        std::size_t end = begin + 1;
        while (end < records.size() && end - begin < kMaxBurst &&
               interfaces[records[end].interface].link_type == type) {
            ++end;
        }
        Burst burst;
        for (; !removed.empty() && removed.front().record < end; removed = removed.subspan(1)) {
            const std::size_t i = removed.front().record - begin;
            burst.removed |= std::uint64_t{1} << i;
            burst.removed_ages[i] = removed.front().age;
        }
        add_burst(burst, packet::link_of(type), records.subspan(begin, end - begin), interfaces);
        begin = end;
    }
}

void Collector::add_burst(Burst& burst, Link link, std::span<const Record> records,
                          std::span<const capture::Interface> interfaces) {
    burst.count = records.size();
    for (std::size_t i = 0; i < records.size(); ++i) {
        burst.frames[i] = {records[i].data, records[i].length};
        burst.packets[i] = dissect(link, burst.frames[i], secret_);
    }
    digest(burst, link);
    prefetch(burst);
    for (std::size_t i = 0; link == Link::kUnknown && i < records.size(); ++i) {
        unparsed_.note(records[i], interfaces[records[i].interface]);
    }
    for (std::size_t i = 0; i < records.size(); ++i) {
        tell_time(records[i], interfaces[records[i].interface].file);
        add_one(burst, i, records[i]);
    }
}

void Collector::digest(Burst& burst, Link link) {
    const std::span<const packet::Frame> frames(burst.frames.data(), burst.count);
    const auto digest_all = [&](KeyMode mode, std::array<Digest, kMaxBurst>& digests) {
        return packet::digest_burst(mode, link, frames, secret_, digests.data());
    };
    burst.keys = digest_all(KeyMode::kPacket, burst.packet);
    burst.flows = digest_all(KeyMode::kFlow, burst.flow).keyed;
    digest_all(KeyMode::kFlowBidir, burst.flow_bidir);
    digest_all(KeyMode::kFrame, burst.frame);
    std::array<packet::Frame, kMaxBurst> payloads{};
    for (std::size_t i = 0; i < burst.count; ++i) {
        payloads[i] = burst.packets[i].payload;
    }
    packet::digest_burst(KeyMode::kFrame, link, {payloads.data(), burst.count}, secret_,
                         burst.segment.data());
    for (std::size_t i = 0; i < burst.count; ++i) {
        const Dissected& packet = burst.packets[i];
        burst.segments |= std::uint64_t{packet.payload.length != 0} << i;
        burst.segment[i] =
            remix(burst.segment[i] ^ remix(burst.flow[i], packet.sequence), packet.payload_size);
    }
}

void Collector::prefetch(Burst& burst) {
    for (std::size_t i = 0; i < burst.count; ++i) {
        packets_.prefetch_index(burst.packet[i]);
        frame_.prefetch_index(burst.frame[i]);
        flow_.prefetch_index(burst.flow[i]);
        flow_bidir_.prefetch_index(burst.flow_bidir[i]);
        segments_.prefetch_index(burst.segment[i]);
    }
    for (std::size_t i = 0; i < burst.count; ++i) {
        burst.found[i] = {
            packets_.prefetch_entry(burst.packet[i]), frame_.prefetch_entry(burst.frame[i]),
            flow_.prefetch_entry(burst.flow[i]), flow_bidir_.prefetch_entry(burst.flow_bidir[i])};
    }
}

void Collector::tell_time(const Record& record, std::uint32_t file) {
    file_ = file;
    const Nanoseconds time = std::min(record.time, kLatest);
    first_ = started_ ? first_ : time;
    latest_ = std::max(latest_, time);
    const Nanoseconds before = now_;
    now_ = std::min(clock_.at(record, file), kLatest);
    while (started_ && resolution_ > 1 && (now_ - before) % resolution_ != 0) {
        resolution_ /= 1000;
    }
    started_ = true;
    elapsed_ = clock_.elapsed();
}

void Collector::add_one(const Burst& burst, std::size_t i, const Record& record) {
    const std::uint16_t interface = bounded(record.interface);
    if (interface >= interfaces_.size()) {
        interfaces_.resize(std::size_t{interface} + 1);
        crossings_.resize(interfaces_.size() * kMostInterfaces);
    }
    captured_ += record.length;
    longest_ = std::max(longest_, record.length);
    const std::uint64_t length = record.wire_length;
    bool echo = false;
    const WindowMask dropped =
        (burst.keys.keyed >> i & 1) != 0 ? add_key(burst, i, record, echo) : 0;
    const Burst::Found& found = burst.found[i];
    const ModeMemory::Added whole = frame_.add(burst.frame[i], found.frame, now_, length, dropped);
    if ((burst.flows >> i & 1) != 0) {
        flow_.add(burst.flow[i], found.flow, now_, length, dropped);
        flow_bidir_.add(burst.flow_bidir[i], found.flow_bidir, now_, length, dropped);
        if (!echo && (burst.segments >> i & 1) != 0) {
            segments_.add(burst.segment[i], now_, length);
        }
    } else {
        flow_.pass(length, dropped);
        flow_bidir_.pass(length, dropped);
    }
    if (((burst.keys.non_ip | burst.keys.malformed) >> i & 1) != 0) {
        ((burst.keys.non_ip >> i & 1) != 0 ? non_ip_ : malformed_).add(length);
        if ((burst.keys.non_ip >> i & 1) != 0) {
            add_without_ip(burst, i, whole, length);
        }
    }
    tally(burst.packets[i], interface, length, echo);
    if (burst.is_removed(i)) {
        tally_->removed(length);
    }
    timeline_.add(elapsed_, length, echo);
    all_peaks_.add(elapsed_, from(0));
}

void Collector::tally(const Dissected& packet, std::uint16_t interface, std::uint64_t length,
                      bool echo) {
    if (file_ >= files_.size()) {
        files_.resize(std::size_t{file_} + 1);
    }
    for (Tally* tally :
         {&all_, &interfaces_[interface], &files_[file_], &protocols_[packet.protocol]}) {
        tally->total.add(length);
        if (echo) {
            tally->echoes.add(length);
        }
    }
}

WindowMask Collector::add_key(const Burst& burst, std::size_t i, const Record& record, bool& echo) {
    keyed_.add(record.wire_length);
    PacketEntry* entry = packets_.find(burst.packet[i], burst.found[i].packet);
    echo = entry != nullptr;
    if (!echo) {
        PacketEntry& fresh =
            packets_.insert(burst.packet[i], now_, [&](const PacketEntry& old) { forget(old); });
        fresh.origin = burst.packets[i].origin;
        fresh.interface = bounded(record.interface);
        fresh.times = 1;
        fresh.run = 0;
        repeats_.first(burst.packets[i].kind);
        ++keys_;
        accepted_.add(elapsed_, from(0));
        return 0;
    }
    Seen seen;
    seen.refresh = from(rank(now_ - entry->last));
    refresh_.add(seen.refresh, record.wire_length);
    const Repeats::Place place = count_echo(*entry, burst.packets[i], record, seen);
    const WindowMask dropped = packets_.seen_again(*entry, now_);
    seen.fixed = dropped;
    copy_counts_.add(place, seen);
    if (tally_) {
        tally_->packet(place, record.wire_length, burst.is_removed(i), dropped, seen.refresh);
    }
    fixed_.add(dropped, record.wire_length);
    accepted_.add(elapsed_, ~dropped);
    return dropped;
}

Repeats::Place Collector::count_echo(PacketEntry& entry, const Dissected& packet,
                                     const Record& record, Seen& seen) {
    const std::uint64_t length = record.wire_length;
    const Nanoseconds age = now_ - entry.last;
    const Differences differences = differences_of(entry.origin, packet.origin);
    const Cause cause = cause_of(differences);
    const std::uint16_t interface = bounded(record.interface);
    entry.run = run_with(entry.run, age);
    const bool moved = interface != entry.interface || is_elsewhere(packet.origin, differences);
    seen.length = length;
    seen.interface = interface;
    seen.file = file_;
    seen.protocol = packet.protocol;
    seen.cause = cause;
    seen.differences = differences;
    causes_[static_cast<std::size_t>(cause)].add(length);
    for (std::size_t bit = 0; bit < kDifferences; ++bit) {
        differences_[bit] += differences >> bit & 1U;
    }
    crossings_[entry.interface * kMostInterfaces + interface].add(length);
    talkers_.add(addresses_of(packet), length);
    entry.times = static_cast<std::uint8_t>(std::min(255, entry.times + 1));
    return repeats_.again(packet.kind, {age, entry.run, cause, moved, length});
}

void Collector::add_without_ip(const Burst& burst, std::size_t i, const ModeMemory::Added& added,
                               std::uint64_t length) {
    const Kind& kind = burst.packets[i].kind;
    non_ip_dropped_.add(added.dropped, length);
    if (!added.age) {
        frame_repeats_.first(kind);
        if (burst.is_removed(i)) {
            tally_->elsewhere(burst.removed_ages[i], length);
        }
        return;
    }
    const Repeats::Place place =
        frame_repeats_.again(kind, {*added.age, added.run, Cause::kIdentical, false, length});
    if (tally_) {
        tally_->frame(place, length, burst.is_removed(i), added.dropped);
    }
}

void Collector::forget(const PacketEntry& entry) noexcept {
    ++copies_[std::min<std::size_t>(entry.times, copies_.size()) - 1];
}

}  // namespace unecho::analyze
