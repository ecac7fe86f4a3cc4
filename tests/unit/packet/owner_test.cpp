// SPDX-License-Identifier: BSD-3-Clause
// The owner of a frame: one worker for all copies and both directions of a flow.
#include <cmath>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "digest_frame.h"
#include "support/packet_samples.h"

namespace unecho::packet {
namespace {

using test::build;
using test::Bytes;
using test::packet_samples;
using test::PacketSample;
using test::PacketSpec;

// Return samples, cut versions of them, and mutants of every byte.
std::vector<Bytes> many_frames() {
    std::vector<Bytes> out;
    for (const PacketSample& sample : packet_samples()) {
        for (std::size_t n = 0; n <= sample.bytes.size(); ++n) {
            out.emplace_back(sample.bytes.begin(),
                             sample.bytes.begin() + static_cast<std::ptrdiff_t>(n));
        }
        for (std::size_t at = 0; at < sample.bytes.size(); ++at) {
            Bytes mutant = sample.bytes;
            mutant[at] ^= 0x04;
            out.push_back(mutant);
        }
    }
    return out;
}

TEST(OwnerDigest, equal_digests_of_any_mode_have_one_owner) {
    const std::vector<Bytes> frames = many_frames();
    for (const KeyMode mode : kModes) {
        std::map<Digest, Digest> owners;
        std::size_t met = 0;
        for (const Bytes& frame : frames) {
            const Digested digested = digest_of(mode, frame);
            if (digested.outcome != KeyOutcome::kKeyed) {
                continue;
            }
            const auto [place, is_new] = owners.emplace(digested.digest, owner_of(frame));
            ASSERT_EQ(place->second, owner_of(frame)) << name_of(mode);
            met += is_new ? 0 : 1;
        }
        EXPECT_GT(met, packet_samples().size())
            << name_of(mode);  // equal digests must occur, or nothing was tested
    }
}

TEST(OwnerDigest, both_directions_have_one_owner) {
    for (const unsigned version : {4U, 6U}) {
        const PacketSpec there{.version = version, .payload = test::counting(20)};
        PacketSpec back = there;
        std::swap(back.source, back.destination);
        std::swap(back.source_port, back.destination_port);
        back.payload = test::counting(900);
        EXPECT_EQ(owner_of(build(there)), owner_of(build(back)));
    }
}

TEST(OwnerDigest, copies_that_packet_mode_finds_have_one_owner) {
    const PacketSpec spec{.payload = test::counting(3)};
    PacketSpec copy = spec;
    copy.ttl -= 1;
    copy.tos = 4;
    copy.tags = {{0x88A8, 1}, {0x8100, 2}};
    copy.labels = {17};
    copy.pad = true;
    copy.trailer = {1, 2, 3};
    EXPECT_EQ(owner_of(build(spec)), owner_of(build(copy)));
}

TEST(OwnerDigest, ports_cut_short_count_as_ports_0) {
    for (const unsigned version : {4U, 6U}) {
        const PacketSpec spec{.version = version, .source_port = 0, .destination_port = 0};
        const Bytes frame = build(spec);
        const std::size_t header = version == 4 ? 34 : 54;
        for (std::size_t n = header; n <= frame.size(); ++n) {
            EXPECT_EQ(owner_of({frame.data(), n}), owner_of(frame)) << n;
        }
    }
}

TEST(OwnerDigest, extension_chain_cut_short_keeps_flows_apart_by_address) {
    PacketSpec spec{.version = 6, .extensions = {test::options_extension(0, 1)}};
    const Bytes a = build(spec);
    spec.destination += 1;
    const Bytes b = build(spec);
    for (std::size_t n = 54; n < 54 + 16; ++n) {
        EXPECT_NE(owner_of({a.data(), n}), owner_of({b.data(), n})) << n;
    }
}

TEST(OwnerDigest, frame_without_an_ip_packet_is_owned_by_its_macs_and_ethertype) {
    const Bytes arp = test::build_ethernet(0x0806, test::counting(28));
    const Bytes other = test::build_ethernet(0x0806, test::counting(46, 99));
    EXPECT_EQ(owner_of(arp), owner_of(other));
    for (std::size_t at = 0; at < 14; ++at) {
        Bytes changed = arp;
        changed[at] ^= 1;
        EXPECT_NE(owner_of(changed), owner_of(arp)) << at;
    }
}

TEST(OwnerDigest, copies_of_a_frame_without_an_ip_packet_have_one_owner) {
    PacketSpec link;
    const Bytes plain = test::build_ethernet(0x88CC, test::counting(60), link);
    for (const std::vector<test::Tag>& tags :
         {std::vector<test::Tag>{{0x8100, 7}}, {{0x88A8, 1}, {0x8100, 2}}, {{0x9100, 3}}}) {
        link.tags = tags;
        EXPECT_EQ(owner_of(test::build_ethernet(0x88CC, test::counting(60), link)),
                  owner_of(plain));
    }
    // 802.3 frames have a length there, and must keep their order whatever it is.
    EXPECT_EQ(owner_of(test::build_ethernet(38, test::counting(38))),
              owner_of(test::build_ethernet(52, test::counting(52))));
}

TEST(OwnerDigest, malformed_frame_is_owned_by_its_first_14_bytes) {
    Bytes cut = build({});
    cut.resize(20);
    for (std::size_t at = 0; at < cut.size(); ++at) {
        Bytes changed = cut;
        changed[at] ^= 1;
        EXPECT_EQ(owner_of(changed) == owner_of(cut), at >= 14) << at;
    }
}

TEST(OwnerDigest, frame_shorter_than_a_header_is_owned_by_all_of_it) {
    const Bytes bytes = test::counting(14);
    std::set<Digest> owners;
    for (std::size_t n = 0; n <= bytes.size(); ++n) {
        owners.insert(owner_of({bytes.data(), n}));
    }
    EXPECT_EQ(owners.size(), 15U);
}

// A worker of two sees, for example, the flows whose owner has its top bit clear. Their flow-bidir
// digests must still spread over the whole range. Of n flows, n/4 on average have both top bits
// set, with deviation sqrt(3n/16); 5 deviations on both sides are alpha = 6e-7.
TEST(OwnerDigest, is_independent_of_the_flow_digest) {
    constexpr unsigned kFlows = 1U << 14;
    for (const unsigned version : {4U, 6U}) {
        unsigned both = 0;
        for (unsigned i = 0; i < kFlows; ++i) {
            const Bytes frame = build({.version = version, .source = 0x0A000000U + i});
            const Digest digest = digest_of(KeyMode::kFlowBidir, frame).digest;
            both += static_cast<unsigned>(owner_of(frame) >> 63 & digest >> 63);
        }
        EXPECT_NEAR(both, kFlows / 4.0, 5 * std::sqrt(kFlows * 3.0 / 16));
    }
}

}  // namespace
}  // namespace unecho::packet
