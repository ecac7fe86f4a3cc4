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

// Of what the two sorters leave, of packets and of frames.
std::size_t part(std::uint64_t memory, double share) {
    const std::uint64_t sorters = 2 * EchoSorter::most_bytes(memory);
    return static_cast<std::size_t>(static_cast<double>(memory - sorters) * share);
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
    packet::ParsedBurst parsed;
    std::array<Dissected, kMaxBurst> packets;
    packet::KeyMasks keys;
    std::uint64_t frames_keyed = 0;  // bit i: has no IP packet, and a key all the same
    std::uint64_t flows = 0;         // bit i: has a key in the flow modes
    std::uint64_t segments = 0;      // bit i: is a TCP segment with payload
    std::array<Digest, kMaxBurst> packet{};
    std::array<Digest, kMaxBurst> frame{};
    std::array<Digest, kMaxBurst> flow{};
    std::array<Digest, kMaxBurst> flow_bidir{};
    std::array<Digest, kMaxBurst> segment{};
    std::array<Found, kMaxBurst> found{};
    std::uint64_t removed = 0;  // bit i: by what is asked about

    [[nodiscard]] bool is_removed(std::size_t i) const noexcept { return (removed >> i & 1) != 0; }
};

Collector::Collector(std::uint64_t memory, const hash::Secret& secret)
    : secret_(secret),
      packets_(part(memory, kPacketShare), kFewLadders),
      frame_(part(memory, kFrameShare), kFewLadders),
      flow_(part(memory, kFlowShare), kManyLadders),
      flow_bidir_(part(memory, kFlowShare), kManyLadders),
      segments_(part(memory, kSegmentShare)),
      packet_echoes_(memory),
      frame_echoes_(memory) {}

// Bursts of packets with one link type.
void Collector::add(std::span<const Record> records, std::span<const capture::Interface> interfaces,
                    std::span<const std::size_t> removed) {
    std::size_t begin = 0;
    while (begin < records.size()) {
        const std::uint16_t type = interfaces[records[begin].interface].link_type;
        std::size_t end = begin + 1;
        while (end < records.size() && end - begin < kMaxBurst &&
               interfaces[records[end].interface].link_type == type) {
            ++end;
        }
        Burst burst;
        for (; !removed.empty() && removed.front() < end; removed = removed.subspan(1)) {
            burst.removed |= std::uint64_t{1} << (removed.front() - begin);
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
    }
    packet::parse_burst(link, {burst.frames.data(), burst.count}, burst.parsed);
    for (std::size_t i = 0; i < records.size(); ++i) {
        burst.packets[i] = dissect(link, burst.frames[i], burst.parsed.at(i), secret_);
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
        return packet::digest_burst(mode, frames, burst.parsed, secret_, digests.data());
    };
    burst.keys = digest_all(KeyMode::kPacket, burst.packet);
    packet::KeyMasks masks = burst.keys;
    packet::digest_non_ip(link, frames, secret_, burst.packet.data(), masks);
    burst.frames_keyed = masks.keyed & ~burst.keys.keyed;
    burst.flows = digest_all(KeyMode::kFlow, burst.flow).keyed;
    digest_all(KeyMode::kFlowBidir, burst.flow_bidir);
    digest_all(KeyMode::kFrame, burst.frame);
    std::array<packet::Frame, kMaxBurst> payloads{};
    for (std::size_t i = 0; i < burst.count; ++i) {
        payloads[i] = burst.packets[i].payload;
    }
    packet::digest_frames({payloads.data(), burst.count}, secret_, burst.segment.data());
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
    // A step so large that time would reach its end is cut to half of what is left, as ages that
    // are all 0 would be taken for copies.
    const Nanoseconds now = clock_.at(record, file);
    now_ += std::min(now - clock_now_, (kLatest - now_) / 2);
    clock_now_ = now;
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
            non_ip_dropped_.add(whole.dropped, length);
            echo = (burst.frames_keyed >> i & 1) != 0 && add_without_ip(burst, i, record);
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
        remember(burst, i, record).frame = 0;
        packet_echoes_.sorter.first(burst.packets[i].kind);
        ++keys_;
        accepted_.add(elapsed_, from(0));
        return 0;
    }
    talkers_.add(addresses_of(burst.packets[i]), record.wire_length);
    const WindowMask dropped = count_echo(burst, i, record, *entry, packet_echoes_);
    accepted_.add(elapsed_, ~dropped);
    return dropped;
}

PacketEntry& Collector::remember(const Burst& burst, std::size_t i, const Record& record) {
    PacketEntry& fresh =
        packets_.insert(burst.packet[i], now_, [&](const PacketEntry& old) { forget(old); });
    fresh.origin = burst.packets[i].origin;
    fresh.interface = bounded(record.interface) & 0x7FFFU;
    fresh.times = 1;
    fresh.run = 0;
    return fresh;
}

WindowMask Collector::count_echo(const Burst& burst, std::size_t i, const Record& record,
                                 PacketEntry& entry, Echoes& into) {
    const Dissected& packet = burst.packets[i];
    const std::uint64_t length = record.wire_length;
    const Nanoseconds age = now_ - entry.last;
    EchoTraits traits;
    traits.length = length;
    traits.file = file_;
    traits.interface = bounded(record.interface);
    traits.protocol = packet.protocol;
    traits.differences = differences_of(entry.origin, packet.origin);
    traits.cause = cause_of(traits.differences);
    entry.run = run_with(entry.run, age);
    const bool moved =
        traits.interface != entry.interface || is_elsewhere(packet.origin, traits.differences);
    const EchoBin bin =
        into.sorter.add(packet.kind, {age, entry.run, traits.cause, moved, length, entry.interface,
                                      traits.interface, entry.times == 1});
    causes_[static_cast<std::size_t>(traits.cause)].add(length);
    for (std::size_t bit = 0; bit < kDifferences; ++bit) {
        differences_[bit] += traits.differences >> bit & 1U;
    }
    crossings_[entry.interface * kMostInterfaces + traits.interface].add(length);
    entry.times = static_cast<std::uint8_t>(std::min(255, entry.times + 1));
    traits.refresh = from(rank(age));
    traits.fixed = packets_.seen_again(entry, now_);
    into.refresh.add(traits.refresh, length);
    into.fixed.add(traits.fixed, length);
    into.copies.add(bin, traits);
    if (tally_) {
        tally_->echo(entry.frame != 0, bin, length, burst.is_removed(i), traits.fixed,
                     traits.refresh);
    }
    return traits.fixed;
}

// Whether it is an echo.
bool Collector::add_without_ip(const Burst& burst, std::size_t i, const Record& record) {
    PacketEntry* entry = packets_.find(burst.packet[i], burst.found[i].packet);
    if (entry == nullptr) {
        remember(burst, i, record).frame = 1;
        frame_echoes_.sorter.first(burst.packets[i].kind);
        return false;
    }
    count_echo(burst, i, record, *entry, frame_echoes_);
    return true;
}

void Collector::forget(const PacketEntry& entry) noexcept {
    if (entry.frame != 0) {
        return;
    }
    ++key_times_[std::min<std::size_t>(entry.times, key_times_.size()) - 1];
}

}  // namespace unecho::analyze
