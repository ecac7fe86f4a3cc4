// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/collect/collector.h"

#include <algorithm>
#include <utility>

#include "base/prefetch.h"
#include "packets/keys/observation.h"

namespace unecho::analyze {
namespace {

using capture::Record;
using packet::LinkType;

// Shares of the memory. Keys of packets and frames rarely need BucketTimes, those of flows do.
constexpr double kPacketShare = 0.38;
constexpr double kFrameShare = 0.17;
constexpr double kFlowShare = 0.3;
constexpr double kSegmentShare = 0.08;
constexpr double kLoopShare = 0.01;
constexpr double kPrefixShare = 0.06;
constexpr double kFewBucketTimes = 0.2;
constexpr double kManyLadders = 0.85;  // up to three for each flow

// April of 2262: ages stay below kNoWindowEnd.
constexpr Nanoseconds kLatest = kNoWindowEnd - 1;

// Return the memory that remains besides two classifiers, of packets and frames, and populations.
std::uint64_t without_sorters(std::uint64_t memory) {
    return memory - 2 * CopyClassifier::most_bytes(memory) - Populations::most_bytes(memory);
}

// Share of PacketEntry in what the collector for inside() stores of a packet.
constexpr double kEntryPart =
    static_cast<double>(sizeof(PacketEntry)) / (sizeof(PacketEntry) + sizeof(TunnelTraits));

std::uint16_t bounded(std::uint32_t interface) noexcept {
    constexpr std::uint32_t kLast = Collector::kMaxInterfaces - 1;
    return static_cast<std::uint16_t>(std::min(interface, kLast));
}

// Population of one direction, at one interface.
std::uint64_t population_of(const Dissected& packet, std::uint32_t interface) noexcept {
    return packet.population + 2ULL * bounded(interface);
}

// Return true if a second look at the same packet explains the differences, and its sender hardly
// does. A sender may write any TTL, but a router that lowers it rewrites MAC addresses too, if
// there are any. A load balancer may put a repeat into another tunnel.
bool is_elsewhere(const FrameTraits& origin, Differences differences) noexcept {
    return has(differences, Difference::kMacs) || has(differences, Difference::kTags) ||
           has(differences, Difference::kChecksum) ||
           has(differences, Difference::kEncapsulation) ||
           (has(differences, Difference::kHopLimit) && origin.macs == 0);
}

}  // namespace

CollectorTables::CollectorTables(std::uint64_t memory)
    : packets(part_of(memory, kPacketShare), kFewBucketTimes),
      frames(part_of(memory, kFrameShare), kFewBucketTimes),
      loops(part_of(memory, kLoopShare)),
      flows(part_of(memory, kFlowShare), kManyLadders),
      segments(part_of(memory, kSegmentShare)) {
    begin_prefixes(memory);
}

CollectorTables::CollectorTables(const CollectorTables& other, std::uint64_t memory)
    : packets(other.packets, part_of(memory, kPacketShare * kEntryPart), kFewBucketTimes),
      frames(other.frames, part_of(memory, kFrameShare), kFewBucketTimes),
      loops(other.loops, part_of(memory, kLoopShare)),
      flows(other.flows, part_of(memory, kFlowShare), kManyLadders),
      segments(other.segments, part_of(memory, kSegmentShare)) {
    if (other.prefixes) {
        prefixes.emplace(*other.prefixes, part_of(memory, kPrefixShare));
    }
}

void CollectorTables::begin_prefixes(std::uint64_t memory) {
    prefixes.emplace(part_of(memory, kPrefixShare));
}

Collector::Collector(std::uint64_t memory, const hash::Secret& secret,
                     std::span<const std::uint16_t> vxlan_ports, const Shard& shard)
    : CollectorCounts(memory),
      memory_(memory),
      table_memory_(without_sorters(memory)),
      tables_(table_memory_),
      preprocessor_(std::in_place, secret, vxlan_ports, shard) {}

Collector::Collector(const Collector& plain, std::uint64_t memory)
    : CollectorCounts(plain),
      memory_(memory),
      table_memory_(memory),
      tables_(plain.tables_, memory),
      outsides_(tables_.packets.table().capacity() * sizeof(TunnelTraits)),
      key_bytes_asked_(true),
      looks_inside_(true) {
    // Nothing was inside a tunnel yet, so outermost and innermost packets have the same key.
    tables_.packets.table().for_each([&](PacketEntry& entry) {
        outside_of(entry) = {0, 0, 0, static_cast<std::uint32_t>(entry.digest)};
    });
}

// While the tables are being shrunk, up to half as much memory again is in use.
void Collector::start_inner_collector() {
    const std::uint64_t half =
        (memory_ - 4 * CopyClassifier::most_bytes(memory_) - 2 * Populations::most_bytes(memory_)) /
        2;
    inside_.reset(new Collector(*this, half));
    tables_ = CollectorTables(tables_, half);
    table_memory_ = half;
    key_bytes_asked_ = true;
}

std::size_t Collector::cut(std::span<const Record> records,
                           std::span<const capture::Interface> interfaces,
                           std::span<const std::size_t>& removed, std::size_t begin,
                           DecodedBurst& burst) {
    const std::uint16_t type = interfaces[records[begin].interface].link_type;
    std::size_t end = begin + 1;
    while (end < records.size() && end - begin < kMaxBurst &&
           interfaces[records[end].interface].link_type == type) {
        ++end;
    }
    burst.records = records.subspan(begin, end - begin);
    burst.link = packet::link_type_of(type);
    burst.removed = 0;
    for (; !removed.empty() && removed.front() < end; removed = removed.subspan(1)) {
        burst.removed |= std::uint64_t{1} << (removed.front() - begin);
    }
    return end;
}

void Collector::add(std::span<const Record> records, std::span<const capture::Interface> interfaces,
                    std::span<const std::size_t> removed) {
    const auto burst = std::make_unique<DecodedBurst>();
    for (std::size_t begin = 0; begin < records.size();) {
        begin = cut(records, interfaces, removed, begin, *burst);
        look(*burst);
        find_packets(*burst);
        count_packets(*burst, interfaces);
        find_flows(*burst);
        count_flows(*burst);
    }
}

void Collector::count_packets(DecodedBurst& burst, std::span<const capture::Interface> interfaces) {
    if (burst.begins_inside) [[unlikely]] {
        start_inner_collector();
        find_packets(burst);  // in the tables as they are now
    }
    PacketTimes moments;
    read(burst, interfaces, moments);
    for (const Record& record : burst.records) {
        read_.add(record);
    }
    count_view(burst, burst.plain, {interfaces, moments});
    if (burst.within) {
        inside_->read(burst, interfaces, moments);
        inside_->count_view(burst, *burst.within, {interfaces, moments});
    }
}

void Collector::count_flows(const DecodedBurst& burst) {
    count_flows(burst, burst.plain);
    if (burst.within) {
        inside_->count_flows(burst, *burst.within);
    }
}

void Collector::ask_for_packets(DecodedBurst& burst) {
    for_each_view(burst, [](const CollectorTables& tables, const DecodedView& view) {
        for (std::size_t i = 0; i < view.count; ++i) {
            tables.packets.prefetch_index(view.packet[i]);
        }
    });
}

void Collector::find_packets(DecodedBurst& burst) {
    for_each_view(burst, [](CollectorTables& tables, DecodedView& view) {
        for (std::size_t i = 0; i < view.count; ++i) {
            view.places[i] = tables.packets.prefetch_entry(view.packet[i]);
        }
    });
}

// Prefetch the addresses of the packets as well, of those that are probably echoes.
void Collector::follow_packets(DecodedBurst& burst) {
    for_each_view(burst, [](CollectorTables& tables, const DecodedView& view) {
        for (std::size_t i = 0; i < view.count; ++i) {
            const PacketEntry* const entry = view.places[i].entry;
            if (entry == nullptr) {
                continue;
            }
            tables.packets.prefetch_bucket_times(view.places[i]);
            if (entry->frames_differ != 0 || entry->frame != view.frame[i]) {
                tables.frames.prefetch_index(view.frame[i]);
                tables.frames.prefetch_index(entry->frame);
            }
            if (view.packets[i].ip.data != nullptr) {
                prefetch_line(view.packets[i].ip.data + 12);
            }
        }
    });
}

void Collector::ask_for_flows(DecodedBurst& burst) {
    for_each_view(burst, [](const CollectorTables& tables, const DecodedView& view) {
        for (std::size_t i = 0; i < view.count; ++i) {
            tables.flows.prefetch_index(view.flow[i]);
            if (view.is(view.segments, i)) {
                tables.segments.prefetch_index(view.segment[i]);
            }
        }
    });
}

void Collector::find_flows(DecodedBurst& burst) {
    for_each_view(burst, [](CollectorTables& tables, DecodedView& view) {
        for (std::size_t i = 0; i < view.count; ++i) {
            view.flow_places[i] = tables.flows.prefetch_entry(view.flow[i]);
            if (view.is(view.segments, i)) {
                tables.segments.prefetch_entry(view.segment[i]);
            }
        }
    });
}

void Collector::follow_flows(DecodedBurst& burst) {
    for_each_view(burst, [](const CollectorTables& tables, const DecodedView& view) {
        for (std::size_t i = 0; i < view.count; ++i) {
            tables.flows.prefetch_ladders(view.flow_places[i], view.is(view.turned, i));
        }
    });
}

// Update what depends on all packets, including those of other shards.
void Collector::read(const DecodedBurst& burst, std::span<const capture::Interface> interfaces,
                     PacketTimes& moments) {
    lengths_differ_ = burst.lengths.differ();
    for (std::size_t i = 0; i < burst.records.size(); ++i) {
        const Record& record = burst.records[i];
        advance_clock(record, interfaces[record.interface].file);
        moments[i] = {now_, elapsed_, behind_};
        longest_ = std::max(longest_, record.length);
        all_peaks_.add(elapsed_, from(0));
        if (burst.link == LinkType::kUnknown) [[unlikely]] {
            unparsed_.note(record, interfaces[record.interface]);
        }
    }
}

void Collector::count_view(const DecodedBurst& burst, DecodedView& view,
                           const BurstContext& around) {
    choose_prefixes(view.with_prefixes);
    view.echoes = 0;
    PacketContext looked{view, 0, {}, false, burst.link, 0};
    for (; looked.i < view.count; ++looked.i) {
        if (!view.is(view.counted, looked.i)) {
            continue;
        }
        const std::size_t at = view.at[looked.i];
        const Record& record = burst.records[at];
        if (record.interface != row_.interface || row_.tally.total.packets == 0) {
            end_row();
            row_.interface = record.interface;
            row_.file = around.interfaces[record.interface].file;
        }
        looked.moment = around.moments[at];
        looked.removed = (burst.removed >> at & 1) != 0;
        add_one(looked, record);
    }
    end_row();
}

// Add the sums of a row to its interface and file. Adding them once for many packets is faster.
void Collector::end_row() {
    if (row_.tally.total.packets == 0) {
        return;
    }
    const std::uint16_t interface = bounded(row_.interface);
    if (interface >= interfaces_.size()) {
        interfaces_.resize(std::size_t{interface} + 1);
    }
    if (row_.file >= files_.size()) {
        files_.resize(std::size_t{row_.file} + 1);
    }
    for (Tally* tally : {&all_, &interfaces_[interface], &files_[row_.file]}) {
        *tally += row_.tally;
    }
    captured_ += row_.captured;
    row_.tally = {};
    row_.captured = 0;
}

void Collector::count_flows(const DecodedBurst& burst, const DecodedView& view) {
    for (std::size_t i = 0; i < view.count; ++i) {
        if (!view.is(view.counted, i)) {
            continue;
        }
        const std::uint64_t length = burst.records[view.at[i]].wire_length;
        if (!view.is(view.flows, i)) {
            tables_.flows.pass(length, view.by_packet[i]);
            continue;
        }
        tables_.flows.add(view.flow[i], view.is(view.turned, i), view.flow_places[i], view.now[i],
                          length, view.by_packet[i]);
        if (view.is(view.segments & ~view.echoes, i)) {
            tables_.segments.add(view.segment[i], view.now[i], length);
        }
    }
}

void Collector::advance_clock(const Record& record, std::uint32_t file) {
    const Nanoseconds time = std::min(record.time, kLatest);
    first_ = started_ ? first_ : time;
    if (time > latest_) {
        behind_ = false;
        latest_ = time;
    } else if (started_ && last_ > time && time >= first_ &&
               latest_ - time >= (latest_ - first_) / 2) {
        // A step back by half of the capture: it may begin once more, appended to itself.
        ++steps_back_;
        behind_ = true;
    }
    last_ = time;
    const Nanoseconds before = now_;
    // A step that would exhaust the clock is cut to half of what is left. Otherwise all later ages
    // would be 0, and packets would be taken for copies.
    const Nanoseconds now = clock_.at(record, file);
    now_ += std::min(now - clock_now_, (kLatest - now_) / 2);
    clock_now_ = now;
    while (started_ && resolution_ > 1 && (now_ - before) % resolution_ != 0) {
        resolution_ /= 1000;
    }
    started_ = true;
    elapsed_ = clock_.elapsed();
}

void Collector::add_one(PacketContext& looked, const Record& record) {
    DecodedView& view = looked.view;
    const std::size_t i = looked.i;
    const Dissected& packet = view.packets[i];
    const std::uint64_t length = record.wire_length;
    row_.captured += record.length;
    if (packet.cut) {
        cut_.add(length);
    }
    bool echo = false;
    const bool keyed = view.is(view.keys.keyed, i);
    looked.population = population_of(packet, record.interface);
    if (keyed || view.is(view.frames_keyed, i)) {
        if (looked.moment.behind) [[unlikely]] {
            (keyed ? packet_echoes_ : frame_echoes_).sorter.note_behind(steps_back_);
        }
        ++populations_.of(looked.population).packets;
    }
    const WindowMask dropped = keyed ? add_key(looked, record, echo) : 0;
    const bool cut_copy = keyed && tables_.prefixes && add_prefixes(looked, record, dropped);
    view.now[i] = looked.moment.now;
    view.by_packet[i] = dropped;
    view.echoes |= std::uint64_t{echo} << i;
    if (!keyed) {
        const bool non_ip = view.is(view.keys.non_ip, i);
        (non_ip ? non_ip_ : malformed_).add(length);
        if (non_ip) {
            const packet::NonIpType type =
                type_of(packet::non_ip_frame(looked.link, record.data, record.length));
            ++non_ip_types_[static_cast<std::uint32_t>(type.what) << 16 | type.number];
        }
        if (non_ip && view.is(view.frames_keyed, i)) {
            echo = add_without_ip(looked, record);
        } else {
            count_frame(looked, tables_.frames.seen(looked.frame(), looked.moment.now), 0, length);
        }
    }
    for (Tally* tally : {&row_.tally, &protocols_[packet.protocol]}) {
        tally->total.add(length);
        if (echo) {
            tally->echoes.add(length);
        }
    }
    if (looked.removed) {
        tally_->removed(length, cut_copy && !echo);
    }
    timeline_.add(looked.moment.elapsed, length, echo);
}

WindowMask Collector::add_key(PacketContext& looked, const Record& record, bool& echo) {
    const Dissected& packet = looked.packet();
    keyed_.add(record.wire_length);
    PacketEntry* entry = tables_.packets.find(looked.digest(), looked.place());
    echo = entry != nullptr;
    if (!echo) {
        insert_packet(looked, record).without_ip = 0;
        ++key_times_.front();
        packet_echoes_.sorter.first(packet, looked.population);
        ++keys_;
        accepted_.add(looked.moment.elapsed, from(0));
        return 0;
    }
    talkers_.add(addresses_of(packet), record.wire_length);
    const WindowMask dropped = count_echo(looked, record, *entry, packet_echoes_);
    accepted_.add(looked.moment.elapsed, ~dropped);
    return dropped;
}

bool Collector::add_prefixes(const PacketContext& looked, const Record& record,
                             WindowMask dropped) {
    const Dissected& packet = looked.packet();
    const TunnelTraits outside = looks_inside_ ? looked.outside() : TunnelTraits{};
    const PrefixTable::Packet prefix{outside.path, outside.tenant,     packet.ip.length,
                                     packet.cut,   record.wire_length, dropped};
    return tables_.prefixes->add(looked.view.prefixes[looked.i], prefix, looked.moment.now);
}

bool Collector::wants_prefixes() const noexcept {
    return key_bytes_asked_ || lengths_differ_;
}

void Collector::choose_prefixes(bool wanted) {
    if (wanted && !tables_.prefixes) {
        tables_.begin_prefixes(table_memory_);
    } else if (!wanted) {
        tables_.prefixes.reset();
    }
}

PacketEntry& Collector::insert_packet(const PacketContext& looked, const Record& record) {
    PacketEntry& fresh = tables_.packets.insert(looked.digest(), looked.moment.now, looked.place());
    fresh.frame = looked.frame();
    fresh.origin = looked.packet().origin;
    fresh.interface = bounded(record.interface) & 0x3FFFU;
    fresh.frames_differ = 0;
    fresh.times = 1;
    fresh.run = 0;
    fresh.at_other = 0;
    if (looks_inside_) {
        outside_of(fresh) = looked.outside();
    }
    return fresh;
}

bool Collector::is_loop_copy(const PacketContext& looked, const Record& record,
                             const PacketEntry& entry) {
    const Dissected& packet = looked.packet();
    return packet.origin.ttl < entry.origin.ttl &&
           tables_.loops.add({entry.digest, entry.origin, packet.origin,
                              entry.interface == bounded(record.interface),
                              looked.moment.now - tables_.packets.first_of(entry),
                              looked.moment.now, record.wire_length, packet.macs});
}

void Collector::compare_tunnels(const TunnelTraits& first, const TunnelTraits& echo,
                                EchoTraits& traits) const {
    const Differences differences = differences_of(first, echo);
    traits.differences |= differences;
    traits.tunnelled = first.path != 0 || echo.path != 0;
    traits.meeting = has(differences, Difference::kEncapsulation)
                         ? (first.path == 0 || echo.path == 0 ? TunnelRelation::kWithPlain
                                                              : TunnelRelation::kOtherKind)
                     : has(differences, Difference::kTunnel) ? TunnelRelation::kOtherTunnel
                     : has(differences, Difference::kOuter)  ? TunnelRelation::kSameTunnel
                                                             : TunnelRelation::kWhole;
    traits.other_tenant = first.tenant != echo.tenant;
    traits.around = encapsulations_of(first.path);
    traits.around.add(encapsulations_of(echo.path));
}

EchoTraits Collector::compare(const PacketContext& looked, const Record& record,
                              const PacketEntry& entry) {
    const Dissected& packet = looked.packet();
    EchoTraits traits;
    traits.length = record.wire_length;
    traits.file = row_.file;
    traits.interface = bounded(record.interface);
    traits.protocol = packet.protocol;
    traits.differences = differences_of(entry.origin, packet.origin);
    if (looks_inside_) {
        compare_tunnels(outside_of(entry), looked.outside(), traits);
    }
    traits.cause =
        is_loop_copy(looked, record, entry) ? Cause::kLoop : cause_of(traits.differences);
    return traits;
}

WindowMask Collector::count_echo(PacketContext& looked, const Record& record, PacketEntry& entry,
                                 Echoes& into) {
    const Dissected& packet = looked.packet();
    const std::uint64_t length = record.wire_length;
    const Nanoseconds now = looked.moment.now;
    const Nanoseconds age = now - entry.last;
    const bool without_ip = entry.without_ip != 0;
    EchoTraits traits = compare(looked, record, entry);
    traits.cause = is_resent(packet, entry, traits, age) ? Cause::kResent : traits.cause;
    entry.run = run_with(entry.run, age) & 127U;
    const bool moved = traits.interface != entry.interface || traits.cause == Cause::kLoop ||
                       is_elsewhere(packet.origin, traits.differences);
    const int hops = moved ? 0 : entry.origin.ttl - packet.origin.ttl;
    const unsigned looks = age < kMaxPathDelay ? entry.accepted.looks : 0;
    const bool counts = looks == 0 || (!moved && hops == 0);  // just back, or seen again
    entry.accepted.looks = static_cast<std::uint16_t>(std::min(looks + (counts ? 1U : 0U), 7U));
    constexpr unsigned kFewTimes = 4;  // a few taps, some of which show it twice
    const EchoBin bin = into.sorter.add(
        complete(packet.kind, packet.ip),
        {age, entry.run, traits.cause, moved, hops, length, entry.interface, traits.interface,
         entry.times <= kFewTimes, looks, looked.moment.behind, looked.population});
    causes_[static_cast<std::size_t>(traits.cause)].add(length);
    for (std::size_t bit = 0; bit < kDifferences; ++bit) {
        differences_[bit] += traits.differences >> bit & 1U;
    }
    count_crossing(entry.interface, traits.interface, length);
    note_times(entry);
    entry.times = static_cast<std::uint8_t>(std::min(255, entry.times + 1));
    traits.refresh = from(windows_up_to(age));
    const bool differs = split_frame_times(looked, entry);
    traits.fixed = tables_.packets.seen_again(entry, now);
    EchoPoint at = echo_point_of(packet, entry, traits);
    const PointLead lead =
        lead_of(looked, traits.interface, at == EchoPoint::kSame, age, entry.accepted);
    // A point besides the first saw it twice in a row.
    at = lead.at_other && entry.at_other != 0 ? EchoPoint::kOtherAgain : at;
    entry.at_other = lead.at_other ? 1 : 0;
    if (!packet.kind.identified) {
        traits.at = at;
        traits.ahead = lead.ahead || at == EchoPoint::kOtherTtl || at == EchoPoint::kOtherTags;
    }
    retagged_ += at == EchoPoint::kOtherTags && !is_of_link(packet) ? 1 : 0;
    if ((at == EchoPoint::kSame || at == EchoPoint::kOtherAgain) && age < kSecondLookSteps.back()) {
        note_second_look(looked, traits, without_ip, age);
    }
    count_frame(looked, differs ? tables_.frames.seen(looked.frame(), now) : traits.fixed,
                without_ip ? 0 : traits.fixed, length);
    into.refresh.add(traits.refresh, length);
    into.fixed.add(traits.fixed, length);
    into.kept.add(traits);
    into.copies.add(bin, traits);
    if (tally_ && looked.removed) {
        tally_->echo(bin, length, without_ip);
    }
    return traits.fixed;
}

// Return true if a radio sent it again. Later attempts of 802.11 may be equal: retry bit set.
bool Collector::is_resent(const Dissected& packet, const PacketEntry& entry,
                          const EchoTraits& traits, Nanoseconds age) noexcept {
    constexpr Nanoseconds kShortestAttempt = 20 * kMicrosecond;  // of an attempt, without its frame
    return packet::is_retry(packet.origin.padding) && traits.cause == Cause::kIdentical &&
           entry.interface == (traits.interface & 0x3FFFU) && age >= kShortestAttempt;
}

// Other TTLs and tags are counted separately from other points, because they make a point only if
// that is recommended.
EchoPoint Collector::echo_point_of(const Dissected& packet, const PacketEntry& entry,
                                   const EchoTraits& traits) noexcept {
    const auto differs = [&](Difference what) { return has(traits.differences, what); };
    if (entry.interface != (traits.interface & 0x3FFFU) || differs(Difference::kMacs) ||
        differs(Difference::kEncapsulation) || differs(Difference::kTunnel)) {
        return EchoPoint::kOther;
    }
    if (differs(Difference::kTags) && entry.without_ip == 0) {
        return EchoPoint::kOtherTags;
    }
    if (differs(Difference::kHopLimit)) {
        return packet.origin.macs == 0 ? EchoPoint::kOther : EchoPoint::kOtherTtl;
    }
    return EchoPoint::kSame;
}

// Return true if the TTL shows that the packet is for this link only. Its sender may send it in
// each VLAN of a trunk.
bool Collector::is_of_link(const Dissected& packet) noexcept {
    constexpr unsigned kFewHops = 5;
    return packet.origin.ttl < kFewHops || packet.origin.ttl == UINT8_MAX;
}

// The result is exact for the point of the first packet and one other; a third point is never
// ahead. For one packet in 1,023, the third point is taken for the second.
Collector::PointLead Collector::lead_of(const PacketContext& looked, std::uint16_t interface,
                                        bool same_point, Nanoseconds age,
                                        AcceptedTimes& times) const noexcept {
    constexpr int kMost = 3;  // limit of AcceptedTimes::lead, which has 3 bits
    constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15;
    int lead = age < kMaxClockShift ? times.lead : 0;
    if (same_point) {
        lead = std::min(lead + 1, kMost);
        times.lead = static_cast<std::int16_t>(lead);
        return {lead > 0, false};
    }
    const FrameTraits& origin = looked.packet().origin;
    std::uint64_t point = looked.digest() ^ (origin.macs + (std::uint64_t{origin.ttl} << 56));
    point = (point ^ interface) * kOdd;
    if (looks_inside_) {
        point =
            (point ^ looked.outside().tunnel ^ std::uint64_t{looked.outside().path} << 32) * kOdd;
    }
    const auto other = static_cast<std::uint16_t>(1 + (point >> 32) % 1023);
    if (times.other_point == 0) {
        times.other_point = other;
    }
    if (times.other_point != other) {
        return {};
    }
    lead = std::max(lead - 1, -kMost);
    times.lead = static_cast<std::int16_t>(lead);
    return {lead < 0, true};
}

void Collector::note_second_look(const PacketContext& looked, const EchoTraits& traits,
                                 bool without_ip, Nanoseconds age) {
    Population& population = populations_.of(looked.population);
    std::size_t step = 0;
    while (age >= kSecondLookSteps[step]) {
        ++step;
    }
    ++population.second[step];
    population.elsewhere += traits.at == EchoPoint::kOtherAgain ? 1 : 0;
    if (!looked.packet().kind.identified) {
        (without_ip ? population.frames_asked : population.packets_asked)[step].add(traits.length);
    }
}

void Collector::count_crossing(std::uint16_t original, std::uint16_t echo, std::uint64_t length) {
    const std::size_t at = original * kMaxInterfaces + echo;
    if (at >= crossings_.size()) {
        crossings_.resize((original + std::size_t{1}) * kMaxInterfaces);
    }
    crossings_[at].add(length);
}

bool Collector::add_without_ip(PacketContext& looked, const Record& record) {
    PacketEntry* entry = tables_.packets.find(looked.digest(), looked.place());
    if (entry == nullptr) {
        insert_packet(looked, record).without_ip = 1;
        frame_echoes_.sorter.first(looked.packet(), looked.population);
        return false;
    }
    count_echo(looked, record, *entry, frame_echoes_);
    short_echoes_ += record.length < packet::kMacAddresses + 2 ? 1 : 0;
    return true;
}

bool Collector::split_frame_times(const PacketContext& looked, PacketEntry& entry) {
    if (entry.frames_differ == 0 && entry.frame != looked.frame()) {
        tables_.frames.part(entry, tables_.packets.ladders());
        entry.frames_differ = 1;
    }
    return entry.frames_differ != 0;
}

// by_packet: windows with which key packet drops it.
void Collector::count_frame(const PacketContext& looked, WindowMask dropped, WindowMask by_packet,
                            std::uint64_t length) {
    tables_.frames.count(dropped, by_packet, length);
    if (looked.view.is(looked.view.keys.non_ip, looked.i)) {
        non_ip_dropped_.add(dropped, length);
    }
}

// A key that was seen `times` times is now seen once more.
void Collector::note_times(const PacketEntry& entry) noexcept {
    if (entry.without_ip == 0) {
        const std::size_t last = key_times_.size() - 1;
        --key_times_[std::min<std::size_t>(entry.times - 1, last)];
        ++key_times_[std::min<std::size_t>(entry.times, last)];
    }
}

}  // namespace unecho::analyze
