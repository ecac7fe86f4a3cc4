// SPDX-License-Identifier: BSD-3-Clause
#include "captures/compare/looks/look_reader.h"

#include <algorithm>

#include "captures/compare/looks/content.h"
#include "dedup/pipeline/stages.h"
#include "packets/headers.h"
#include "packets/keys/digests.h"
#include "packets/keys/observation.h"

namespace unecho::compare {
namespace {

using capture::Record;

// The year 2116. Differences of times, and of these, then fit into 64 bits.
constexpr Nanoseconds kLatest = (Nanoseconds{1} << 62U) - 1;

constexpr std::uint32_t kNoPoint = ~std::uint32_t{0};

bool has(std::uint64_t mask, unsigned i) {
    return (mask >> i & 1U) != 0;
}

}  // namespace

LookReader::LookReader(const ReaderOptions& options, std::size_t input, LookStore& looks,
                       KeySample& sample)
    : options_(options), input_(input), looks_(looks), sample_(sample) {}

Status LookReader::read(capture::Source& source, const OnBatch& on_batch) {
    capture::Batch batch;
    for (;;) {
        const Result<bool> more = source.next(batch);
        UNECHO_TRY(more);
        if (!*more) {
            break;
        }
        const capture::InterfaceView interfaces = source.interfaces();
        for (std::size_t i = links_.size(); i < interfaces.size(); ++i) {
            links_.push_back(packet::link_type_of(interfaces[i].link_type));
        }
        add(batch.records, interfaces);
        on_batch(source.progress());
    }
    warnings_ = source.warnings();
    return {};
}

void LookReader::add(std::span<const Record> records,
                     std::span<const capture::Interface> interfaces) {
    for (std::size_t begin = 0; begin < records.size(); begin += burst_.count) {
        const std::span<const Record> rest = records.subspan(begin);
        fill(rest);
        pipeline::parse(burst_, options_.key);
        pipeline::digest(burst_, options_.key, options_.secret);
        flow_keys_ =
            packet::digest_burst(packet::KeyMode::kFlow, {burst_.frames.data(), burst_.count},
                                 burst_.parsed, options_.secret, flow_digests_.data());
        identified_ = packet::identified(burst_.parsed);
        if (sample_.bits() > bits_) {
            thin(sample_.bits());
        }
        for (unsigned i = 0; i < burst_.count; ++i) {
            flows_.prefetch(flow_digests_[i]);
        }
        for (unsigned i = 0; i < burst_.count; ++i) {
            const Record& record = rest[i];
            const capture::Interface& interface = interfaces[record.interface];
            const std::size_t point =
                point_of(options_.interfaces_are_points ? record.interface : 0);
            count(record, interface, points_[point]);
            if (!has(burst_.keys.keyed, i)) {
                ++points_[point].keyless;
            } else if (options_.nat || KeySample::holds(burst_.digests[i], bits_)) {
                look_at(record, i, point);
            }
        }
    }
}

// Fill the burst with the first records, up to the first of another link type.
void LookReader::fill(std::span<const Record> records) {
    burst_.link = links_[records.front().interface];
    unsigned n = 0;
    for (const Record& record : records.first(std::min<std::size_t>(records.size(), kMaxBurst))) {
        if (links_[record.interface] != burst_.link) {
            break;
        }
        burst_.frames[n] = {record.data, record.length};
        burst_.lengths[n] = record.length;
        ++n;
    }
    burst_.count = n;
}

std::size_t LookReader::point_of(std::uint32_t interface) {
    if (interface >= numbers_.size()) {
        numbers_.resize(interface + 1, kNoPoint);
    }
    std::uint32_t& number = numbers_[interface];
    if (number == kNoPoint) {
        number = static_cast<std::uint32_t>(points_.size());
        points_.emplace_back().interface = interface;
    }
    return number;
}

void LookReader::count(const Record& record, const capture::Interface& interface,
                       PointCounts& counts) {
    const Nanoseconds time = std::min(record.time, kLatest);
    if (counts.packets == 0) {
        counts.first = counts.last = time;
        counts.name = interface.name;
    }
    counts.tick = std::max(counts.tick, interface.tick);
    counts.first = std::min(counts.first, time);
    counts.last = std::max(counts.last, time);
    ++counts.packets;
    if (record.length < record.wire_length) {
        ++counts.cut;
    }
}

// Set what surrounds the packet, and return it.
packet::Parsed LookReader::innermost_at(unsigned i, Look& look) const {
    const packet::Frame& frame = burst_.frames[i];
    const bool opened = has(burst_.opened.opened, i);
    const packet::Parsed outermost = opened || options_.key.bytes != 0
                                         ? packet::parse_frame(burst_.link, frame)
                                         : burst_.parsed.at(i);
    look.traits = packet::frame_traits(burst_.link, frame, outermost, options_.secret);
    if (!opened) {
        return outermost;
    }
    const packet::DecapsulatedLevels levels =
        packet::decapsulated_levels(options_.key.tunnels, burst_.link, frame, outermost);
    if (levels.count == 0) {
        return outermost;
    }
    const packet::DecapsulatedLevel& last = levels.levels[levels.count - 1];
    look.traits = packet::frame_traits_inside(last, options_.secret);
    look.tunnel = (packet::tunnel_of(levels, outermost) ^ packet::path_of(levels)) | 1U;
    return last.packet;
}

void LookReader::look_at(const Record& record, unsigned i, std::size_t point) {
    Look look;
    look.digest = burst_.digests[i];
    look.time = std::min(record.time, kLatest);
    look.number = record.number;
    look.point = std::min(point, kMostNumbers);
    look.identified = has(identified_, i) ? 1 : 0;
    const packet::Parsed innermost = innermost_at(i, look);
    if (record.length < record.wire_length) {
        look.traits.padding = 0;  // it may be cut off
        const bool ip =
            innermost.found == packet::L3Type::kIpv4 || innermost.found == packet::L3Type::kIpv6;
        look.cut = !ip || options_.key.bytes == 0 || innermost.ip.length < options_.key.bytes;
    }
    const Digest content = options_.nat ? content_digest(innermost, options_.secret) : 0;
    while (is_full() && bits_ < KeySample::kMaxBits) {
        sample_.raise(bits_ + 1);
        thin(sample_.bits());
    }
    if (!is_full() && holds(look, content, bits_)) {
        look.flow = flow_at(i);
        looks_.add(input_, look, content);
    }
}

std::uint32_t LookReader::flow_at(unsigned i) {
    if (has(flow_keys_.keyed, i)) {
        return flows_.number_of(flow_digests_[i], [&] { return flow_of(burst_.parsed.at(i)); });
    }
    const packet::Frame& frame = burst_.frames[i];
    if (burst_.link == packet::LinkType::kEthernet && frame.length >= packet::kMacAddresses) {
        const Digest digest =
            remix(remix(packet::load_be48(frame.data) ^ options_.secret.ends[0], 1) ^
                      packet::load_be48(frame.data + 6),
                  options_.secret.ends[1]);
        return flows_.number_of(digest, [&] { return flow_of_stations(frame); });
    }
    return FlowTable::kNone;
}

bool LookReader::is_full() const {
    const std::uint64_t count = looks_.count_of(input_);
    return count == looks_.most_of_each() ||
           count * (LookStore::bytes_per_look(options_.nat) + KeyGroups::kBytesPerLook) +
                   flows_.bytes() >
               options_.memory;
}

void LookReader::thin(unsigned bits) {
    if (bits == bits_) {
        return;
    }
    bits_ = bits;
    FlowTable kept;
    looks_.filter(input_, [&](Look& look, Digest content) {
        if (!holds(look, content, bits)) {
            return false;
        }
        if (look.flow != FlowTable::kNone) {
            const std::uint32_t old = look.flow;
            look.flow = kept.number_of(flows_.digests()[old], [&] { return flows_.flows()[old]; });
        }
        return true;
    });
    flows_ = std::move(kept);
}

}  // namespace unecho::compare
