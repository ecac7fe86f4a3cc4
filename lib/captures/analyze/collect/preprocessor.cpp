// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/collect/preprocessor.h"

#include <algorithm>
#include <bit>

#include "packets/headers.h"

namespace unecho::analyze {
namespace {

using capture::Record;
using packet::KeyMode;
using packet::LinkType;

// Return true if fewer bytes were captured than the packet states.
bool is_cut(const packet::Parsed& parsed) noexcept {
    const std::uint8_t* data = parsed.ip.data;
    return parsed.found == packet::L3Type::kIpv4 ? packet::load_be16(data + 2) > parsed.ip.length
           : parsed.found == packet::L3Type::kIpv6
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

// Return the bits at these positions, side by side.
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

// Intermediate results, until a burst is digested.
struct Preprocessor::Parse {
    std::array<packet::Frame, kMaxBurst> frames;
    packet::ParsedBurst outermost;
    packet::ParsedBurst innermost;
    packet::DecapsulatedBurst opened;
    std::uint64_t counted_inside = 0;

    [[nodiscard]] std::span<const packet::Frame> first(std::size_t count) const noexcept {
        return {frames.data(), count};
    }
};

// Return the packets of this shard, by what was parsed; the rule of captures/dedup/shard.h.
std::uint64_t Preprocessor::mine(LinkType link, std::span<const packet::Frame> frames,
                                 const packet::ParsedBurst& parsed) const {
    std::array<Digest, kMaxBurst> owners;
    packet::owner_digests(link, frames, parsed, secret_, owners.data());
    std::uint64_t mask = 0;
    for (std::size_t i = 0; i < frames.size(); ++i) {
        mask |= std::uint64_t{reduce(owners[i], shard_.count) + 1 == shard_.index} << i;
    }
    return shard_.index == 1 ? mask | parsed.malformed : mask & ~parsed.malformed;
}

void Preprocessor::count_tunnels(const packet::DecapsulatedBurst& opened, std::uint64_t mine) {
    packet::DecapsulatedBurst ours;
    ours.opened = opened.opened & mine;
    ours.fragments = opened.fragments & mine;
    ours.malformed = opened.malformed & mine;
    ours.other = opened.other & mine;
    ours.too_deep = opened.too_deep & mine;
    in_tunnels_.add(ours);
}

// Return true if prefix digests are needed. A capture that cuts all packets alike needs none; the
// inner view always does.
bool Preprocessor::choose_prefixes() noexcept {
    const bool wanted = prefixes_asked_ || inside_ || lengths_.differ();
    prefixes_ = wanted || (prefixes_ && seen_ < kProbation);
    return prefixes_;
}

void Preprocessor::look(DecodedBurst& burst) {
    const std::size_t count = burst.records.size();
    DecodedView& plain = burst.plain;
    Parse parse;
    for (std::size_t i = 0; i < count; ++i) {
        parse.frames[i] = {burst.records[i].data, burst.records[i].length};
        plain.at[i] = static_cast<std::uint8_t>(i);
    }
    packet::parse_burst(burst.link, parse.first(count), parse.outermost);
    parse.innermost = parse.outermost;
    packet::decapsulate_burst(tunnels_, burst.link, parse.first(count), parse.innermost,
                              parse.opened);
    burst.begins_inside = parse.opened.opened != 0 && !inside_;
    inside_ = inside_ || burst.begins_inside;
    plain.count = count;
    plain.counted = first_bits(count);
    plain.cut = cut_of(parse.outermost, count);
    for (std::size_t i = 0; i < count; ++i) {
        const packet::Parsed& packet = parse.outermost.at(i);
        const bool ip =
            packet.found == packet::L3Type::kIpv4 || packet.found == packet::L3Type::kIpv6;
        lengths_.note(ip ? packet.ip.length : burst.records[i].length, plain.is(plain.cut, i));
    }
    burst.lengths = lengths_;
    if (inside_) {
        if (!burst.within) {
            burst.within = std::make_unique<DecodedView>();
        }
        burst.within->cut = cut_of(parse.innermost, count);
    } else {
        burst.within.reset();
    }
    if (shard_.index == 1) {
        hidden_copies_.add(burst.records, parse.innermost, tunnels_);
    }
    choose_mine(burst, parse, plain);
    for (std::size_t i = 0; i < plain.count; ++i) {
        plain.packets[i] = dissect(burst.link, parse.frames[i], parse.outermost.at(i), secret_);
    }
    plain.with_prefixes = choose_prefixes();
    digest(plain, parse, parse.outermost, burst.link);
    packet::digest_frames(parse.first(plain.count), parse.outermost, plain.packet.data(), secret_,
                          plain.frame.data());
    if (inside_) {
        look_inside(burst, parse);
    }
    seen_ += count;
}

// With shards, leave out packets that no view counts, before they are digested.
void Preprocessor::choose_mine(const DecodedBurst& burst, Parse& parse, DecodedView& plain) {
    parse.counted_inside = plain.counted;
    if (!shard_.whole()) {
        const auto frames = parse.first(plain.count);
        plain.counted = mine(burst.link, frames, parse.outermost);
        parse.counted_inside = parse.opened.opened == 0 ? plain.counted
                                                        : mine(burst.link, frames, parse.innermost);
    }
    if (parse.opened.any()) [[unlikely]] {
        count_tunnels(parse.opened, parse.counted_inside);
    }
    if (shard_.whole()) {
        return;
    }
    plain.count = 0;
    for (std::uint64_t rest = plain.counted | parse.counted_inside; rest != 0;
         rest &= rest - 1) {
        plain.at[plain.count++] = static_cast<std::uint8_t>(std::countr_zero(rest));
    }
    for (std::size_t i = 0; i < plain.count; ++i) {
        parse.frames[i] = parse.frames[plain.at[i]];
    }
    take(parse.outermost, plain.at, plain.count);
    take(parse.innermost, plain.at, plain.count);
    plain.counted = taken(plain.counted, plain.at, plain.count);
    parse.counted_inside = taken(parse.counted_inside, plain.at, plain.count);
    parse.opened.opened = taken(parse.opened.opened, plain.at, plain.count);
}

// Fill the inner view. A packet that was not opened is the same in both views.
void Preprocessor::look_inside(DecodedBurst& burst, const Parse& parse) {
    const DecodedView& plain = burst.plain;
    DecodedView& view = *burst.within;
    view.count = plain.count;
    view.counted = parse.counted_inside;
    view.at = plain.at;
    view.packets = plain.packets;
    view.frame = plain.frame;
    for (std::size_t i = 0; i < view.count; ++i) {
        view.outside[i] = {};
        view.outside[i].outer = static_cast<std::uint32_t>(
            plain.is(plain.keys.keyed | plain.frames_keyed, i) ? plain.packet[i] : plain.frame[i]);
    }
    for (std::uint64_t rest = parse.opened.opened & view.counted; rest != 0;
         rest &= rest - 1) {
        const auto i = static_cast<std::size_t>(std::countr_zero(rest));
        dissect_inside(view, parse, i, burst.link, burst.records[view.at[i]].wire_length);
    }
    view.with_prefixes = true;
    digest(view, parse, parse.innermost, burst.link);
}

void Preprocessor::dissect_inside(DecodedView& view, const Parse& parse, std::size_t i,
                                  LinkType link, std::uint64_t length) {
    const packet::Parsed outermost = parse.outermost.at(i);
    const packet::DecapsulatedLevels way =
        packet::decapsulated_levels(tunnels_, link, parse.frames[i], outermost);
    if (way.count == 0) {
        return;
    }
    view.packets[i] = analyze::dissect_inside(way.levels[way.count - 1], secret_);
    packet::TenantId tenant{};
    for (unsigned level = 0; level < way.count; ++level) {
        const packet::TenantId& one = way.levels[level].tenant;
        tenant = one.any() ? one : tenant;
    }
    TunnelTraits& outside = view.outside[i];
    outside.path = path_of(way);
    outside.tunnel = tunnel_of(way, outermost);
    outside.tenant = tenant_mark(tenant);
    in_tunnels_.add(outside.path, tenant, length);
}

// Compute the digests, except those of whole frames, which are the same in both views.
void Preprocessor::digest(DecodedView& view, const Parse& parse, const packet::ParsedBurst& parsed,
                          LinkType link) const {
    const std::span<const packet::Frame> frames = parse.first(view.count);
    view.keys = packet::digest_burst(KeyMode::kPacket, frames, parsed, secret_, view.packet.data());
    packet::fill_checksums(frames, parsed, view.keys.keyed, secret_, view.packet.data());
    packet::KeyMasks masks = view.keys;
    packet::digest_non_ip(link, frames, secret_, view.packet.data(), masks);
    view.frames_keyed = masks.keyed & ~view.keys.keyed;
    view.flows = packet::digest_both_ways(parsed, secret_, view.flow.data(), view.turned).keyed;
    if (view.with_prefixes) {
        digest_prefixes(view, parse, parsed);
    }
    view.segments = 0;
    for (std::size_t i = 0; i < view.count; ++i) {
        const Dissected& packet = view.packets[i];
        if (packet.payload.length != 0) {
            view.segments |= std::uint64_t{1} << i;
            packet::digest_frames({&packet.payload, 1}, secret_, &view.segment[i]);
            const Digest place =
                remix(view.flow[i] + (view.is(view.turned, i) ? 1 : 0), packet.sequence);
            view.segment[i] = remix(view.segment[i] ^ place, packet.payload_size);
        }
    }
}

void Preprocessor::digest_prefixes(DecodedView& view, const Parse& parse,
                                   const packet::ParsedBurst& parsed) const {
    for (std::size_t n = 0; n < kKeyBytesAsked.size(); ++n) {
        std::array<Digest, kMaxBurst> digests;
        packet::ParsedBurst cut = parsed;
        packet::cut_packets(cut, kKeyBytesAsked[n]);
        const packet::KeyMasks keys = packet::digest_burst(
            KeyMode::kPacket, parse.first(view.count), cut, secret_, digests.data());
        packet::fill_checksums(parse.first(view.count), cut, keys.keyed, secret_, digests.data());
        for (std::size_t i = 0; i < view.count; ++i) {
            view.prefixes[i][n] = digests[i];
        }
    }
}

}  // namespace unecho::analyze
