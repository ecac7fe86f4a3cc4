// SPDX-License-Identifier: BSD-3-Clause
#include "dedup/pipeline/audit.h"

#include <bit>
#include <cstring>

#include "dedup/pipeline/bits.h"
#include "dedup/pipeline/stages.h"
#include "filters/hash/keyed.h"
#include "packets/keys/observation.h"
#include "packets/parse.h"

namespace unecho::pipeline {
namespace {

using filter::Answer;

// Return the bit of packet i, as a mask of a burst of one.
constexpr std::uint64_t taken(std::uint64_t mask, unsigned i) noexcept {
    return mask >> i & 1;
}

void take_one(const Burst& burst, unsigned i, Burst& one) noexcept {
    one.count = 1;
    one.link = burst.link;
    one.frames[0] = burst.frames[i];
    one.parsed.ipv4 = taken(burst.parsed.ipv4, i);
    one.parsed.ipv6 = taken(burst.parsed.ipv6, i);
    one.parsed.non_ip = taken(burst.parsed.non_ip, i);
    one.parsed.malformed = taken(burst.parsed.malformed, i);
    one.parsed.ip[0] = burst.parsed.ip[i];
    one.opened.opened = taken(burst.opened.opened, i);
    if (one.opened.opened != 0) {
        one.opened.tenants[0] = burst.opened.tenants[i];
    }
}

Answer answer_of(const Burst& burst, unsigned i) noexcept {
    return taken(burst.echoes, i) != 0   ? Answer::kEcho
           : taken(burst.doubts, i) != 0 ? Answer::kDoubt
                                         : Answer::kNew;
}

// Remembered of the first packet of a key, as the audit's tag.
struct Mark {
    std::uint64_t port = 0;
    packet::FrameTraits origin;
    packet::TunnelTraits outside;
    Digest whole = 0;  // of the whole innermost packet, if the key covers less
};
static_assert(sizeof(Mark) == sizeof(filter::AuditTag));

// Return the digest as key "packet" defines it, whatever the filter's key is.
Digest whole_digest(const packet::Frame& frame, const packet::Parsed& parsed,
                    const hash::Secret& secret) noexcept {
    packet::ParsedBurst one;
    one.ipv4 = parsed.found == packet::L3Type::kIpv4 ? 1 : 0;
    one.ipv6 = parsed.found == packet::L3Type::kIpv6 ? 1 : 0;
    one.ip[0] = parsed.ip;
    Digest digest = 0;
    packet::digest_burst(packet::KeyMode::kPacket, {&frame, 1}, one, secret, &digest);
    return digest;
}

struct Outermost {
    packet::LinkType link;
    const packet::Frame& frame;
    const packet::Parsed& parsed;
};

// Fill the mark of a packet inside tunnels. Return false if no level of encapsulation is found.
bool mark_inside(const Outermost& outermost, const packet::KeySpec& key, const hash::Secret& secret,
                 Mark& mark, packet::Parsed& innermost) noexcept {
    const packet::DecapsulatedLevels way =
        packet::decapsulated_levels(key.tunnels, outermost.link, outermost.frame, outermost.parsed);
    if (way.count == 0) {
        return false;
    }
    const packet::DecapsulatedLevel& last = way.levels[way.count - 1];
    innermost = last.packet;
    mark.origin = packet::frame_traits_inside(last, secret);
    mark.outside.path = packet::path_of(way);
    mark.outside.tunnel = packet::tunnel_of(way, outermost.parsed);
    mark.outside.outer =
        static_cast<std::uint32_t>(whole_digest(outermost.frame, outermost.parsed, secret));
    return true;
}

// Parse the frame once more: a burst keeps only its key.
Mark mark_of(const Burst& burst, unsigned i, const packet::KeySpec& key, const hash::Secret& secret,
             packet::Parsed& innermost) noexcept {
    Mark mark;
    const packet::Frame& frame = burst.frames[i];
    const packet::Parsed outermost = packet::parse_frame(burst.link, frame);
    innermost = outermost;
    if (taken(burst.opened.opened, i) == 0 ||
        !mark_inside({burst.link, frame, outermost}, key, secret, mark, innermost)) {
        mark.origin = packet::frame_traits(burst.link, frame, outermost, secret);
    }
    if (packet::is_flow(key.mode) || key.bytes != 0) {
        mark.whole = whole_digest(frame, innermost, secret);
    }
    return mark;
}

// Return true for addresses of groups, and for none: these are no hosts.
bool is_group(const std::uint8_t* address, std::size_t length) noexcept {
    constexpr std::array<std::uint8_t, 16> kNone{};
    constexpr std::size_t kMac = 6;
    return length == kMac ? (address[0] & 1U) != 0
                          : address[0] >= (length == 4 ? 0xE0 : 0xFF) ||
                                std::memcmp(address, kNone.data(), length) == 0;
}

// Fill in hashes of the hosts: of IP addresses, or of an Ethernet frame's MAC addresses.
void note_hosts(const Burst& burst, unsigned i, const packet::Parsed& innermost,
                const hash::Secret& secret, PathKey& key) noexcept {
    const auto host = [&secret](const std::uint8_t* address, std::size_t length) {
        return is_group(address, length) ? 0 : hash::keyed_digest(address, length, secret) | 1U;
    };
    if (innermost.found == packet::L3Type::kIpv4 || innermost.found == packet::L3Type::kIpv6) {
        const bool v4 = innermost.found == packet::L3Type::kIpv4;
        packet::FlowFields fields{};
        (void)(v4 ? packet::read_flow_ipv4(innermost.ip, fields)
                  : packet::read_flow_ipv6(innermost.ip, fields));
        const std::size_t length = v4 ? 4 : 16;
        key.source = host(fields.addresses, length);
        key.destination = host(fields.addresses + length, length);
    } else if (burst.link == packet::LinkType::kEthernet && burst.frames[i].length >= 12 &&
               taken(burst.opened.opened, i) == 0) {
        key.source = host(burst.frames[i].data + 6, 6);
        key.destination = host(burst.frames[i].data, 6);
    }
}

std::size_t cause_of(const Mark& first, const Mark& repeated) noexcept {
    if (first.whole != repeated.whole) {
        return packet::kCauseNames.size();
    }
    return static_cast<std::size_t>(
        packet::cause_of(packet::differences_of(first.origin, repeated.origin) |
                         packet::differences_of(first.outside, repeated.outside)));
}

}  // namespace

Digest audit_digest(const Burst& burst, unsigned i, const packet::KeySpec& key,
                    const hash::Secret& secret) noexcept {
    Burst one;
    take_one(burst, i, one);
    digest(one, key, secret);
    return one.digests[0];
}

std::size_t copy_key(const Burst& burst, unsigned i, const packet::KeySpec& key,
                     std::span<std::uint8_t> out) noexcept {
    const bool with_tenant =
        key.tenant == packet::Tenant::kMatch && taken(burst.opened.opened, i) != 0;
    const packet::Parsed parsed = key.mode == packet::KeyMode::kFrame
                                      ? packet::Parsed{packet::L3Type::kNonIp, {}}
                                      : burst.parsed.at(i);
    return packet::copy_key(
        key, burst.link, burst.frames[i], parsed,
        with_tenant ? burst.opened.tenants[i] : packet::TenantId(packet::TenantSpace::kNone, 0),
        taken(burst.opened.opened, i) != 0, out);
}

void AuditStage::inspect_packet(const Burst& burst, unsigned i, const Sight& sight) noexcept {
    const bool audited = is_audited(burst, i);
    const bool on_path = is_on_path(burst, i, sight.port);
    if (!audited && !on_path) {
        return;
    }
    Burst one;
    take_one(burst, i, one);
    filter::AuditKey key;
    key.digest = burst.digests[i];
    for (std::size_t half = 0; half < key.hash.size(); ++half) {
        digest(one, key_, secret_.keys[half]);
        key.hash[half] = one.digests[0];
    }
    packet::Parsed innermost{};
    Mark mark = mark_of(burst, i, key_, secret_.keys[0], innermost);
    mark.port = sight.port;
    if (on_path) {
        // The filter may drop repeats; on a path they are packets of their own all the same.
        PathKey path{.digest = key.digest,
                     .hash = key.hash,
                     .identified = packet::identified(one.parsed) != 0};
        note_hosts(burst, i, innermost, secret_.keys[1], path);
        const packet::TunnelTraits& outside = mark.outside;
        paths_->look(
            path,
            {.port = sight.port,
             .time = sight.arrival.latest,
             .earliest = sight.arrival.earliest,
             .packet = {mark.origin, outside.path == 0 ? 0 : (outside.tunnel ^ outside.path) | 1U},
             .behind = sight.arrival.latest - sight.time});
    }
    if (!audited) {
        return;
    }
    std::array<std::uint8_t, filter::AuditParams::kMaxKeyBytes> bytes;
    if (const unsigned kept = audit_.params().spec().key_bytes; kept != 0) {
        key.bytes = {bytes.data(), copy_key(burst, i, key_, {bytes.data(), kept})};
    }
    const filter::AuditFinding found = audit_.observe(key, {sight.time, answer_of(burst, i)},
                                                      std::bit_cast<filter::AuditTag>(mark));
    if (found.repeats) {
        const auto first = std::bit_cast<Mark>(found.first);
        ++crossings_[first.port][sight.port];
        ++causes_[cause_of(first, mark)];
    }
}

void AuditStage::inspect(const Burst& burst, std::uint64_t mask,
                         const std::array<PortIndex, kMaxBurst>& ports,
                         const filter::AuditState& state, bool timed,
                         const ArrivalInterval& arrival) noexcept {
    bool audited = false;
    for_each_bit(mask, [&](unsigned i) {
        if (is_audited(burst, i)) {
            audit_.prefetch(burst.digests[i]);
            audited = true;
        }
    });
    if (audited) {
        audit_.begin_burst(state);
    }
    for_each_bit(mask, [&](unsigned i) {
        inspect_packet(burst, i,
                       timed ? Sight{ports[i], burst.times[i], {burst.times[i], burst.times[i]}}
                             : Sight{ports[i], state.last, arrival});
    });
}

}  // namespace unecho::pipeline
