// SPDX-License-Identifier: BSD-3-Clause
#include "analyze/collector.h"

#include <algorithm>
#include <bit>

#include "packet/headers.h"

namespace unecho::analyze {
namespace {

using capture::Record;
using packet::KeyMode;
using packet::Link;

// Shares of the memory. A key of mode packet or frame rarely needs a ladder, one of a flow mostly.
constexpr double kPacketShare = 0.38;
constexpr double kFrameShare = 0.17;
constexpr double kFlowShare = 0.15;  // each
constexpr double kSegmentShare = 0.08;
constexpr double kLoopShare = 0.01;
constexpr double kPrefixShare = 0.06;
constexpr double kFewLadders = 0.2;
constexpr double kManyLadders = 0.75;

// The end of the year 2261, so that ages are below kForever.
constexpr Nanoseconds kLatest = kForever - 1;

// Of what the two sorters leave, of packets and of frames.
std::uint64_t without_sorters(std::uint64_t memory) {
    return memory - 2 * EchoSorter::most_bytes(memory);
}

std::size_t part(std::uint64_t memory, double share) {
    return static_cast<std::size_t>(static_cast<double>(memory) * share);
}

// What is kept of a packet beside its entry, as a part of both.
constexpr double kEntryPart =
    static_cast<double>(sizeof(PacketEntry)) / (sizeof(PacketEntry) + sizeof(Outside));

std::uint16_t bounded(std::uint32_t interface) noexcept {
    constexpr std::uint32_t kLast = Collector::kMostInterfaces - 1;
    return static_cast<std::uint16_t>(std::min(interface, kLast));
}

// Whether a second look at the same packet explains the differences, and its sender hardly does. A
// sender may write any TTL; a router that lowers it writes MAC addresses too, where there are any.
// A balancer may put what is sent again into another tunnel.
bool is_elsewhere(const Origin& origin, Differences differences) noexcept {
    return has(differences, Difference::kMacs) || has(differences, Difference::kTags) ||
           has(differences, Difference::kChecksum) ||
           has(differences, Difference::kEncapsulation) ||
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
    std::uint64_t counted = 0;                 // bit i: here; not for the other view alone
    std::array<std::uint8_t, kMaxBurst> at{};  // of each, among the records of the burst
    std::uint64_t cut = 0;                     // bit i: of all records, captured short
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
    std::uint64_t removed = 0;                     // bit i: by what is asked about
    std::array<DroppedWith, kMaxBurst> dropped{};  // of echoes
    std::array<DroppedWith, kMaxBurst> plain{};    // of what looks inside tunnels: without that
    std::array<PrefixMemory::Digests, kMaxBurst> prefixes;
    std::array<Outside, kMaxBurst> outside;  // of what looks inside tunnels

    [[nodiscard]] bool is_removed(std::size_t i) const noexcept { return (removed >> i & 1) != 0; }
};

CollectorTables::CollectorTables(std::uint64_t memory)
    : packets(part(memory, kPacketShare), kFewLadders),
      frame(part(memory, kFrameShare), kFewLadders),
      flow(part(memory, kFlowShare), kManyLadders),
      flow_bidir(part(memory, kFlowShare), kManyLadders),
      segments(part(memory, kSegmentShare)),
      loops(part(memory, kLoopShare)) {
    begin_prefixes(memory);
}

CollectorTables::CollectorTables(const CollectorTables& other, std::uint64_t memory,
                                 const Forget& forget)
    : packets(other.packets, part(memory, kPacketShare * kEntryPart), kFewLadders, forget),
      frame(other.frame, part(memory, kFrameShare), kFewLadders),
      flow(other.flow, part(memory, kFlowShare), kManyLadders),
      flow_bidir(other.flow_bidir, part(memory, kFlowShare), kManyLadders),
      segments(other.segments, part(memory, kSegmentShare)),
      loops(other.loops, part(memory, kLoopShare)) {
    if (other.prefixes) {
        prefixes.emplace(*other.prefixes, part(memory, kPrefixShare));
    }
}

void CollectorTables::begin_prefixes(std::uint64_t memory) {
    prefixes.emplace(part(memory, kPrefixShare));
}

Collector::Collector(std::uint64_t memory, const hash::Secret& secret,
                     std::span<const std::uint16_t> vxlan_ports, const Shard& shard)
    : CollectorCounts(memory),
      memory_(memory),
      table_memory_(without_sorters(memory)),
      secret_(secret),
      tunnels_(packet::EncapsulationSet::all(), vxlan_ports),
      tables_(table_memory_),
      shard_(shard) {}

Collector::Collector(const Collector& plain, std::uint64_t memory)
    : CollectorCounts(plain),
      memory_(memory),
      table_memory_(memory),
      secret_(plain.secret_),
      tunnels_(plain.tunnels_),
      tables_(plain.tables_, memory, [this](const PacketEntry& old) { forget(old); }),
      outsides_(tables_.packets.table().capacity() * sizeof(Outside)),
      key_bytes_asked_(true),
      looks_inside_(true),
      shard_(plain.shard_) {
    // Nothing was inside a tunnel yet. The key of the outermost packet is that of the innermost.
    tables_.packets.table().for_each([&](PacketEntry& entry) {
        outside_of(entry) = {0, 0, 0, static_cast<std::uint32_t>(entry.digest)};
    });
    if (tally_) {
        tally_->look_inside();
    }
}

// While both are made smaller there is up to half as much again for a moment.
void Collector::begin_inside() {
    const std::uint64_t half = (memory_ - 4 * EchoSorter::most_bytes(memory_)) / 2;
    inside_.reset(new Collector(*this, half));
    tables_ = CollectorTables(tables_, half, [this](const PacketEntry& old) { forget(old); });
    table_memory_ = half;
    key_bytes_asked_ = true;
}

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
        for (std::size_t i = begin; i < end; ++i) {
            read_.add(records[i]);
        }
        for (; !removed.empty() && removed.front() < end; removed = removed.subspan(1)) {
            burst.removed |= std::uint64_t{1} << (removed.front() - begin);
        }
        add_burst(burst, packet::link_of(type), records.subspan(begin, end - begin), interfaces);
        begin = end;
    }
}

namespace {

// Captured shorter than it says that it is.
bool is_cut(const packet::Parsed& parsed) noexcept {
    const std::uint8_t* data = parsed.ip.data;
    return parsed.found == packet::Found::kIpv4 ? packet::load_be16(data + 2) > parsed.ip.length
           : parsed.found == packet::Found::kIpv6
               ? packet::kIpv6Header + packet::load_be16(data + 4) > parsed.ip.length
               : false;
}

std::uint64_t cut_of(const packet::ParsedBurst& parsed, std::size_t count) noexcept {
    std::uint64_t out = 0;
    for (std::size_t i = 0; i < count; ++i) {
        out |= std::uint64_t{is_cut(parsed.at(i))} << i;
    }
    return out;
}

std::uint64_t first_bits(std::size_t count) noexcept {
    return count == kMaxBurst ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

// The bits of `mask`, side by side.
std::uint64_t taken(std::uint64_t bits, const std::array<std::uint8_t, kMaxBurst>& at,
                    std::size_t count) noexcept {
    std::uint64_t out = 0;
    for (std::size_t i = 0; i < count; ++i) {
        out |= (bits >> at[i] & 1) << i;
    }
    return out;
}

void take(packet::ParsedBurst& parsed, const std::array<std::uint8_t, kMaxBurst>& at,
          std::size_t count) noexcept {
    for (std::uint64_t* bits : {&parsed.ipv4, &parsed.ipv6, &parsed.non_ip, &parsed.malformed}) {
        *bits = taken(*bits, at, count);
    }
    for (std::size_t i = 0; i < count; ++i) {
        parsed.ip[i] = parsed.ip[at[i]];
    }
}

}  // namespace

// Which packets are this shard's, as parsed has them. As in offline/shard.h.
std::uint64_t Collector::mine(Link link, std::span<const packet::Frame> frames,
                              const packet::ParsedBurst& parsed) const {
    std::array<Digest, kMaxBurst> owners;
    packet::owner_digests(link, frames, parsed, secret_, owners.data());
    std::uint64_t mask = 0;
    for (std::size_t i = 0; i < frames.size(); ++i) {
        mask |= std::uint64_t{reduce(owners[i], shard_.count) + 1 == shard_.index} << i;
    }
    return shard_.index == 1 ? mask | parsed.malformed : mask & ~parsed.malformed;
}

void Collector::count_tunnels(const packet::OpenedBurst& opened, std::uint64_t mine) {
    packet::OpenedBurst ours;
    ours.opened = opened.opened & mine;
    ours.fragments = opened.fragments & mine;
    ours.malformed = opened.malformed & mine;
    ours.other = opened.other & mine;
    ours.too_deep = opened.too_deep & mine;
    in_tunnels_.add(ours);
}

// Of a shard, packets that are not counted in either view are left out before they are digested.
void Collector::add_burst(Burst& burst, Link link, std::span<const Record> records,
                          std::span<const capture::Interface> interfaces) {
    for (std::size_t i = 0; i < records.size(); ++i) {
        burst.frames[i] = {records[i].data, records[i].length};
        burst.at[i] = static_cast<std::uint8_t>(i);
    }
    const std::span<const packet::Frame> frames(burst.frames.data(), records.size());
    packet::parse_burst(link, frames, burst.parsed);
    packet::ParsedBurst innermost = burst.parsed;
    packet::OpenedBurst opened;
    packet::open_tunnels(tunnels_, link, frames, innermost, opened);
    if (opened.opened != 0 && !inside_) [[unlikely]] {
        begin_inside();
    }
    burst.count = records.size();
    burst.counted = first_bits(burst.count);
    burst.cut = cut_of(burst.parsed, burst.count);
    const std::uint64_t cut_inside = inside_ ? cut_of(innermost, burst.count) : 0;
    std::uint64_t counted_inside = burst.counted;
    if (!shard_.whole()) {
        burst.counted = mine(link, frames, burst.parsed);
        counted_inside = opened.opened == 0 ? burst.counted : mine(link, frames, innermost);
    }
    if (opened.any()) [[unlikely]] {
        count_tunnels(opened, counted_inside);
    }
    if (!shard_.whole()) {
        burst.count = 0;
        for (std::uint64_t rest = burst.counted | counted_inside; rest != 0; rest &= rest - 1) {
            burst.at[burst.count++] = static_cast<std::uint8_t>(std::countr_zero(rest));
        }
        for (std::size_t i = 0; i < burst.count; ++i) {
            burst.frames[i] = burst.frames[burst.at[i]];
        }
        take(burst.parsed, burst.at, burst.count);
        take(innermost, burst.at, burst.count);
        burst.counted = taken(burst.counted, burst.at, burst.count);
        counted_inside = taken(counted_inside, burst.at, burst.count);
        opened.opened = taken(opened.opened, burst.at, burst.count);
    }
    for (std::size_t i = 0; i < burst.count; ++i) {
        burst.packets[i] = dissect(link, burst.frames[i], burst.parsed.at(i), secret_);
    }
    digest(burst, link);
    count_burst(burst, link, records, interfaces);
    if (inside_) {
        Burst within;
        within.counted = counted_inside;
        within.cut = cut_inside;
        within.parsed = innermost;
        add_inside(within, burst, opened.opened, link, records, interfaces);
    }
}

// What was not opened is to the other collector what it is to this one.
void Collector::add_inside(Burst& burst, const Burst& plain, std::uint64_t opened, Link link,
                           std::span<const Record> records,
                           std::span<const capture::Interface> interfaces) {
    burst.count = plain.count;
    burst.at = plain.at;
    burst.frames = plain.frames;
    burst.packets = plain.packets;
    burst.removed = plain.removed;
    burst.plain = plain.dropped;
    for (std::size_t i = 0; i < burst.count; ++i) {
        burst.outside[i].outer = static_cast<std::uint32_t>(
            ((plain.keys.keyed | plain.frames_keyed) >> i & 1) != 0 ? plain.packet[i]
                                                                    : plain.frame[i]);
    }
    for (std::uint64_t rest = opened & burst.counted; rest != 0; rest &= rest - 1) {
        const auto i = static_cast<std::size_t>(std::countr_zero(rest));
        dissect_inside(burst, plain, i, link, records[burst.at[i]].wire_length);
    }
    inside_->digest(burst, link);
    inside_->count_burst(burst, link, records, interfaces);
}

void Collector::dissect_inside(Burst& burst, const Burst& plain, std::size_t i, Link link,
                               std::uint64_t length) {
    const packet::Parsed outermost = plain.parsed.at(i);
    const packet::OpenedLevels way =
        packet::opened_levels(tunnels_, link, burst.frames[i], outermost);
    if (way.count == 0) {
        return;
    }
    burst.packets[i] = analyze::dissect_inside(way.levels[way.count - 1], secret_);
    packet::TenantId tenant{};
    for (unsigned level = 0; level < way.count; ++level) {
        const packet::TenantId& one = way.levels[level].tenant;
        tenant = one.any() ? one : tenant;
    }
    Outside& outside = burst.outside[i];
    outside.path = path_of(way);
    outside.tunnel = tunnel_of(way, outermost);
    outside.tenant = tenant_mark(tenant);
    in_tunnels_.add(outside.path, tenant, length);
}

void Collector::count_burst(Burst& burst, Link link, std::span<const Record> records,
                            std::span<const capture::Interface> interfaces) {
    prefetch(burst);
    for (std::size_t i = 0; link == Link::kUnknown && i < records.size(); ++i) {
        unparsed_.note(records[i], interfaces[records[i].interface]);
    }
    std::size_t next = 0;
    for (std::size_t i = 0; i < records.size(); ++i) {
        read_one(records[i], interfaces[records[i].interface].file, (burst.cut >> i & 1) != 0);
        if (next < burst.count && burst.at[next] == i) {
            if ((burst.counted >> next & 1) != 0) {
                add_one(burst, next, records[i]);
            }
            ++next;
        }
    }
}

// What a packet says that is not this shard's, too.
void Collector::read_one(const Record& record, std::uint32_t file, bool cut) {
    tell_time(record, file);
    ++seen_;
    longest_ = std::max(longest_, record.length);
    if (cut) {
        shortest_cut_ = std::min(shortest_cut_, record.length);
    }
    all_peaks_.add(elapsed_, from(0));
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
    digest_prefixes(burst);
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

void Collector::digest_prefixes(Burst& burst) {
    const std::span<const packet::Frame> frames(burst.frames.data(), burst.count);
    choose_prefixes();
    for (std::size_t n = 0; tables_.prefixes && n < kKeyBytesAsked.size(); ++n) {
        std::array<Digest, kMaxBurst> digests;
        packet::ParsedBurst cut = burst.parsed;
        packet::cut_packets(cut, kKeyBytesAsked[n]);
        packet::digest_burst(KeyMode::kPacket, frames, cut, secret_, digests.data());
        for (std::size_t i = 0; i < burst.count; ++i) {
            burst.prefixes[i][n] = digests[i];
        }
    }
}

void Collector::prefetch(Burst& burst) {
    for (std::size_t i = 0; i < burst.count; ++i) {
        tables_.packets.prefetch_index(burst.packet[i]);
        tables_.frame.prefetch_index(burst.frame[i]);
        tables_.flow.prefetch_index(burst.flow[i]);
        tables_.flow_bidir.prefetch_index(burst.flow_bidir[i]);
        tables_.segments.prefetch_index(burst.segment[i]);
    }
    for (std::size_t i = 0; i < burst.count; ++i) {
        burst.found[i] = {tables_.packets.prefetch_entry(burst.packet[i]),
                          tables_.frame.prefetch_entry(burst.frame[i]),
                          tables_.flow.prefetch_entry(burst.flow[i]),
                          tables_.flow_bidir.prefetch_entry(burst.flow_bidir[i])};
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

void Collector::add_one(Burst& burst, std::size_t i, const Record& record) {
    const std::uint16_t interface = bounded(record.interface);
    if (interface >= interfaces_.size()) {
        interfaces_.resize(std::size_t{interface} + 1);
        crossings_.resize(interfaces_.size() * kMostInterfaces);
    }
    measure(record, burst.packets[i].cut);
    const std::uint64_t length = record.wire_length;
    bool echo = false;
    const WindowMask dropped =
        (burst.keys.keyed >> i & 1) != 0 ? add_key(burst, i, record, echo) : 0;
    const bool cut_copy = (burst.keys.keyed >> i & 1) != 0 && tables_.prefixes &&
                          add_prefixes(burst, i, record, dropped);
    const Burst::Found& found = burst.found[i];
    const ModeMemory::Added whole =
        tables_.frame.add(burst.frame[i], found.frame, now_, length, dropped);
    if ((burst.flows >> i & 1) != 0) {
        tables_.flow.add(burst.flow[i], found.flow, now_, length, dropped);
        tables_.flow_bidir.add(burst.flow_bidir[i], found.flow_bidir, now_, length, dropped);
        if (!echo && (burst.segments >> i & 1) != 0) {
            tables_.segments.add(burst.segment[i], now_, length);
        }
    } else {
        tables_.flow.pass(length, dropped);
        tables_.flow_bidir.pass(length, dropped);
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
        tally_->removed(length, cut_copy && !echo);
    }
    timeline_.add(elapsed_, length, echo);
}

void Collector::measure(const Record& record, bool cut) {
    captured_ += record.length;
    if (cut) {
        cut_.add(record.wire_length);
    }
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

WindowMask Collector::add_key(Burst& burst, std::size_t i, const Record& record, bool& echo) {
    keyed_.add(record.wire_length);
    PacketEntry* entry = tables_.packets.find(burst.packet[i], burst.found[i].packet);
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

// Whether it is a copy of one that was cut elsewhere.
bool Collector::add_prefixes(const Burst& burst, std::size_t i, const Record& record,
                             WindowMask dropped) {
    const packet::IpPacket& ip = burst.packets[i].ip;
    const PrefixMemory::Packet packet{burst.outside[i].path, burst.outside[i].tenant, ip.length,
                                      burst.packets[i].cut,  record.wire_length,      dropped};
    return tables_.prefixes->add(burst.prefixes[i], packet, now_);
}

// A capture that cuts all of its packets alike asks for none.
bool Collector::wants_prefixes() const noexcept {
    return key_bytes_asked_ || shortest_cut_ < longest_;
}

void Collector::choose_prefixes() {
    const bool wanted = wants_prefixes();
    if (wanted && !tables_.prefixes) {
        tables_.begin_prefixes(table_memory_);
    } else if (!wanted && tables_.prefixes && seen_ >= kProbation) {
        tables_.prefixes.reset();
    }
}

PacketEntry& Collector::remember(const Burst& burst, std::size_t i, const Record& record) {
    PacketEntry& fresh =
        tables_.packets.insert(burst.packet[i], now_, [&](const PacketEntry& old) { forget(old); });
    fresh.origin = burst.packets[i].origin;
    fresh.interface = bounded(record.interface) & 0x7FFFU;
    fresh.times = 1;
    fresh.run = 0;
    if (looks_inside_) {
        outside_of(fresh) = burst.outside[i];
    }
    return fresh;
}

bool Collector::came_by_loop(const Burst& burst, std::size_t i, const Record& record,
                             const PacketEntry& entry) {
    const Dissected& packet = burst.packets[i];
    return packet.origin.ttl < entry.origin.ttl &&
           tables_.loops.add({entry.digest, entry.origin, packet.origin,
                              entry.interface == bounded(record.interface),
                              now_ - tables_.packets.first_of(entry), now_, record.wire_length,
                              packet.macs});
}

void Collector::compare_tunnels(const Outside& first, const Outside& echo,
                                EchoTraits& traits) const {
    const Differences differences = differences_of(first, echo);
    traits.differences |= differences;
    traits.tunnelled = first.path != 0 || echo.path != 0;
    traits.meeting =
        has(differences, Difference::kEncapsulation)
            ? (first.path == 0 || echo.path == 0 ? Meeting::kWithPlain : Meeting::kOtherKind)
        : has(differences, Difference::kTunnel) ? Meeting::kOtherTunnel
        : has(differences, Difference::kOuter)  ? Meeting::kSameTunnel
                                                : Meeting::kWhole;
    traits.other_tenant = first.tenant != echo.tenant;
    traits.around = encapsulations_of(first.path);
    traits.around.add(encapsulations_of(echo.path));
}

EchoTraits Collector::compare(const Burst& burst, std::size_t i, const Record& record,
                              const PacketEntry& entry) {
    EchoTraits traits;
    traits.length = record.wire_length;
    traits.file = file_;
    traits.interface = bounded(record.interface);
    traits.protocol = burst.packets[i].protocol;
    traits.differences = differences_of(entry.origin, burst.packets[i].origin);
    if (looks_inside_) {
        compare_tunnels(outside_of(entry), burst.outside[i], traits);
    }
    traits.cause =
        came_by_loop(burst, i, record, entry) ? Cause::kLoop : cause_of(traits.differences);
    return traits;
}

WindowMask Collector::count_echo(Burst& burst, std::size_t i, const Record& record,
                                 PacketEntry& entry, Echoes& into) {
    const Dissected& packet = burst.packets[i];
    const std::uint64_t length = record.wire_length;
    const Nanoseconds age = now_ - entry.last;
    EchoTraits traits = compare(burst, i, record, entry);
    entry.run = run_with(entry.run, age);
    const bool moved = traits.interface != entry.interface || traits.cause == Cause::kLoop ||
                       is_elsewhere(packet.origin, traits.differences);
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
    traits.fixed = tables_.packets.seen_again(entry, now_);
    into.refresh.add(traits.refresh, length);
    into.fixed.add(traits.fixed, length);
    into.copies.add(bin, traits);
    burst.dropped[i] = {traits.fixed, traits.refresh, entry.frame != 0};
    if (tally_) {
        tally_->echo(bin, length, burst.is_removed(i), burst.dropped[i], burst.plain[i]);
    }
    return traits.fixed;
}

// Whether it is an echo.
bool Collector::add_without_ip(Burst& burst, std::size_t i, const Record& record) {
    PacketEntry* entry = tables_.packets.find(burst.packet[i], burst.found[i].packet);
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
