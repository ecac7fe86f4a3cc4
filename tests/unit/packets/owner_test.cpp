// SPDX-License-Identifier: BSD-3-Clause
// The owner of a frame: one worker for all copies and both directions of a flow.
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "digest_frame.h"
#include "support/packet_builder.h"

namespace unecho::packet {
namespace {

using test::build;
using test::Bytes;
using test::PacketSpec;

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

// The length of 802.3 stands where an EtherType would, but is not one.
TEST(OwnerDigest, frames_of_802_3_of_every_length_have_one_owner) {
    const Digest owner = owner_of(test::build_ethernet(38, test::counting(38)));
    for (const std::uint16_t length : {3, 46, 60, 1500}) {
        EXPECT_EQ(owner_of(test::build_ethernet(length, test::counting(length))), owner) << length;
    }
    EXPECT_NE(owner_of(test::build_ethernet(0x0806, test::counting(38))), owner);
    EXPECT_NE(owner_of(test::build_ethernet(2, test::counting(38))), owner);
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
