// SPDX-License-Identifier: BSD-3-Clause
// A packet inside any stack of up to 8 encapsulations has the plain packet's key in each key mode.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "packets/keys/digests.h"
#include "packets/keys/key_spec.h"
#include "packets/tunnels/tunnels.h"
#include "support/seed.h"
#include "support/wrappings.h"

namespace unecho::packet {
namespace {

using test::Bytes;
using test::Draw;
using test::Wrapped;
using test::Wrapping;

constexpr unsigned kRounds = 4000;
constexpr KeyMode kModes[] = {KeyMode::kPacket, KeyMode::kFlow, KeyMode::kFlowBidir};

const hash::Secret& secret() {
    static const hash::Secret kSecret = hash::secret_from_seed(7);
    return kSecret;
}

const Tunnels& all_tunnels() {
    static const Tunnels kAll{EncapsulationSet::all()};
    return kAll;
}

// One frame in an allocation of exactly its size, after parsing, decapsulation and hashing.
struct Looked {
    Looked(const Bytes& bytes, const Tunnels& tunnels, LinkType link = LinkType::kEthernet)
        : block(new std::uint8_t[bytes.size()]),
          frame{block.get(), static_cast<std::uint32_t>(bytes.size())} {
        std::copy(bytes.begin(), bytes.end(), block.get());
        parse_innermost(tunnels, link, {&frame, 1}, parsed, opened);
        ParsedBurst later;
        DecapsulatedBurst opened_later;
        parse_burst(link, {&frame, 1}, later);
        decapsulate_burst(tunnels, link, {&frame, 1}, later, opened_later);
        EXPECT_EQ(later.found(0), parsed.found(0));
        EXPECT_EQ(later.ip[0].data, parsed.ip[0].data);
        EXPECT_EQ(later.ip[0].length, parsed.ip[0].length);
        EXPECT_EQ(opened_later.opened, opened.opened);
    }
    [[nodiscard]] Digest digest(KeyMode mode, Tenant tenant = Tenant::kIgnore) const {
        Digest out = 0;
        const KeyMasks masks = digest_burst(mode, {&frame, 1}, parsed, secret(), &out);
        EXPECT_EQ(masks.keyed, 1U) << "no key";
        if (tenant == Tenant::kMatch) {
            add_tenants(mode, opened, masks.keyed, secret(), &out);
        }
        return out;
    }
    [[nodiscard]] Digest owner() const {
        Digest out = 0;
        owner_digests(LinkType::kEthernet, {&frame, 1}, parsed, secret(), &out);
        return out;
    }
    // Return the offset of the innermost packet.
    [[nodiscard]] std::size_t at() const {
        return static_cast<std::size_t>(parsed.ip[0].data - frame.data);
    }

    std::unique_ptr<std::uint8_t[]> block;
    Frame frame;
    ParsedBurst parsed;
    DecapsulatedBurst opened;
};

// Draw a TCP, UDP or ICMP packet of either version, to a port that no tunnel uses.
Wrapped plain_packet(Draw& draw) {
    test::PacketSpec spec;
    spec.version = (draw() & 1) != 0 ? 4 : 6;
    const std::uint8_t icmp = spec.version == 4 ? 1 : 58;
    const std::uint8_t protocols[] = {6, 17, icmp};
    spec.source = static_cast<std::uint32_t>(draw());
    spec.destination = static_cast<std::uint32_t>(draw());
    spec.id = static_cast<std::uint16_t>(draw());
    spec.protocol = protocols[draw() % 3];
    spec.source_port = static_cast<std::uint16_t>(10000 + draw() % 1000);
    spec.destination_port = static_cast<std::uint16_t>(20000 + draw() % 1000);
    spec.payload = test::counting(draw() % 60, static_cast<std::uint8_t>(draw()));
    return {test::build_ip(spec)};
}

struct Stack {
    Wrapped top;
    std::vector<Wrapped> steps;  // steps[i]: with i encapsulations
    std::string names;
};

Stack stack_around(const Wrapped& packet, unsigned levels, Draw& draw) {
    Stack out{packet, {packet}, ""};
    const auto all = test::wrappings();
    while (out.steps.size() <= levels) {
        const Wrapping& one = all[draw() % all.size()];
        if (!test::takes(one, out.top)) {
            continue;
        }
        out.top = test::wrap(one, out.top, static_cast<std::uint32_t>(draw() & 0xFFFF), draw);
        out.steps.push_back(out.top);
        out.names = one.name + (out.names.empty() ? "" : ", " + out.names);
    }
    return out;
}

void expect_ended_well(const DecapsulatedBurst& opened) {
    EXPECT_EQ(opened.fragments, 0U);
    EXPECT_EQ(opened.malformed, 0U);
    EXPECT_EQ(opened.other, 0U);
    EXPECT_EQ(opened.too_deep, 0U);
}

TEST(Tunnels, packet_in_any_stack_is_the_plain_packet) {
    for (unsigned round = 0; round < kRounds; ++round) {
        Draw draw(test::seed() + round);
        const Wrapped packet = plain_packet(draw);
        const unsigned levels = 1 + round % kMaxLevels;
        const Stack stack = stack_around(packet, levels, draw);
        SCOPED_TRACE(test::seed_note() + ", round " + std::to_string(round) + ": " + stack.names);
        const Looked plain(on_ethernet(packet, draw), all_tunnels());
        const Looked inside(on_ethernet(stack.top, draw), all_tunnels());
        ASSERT_EQ(plain.opened.opened, 0U);
        ASSERT_EQ(inside.opened.opened, 1U);
        expect_ended_well(plain.opened);
        expect_ended_well(inside.opened);
        for (const KeyMode mode : kModes) {
            ASSERT_EQ(inside.digest(mode), plain.digest(mode)) << name_of(mode);
        }
        ASSERT_EQ(inside.owner(), plain.owner());
        if (HasFailure()) {
            return;
        }
    }
}

// Each form alone, so that every one is tested.
TEST(Tunnels, each_form_is_opened_if_it_is_listed_and_not_if_it_is_not) {
    for (const Wrapping& one : test::wrappings()) {
        Draw draw(test::seed());
        EncapsulationSet listed;
        listed.add(one.encapsulation);
        EncapsulationSet others;
        for (const EncapsulationInfo& info : kEncapsulations) {
            if (info.encapsulation != one.encapsulation) {
                others.add(info.encapsulation);
            }
        }
        unsigned met = 0;
        for (unsigned i = 0; i < 64; ++i) {
            const Wrapped packet = plain_packet(draw);
            if (!test::takes(one, packet)) {
                continue;
            }
            ++met;
            SCOPED_TRACE(std::string(one.name) + " " + std::to_string(i));
            const Bytes wire = on_ethernet(test::wrap(one, packet, 77, draw), draw);
            ASSERT_EQ(Looked(wire, Tunnels(listed)).opened.opened, 1U);
            const Looked unlisted(wire, Tunnels(others));
            ASSERT_EQ(unlisted.opened.opened, 0U);
            // GRE stays listed and reports content that it does not open as `other`.
            const bool in_gre = one.encapsulation == Encapsulation::kErspan;
            EXPECT_EQ(unlisted.opened.other, in_gre ? 1U : 0U);
            EXPECT_EQ(
                unlisted.opened.fragments | unlisted.opened.malformed | unlisted.opened.too_deep,
                0U);
        }
        EXPECT_GT(met, 20U) << one.name;
    }
}

TEST(Tunnels, ninth_encapsulation_is_not_opened) {
    for (unsigned round = 0; round < kRounds / 4; ++round) {
        Draw draw(test::seed() + 1000 + round);
        const Stack stack = stack_around(plain_packet(draw), kMaxLevels + 1, draw);
        if (stack.steps[1].ethernet) {
            continue;  // the content of the eighth level is not an IP packet
        }
        SCOPED_TRACE(test::seed_note() + ", round " + std::to_string(round) + ": " + stack.names);
        const Looked inside(on_ethernet(stack.top, draw), all_tunnels());
        ASSERT_EQ(inside.opened.too_deep, 1U);
        ASSERT_EQ(inside.opened.opened, 1U);
        const Looked eighth(on_ethernet(stack.steps[1], draw), Tunnels());
        ASSERT_EQ(inside.digest(KeyMode::kPacket), eighth.digest(KeyMode::kPacket));
    }
}

// The bits that matter in the innermost packet, one by one.
TEST(Tunnels, bits_that_count_change_the_digest_and_others_do_not) {
    for (unsigned round = 0; round < kRounds / 8; ++round) {
        Draw draw(test::seed() + 2000 + round);
        const Wrapped packet = plain_packet(draw);
        const Stack stack = stack_around(packet, 1 + round % 4, draw);
        SCOPED_TRACE(test::seed_note() + ", round " + std::to_string(round) + ": " + stack.names);
        Bytes wire = on_ethernet(stack.top, draw);
        const Looked before(wire, all_tunnels());
        const std::size_t at = before.at();
        const Digest digest = before.digest(KeyMode::kPacket);
        const bool ipv4 = before.parsed.ipv4 != 0;
        // Masked: TOS, TTL and checksum of IPv4; traffic class and hop limit of IPv6.
        const std::vector<std::size_t> masked =
            ipv4 ? std::vector<std::size_t>{1, 8, 10, 11} : std::vector<std::size_t>{7};
        // These open only packets whose header checksum is right.
        const auto has = [&](const char* name) {
            return stack.names.find(name) != std::string::npos;
        };
        const bool sums = has("v3") || has("mpls") || has("gtp-u") || has("jmirror");
        for (const std::size_t i : masked) {
            wire[at + i] ^= 0x10;
            if (!(sums && ipv4)) {
                EXPECT_EQ(Looked(wire, all_tunnels()).digest(KeyMode::kPacket), digest) << i;
            }
            wire[at + i] ^= 0x10;
        }
        for (std::size_t i = ipv4 ? 12 : 8; i < packet.bytes.size(); ++i) {
            const auto bit = static_cast<std::uint8_t>(1U << draw() % 8);
            wire[at + i] ^= bit;
            EXPECT_NE(Looked(wire, all_tunnels()).digest(KeyMode::kPacket), digest) << i;
            wire[at + i] ^= bit;
        }
        if (HasFailure()) {
            return;
        }
    }
}

TEST(Tunnels, cut_anywhere_it_falls_back_to_a_packet_inside_the_frame) {
    std::uint64_t malformed = 0;
    for (unsigned round = 0; round < kRounds / 8; ++round) {
        Draw draw(test::seed() + 3000 + round);
        const Stack stack = stack_around(plain_packet(draw), 1 + round % kMaxLevels, draw);
        SCOPED_TRACE(test::seed_note() + ", round " + std::to_string(round) + ": " + stack.names);
        const Bytes whole = on_ethernet(stack.top, draw);
        for (std::size_t n = 0; n < whole.size(); ++n) {
            const Looked cut({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n)},
                             all_tunnels());
            malformed += cut.opened.malformed;
            if ((cut.parsed.ipv4 | cut.parsed.ipv6) != 0) {
                const IpPacket& ip = cut.parsed.ip[0];
                ASSERT_GE(ip.data, cut.frame.data);
                ASSERT_LE(ip.data + ip.length, cut.frame.data + n);
                ASSERT_GE(ip.length, cut.parsed.ipv4 != 0 ? 20U : 40U);
            } else {
                ASSERT_EQ(cut.opened.opened, 0U);
            }
        }
    }
    EXPECT_GT(malformed, kRounds);  // the case occurred
}

TEST(Tunnels, tenants_tell_packets_apart_where_they_are_asked_to) {
    for (const Wrapping& one : test::wrappings()) {
        if (!one.has_tenant) {
            continue;
        }
        Draw draw(test::seed() + 4000);
        const Wrapped packet = plain_packet(draw);
        SCOPED_TRACE(one.name);
        const auto looked = [&](std::uint32_t number) {
            return Looked(on_ethernet(test::wrap(one, packet, number, draw), draw), all_tunnels());
        };
        const Looked plain(on_ethernet(packet, draw), all_tunnels());
        const Looked of_5 = looked(5);
        const Looked again = looked(5);
        const Looked of_6 = looked(6);
        for (const KeyMode mode : kModes) {
            EXPECT_EQ(of_5.digest(mode), of_6.digest(mode));
            EXPECT_EQ(of_5.digest(mode), plain.digest(mode));
            EXPECT_EQ(of_5.digest(mode, Tenant::kMatch), again.digest(mode, Tenant::kMatch));
            const bool counts = mode != KeyMode::kFlowBidir || !of_5.opened.tenants[0].one_way();
            EXPECT_EQ(of_5.digest(mode, Tenant::kMatch) != of_6.digest(mode, Tenant::kMatch),
                      counts)
                << name_of(mode);
            EXPECT_EQ(of_5.digest(mode, Tenant::kMatch) != plain.digest(mode, Tenant::kMatch),
                      counts)
                << name_of(mode);
        }
        EXPECT_EQ(of_5.owner(), of_6.owner());
        EXPECT_EQ(of_5.owner(), plain.owner());
    }
}

// The tenant is that of the innermost encapsulation that has an identifier.
TEST(Tunnels, tenant_is_that_of_the_innermost_identifier) {
    Draw draw(test::seed() + 5000);
    const auto all = test::wrappings();
    const auto named = [&](const std::string& name) {
        return *std::find_if(all.begin(), all.end(),
                             [&](const Wrapping& one) { return one.name == name; });
    };
    const Wrapped packet = plain_packet(draw);
    const auto tenant = [&](const Wrapped& top) {
        return Looked(on_ethernet(top, draw), all_tunnels()).opened.tenants[0];
    };
    const Wrapped in_gtp = test::wrap(named("gtp-u"), packet, 9, draw);
    const TenantId vxlan_around = tenant(test::wrap(named("vxlan"), in_gtp, 5, draw));
    EXPECT_EQ(vxlan_around.space(), TenantSpace::kGtpEndpoint);
    EXPECT_EQ(vxlan_around.number(), 9U);
    const Wrapped in_gre = test::wrap(named("gre"), packet, 9, draw);
    const TenantId gre_inside = tenant(test::wrap(named("vxlan"), in_gre, 5, draw));
    EXPECT_EQ(gre_inside.space(), TenantSpace::kVirtualNetwork);
    EXPECT_EQ(gre_inside.number(), 5U);
}

TEST(Tunnels, truncated_and_whole_copies_match_up_to_the_bytes_that_count) {
    for (unsigned round = 0; round < kRounds / 4; ++round) {
        Draw draw(test::seed() + 6000 + round);
        const Wrapped packet = plain_packet(draw);
        const Bytes whole = on_ethernet(packet, draw);
        const auto bytes = static_cast<std::uint32_t>(kMinKeyBytes + draw() % 80);
        const auto digest_of = [&](const Bytes& wire) {
            Looked looked(wire, all_tunnels());
            cut_packets(looked.parsed, bytes);
            return std::pair(looked.digest(KeyMode::kPacket), looked.owner());
        };
        const auto [digest, owner] = digest_of(whole);
        const std::size_t before = whole.size() - packet.bytes.size();
        const std::size_t header = packet.bytes[0] >> 4 == 4 ? 20 : 40;
        for (std::size_t n = header; n <= packet.bytes.size(); ++n) {
            const auto [cut, cut_owner] =
                digest_of({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(before + n)});
            const bool enough = n >= std::min<std::size_t>(bytes, packet.bytes.size());
            ASSERT_EQ(cut == digest, enough) << n << " of " << packet.bytes.size() << ", " << bytes;
            if (enough) {
                ASSERT_EQ(cut_owner, owner);
            }
        }
    }
}

// Bytes outside the key must not change the owner, not even the end of an IPv6 header.
TEST(Tunnels, packets_that_are_the_same_in_the_bytes_that_count_have_one_owner) {
    for (unsigned round = 0; round < kRounds / 4; ++round) {
        Draw draw(test::seed() + 7000 + round);
        const Wrapped packet = plain_packet(draw);
        const Stack stack = stack_around(packet, round % 3, draw);
        const auto bytes = static_cast<std::uint32_t>(kMinKeyBytes + draw() % 40);
        SCOPED_TRACE(test::seed_note() + ", round " + std::to_string(round) + ": " + stack.names +
                     ", " + std::to_string(bytes) + " bytes");
        Bytes wire = on_ethernet(stack.top, draw);
        const auto looked = [&] {
            Looked out(wire, all_tunnels());
            cut_packets(out.parsed, bytes);
            return out;
        };
        const Looked before = looked();
        for (std::size_t i = bytes; i < packet.bytes.size(); ++i) {
            const std::uint8_t was = std::exchange(wire[before.at() + i], 0xA5);
            const Looked after = looked();
            if (after.at() == before.at()) {  // a changed port may open further levels
                ASSERT_EQ(after.digest(KeyMode::kPacket), before.digest(KeyMode::kPacket)) << i;
                ASSERT_EQ(after.owner(), before.owner()) << i;
            }
            wire[before.at() + i] = was;
        }
    }
}

// Also behind an extension header, which moves the ports out of the bytes that are checked first.
TEST(Tunnels, source_port_leads_on_where_either_side_does) {
    test::PacketSpec inner;
    const Bytes frame = test::build(inner);
    Bytes vxlan{8, 0, 0, 0, 0, 0, 7, 0};
    vxlan.insert(vxlan.end(), frame.begin(), frame.end());
    const Bytes ip = test::build_ip(inner);
    Bytes l2tp{0, 2, 0, 1, 0, 2, 0xFF, 0x03, 0x00, 0x21};
    l2tp.insert(l2tp.end(), ip.begin(), ip.end());
    for (const bool extended : {false, true}) {
        test::PacketSpec outer;
        outer.version = 6;
        if (extended) {
            outer.extensions = {{60, {0, 1, 4, 0, 0, 0, 0}}};  // destination options: padding
        }
        const auto opened = [&](std::uint16_t port, bool from, const Bytes& payload) {
            outer.source_port = from ? port : 9;
            outer.destination_port = from ? 9 : port;
            outer.payload = payload;
            return Looked(test::build(outer), all_tunnels()).opened.opened == 1;
        };
        EXPECT_TRUE(opened(4789, false, vxlan));
        EXPECT_FALSE(opened(4789, true, vxlan));
        EXPECT_TRUE(opened(1701, false, l2tp));
        EXPECT_TRUE(opened(1701, true, l2tp));
    }
}

}  // namespace
}  // namespace unecho::packet
