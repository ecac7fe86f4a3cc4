// SPDX-License-Identifier: BSD-3-Clause
// Digests of whole frames, made from their packets' digests: equal exactly if frames are, and
// changed by every byte at any position.
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "filters/hash/secret.h"
#include "packets/keys/digests.h"
#include "packets/parse.h"
#include "support/packet_builder.h"

namespace unecho::packet {
namespace {

using test::Bytes;

Digest digest_of(const Bytes& bytes, const hash::Secret& secret) {
    const Frame frame{bytes.data(), static_cast<std::uint32_t>(bytes.size())};
    ParsedBurst parsed;
    parse_burst(LinkType::kEthernet, {&frame, 1}, parsed);
    Digest packet = 0;
    Digest digest = 0;
    digest_burst(KeyMode::kPacket, {&frame, 1}, parsed, secret, &packet);
    digest_frames({&frame, 1}, parsed, &packet, secret, &digest);
    return digest;
}

std::vector<Bytes> some_frames() {
    std::vector<Bytes> out;
    for (const unsigned version : {4U, 6U}) {
        test::PacketSpec spec;
        spec.version = version;
        for (const std::size_t payload : {0U, 1U, 15U, 100U, 300U}) {
            spec.payload.assign(payload, 7);
            spec.tags.clear();
            spec.trailer.clear();
            out.push_back(test::build(spec));
            spec.tags = {{0x8100, 7}};
            out.push_back(test::build(spec));
            spec.trailer = {1, 2, 3};
            out.push_back(test::build(spec));
            out.push_back(test::build(spec));
            out.back().resize(out.back().size() - 5);  // captured with 5 bytes missing
        }
    }
    Bytes arp(60, 1);
    arp[12] = 8;
    arp[13] = 6;
    out.push_back(arp);
    Bytes malformed = out.front();
    malformed[14] = 0x41;
    out.push_back(malformed);
    return out;
}

TEST(WholeFrame, every_byte_counts_and_every_length) {
    const hash::Secret secret = hash::secret_from_seed(5);
    std::set<Digest> digests;
    std::set<Bytes> frames;
    for (const Bytes& frame : some_frames()) {
        for (std::size_t i = 0; i <= frame.size(); ++i) {
            for (const unsigned bit : {0x01U, 0x10U, 0x80U}) {
                Bytes changed = frame;
                if (i < frame.size()) {
                    changed[i] ^= static_cast<std::uint8_t>(bit);
                }
                frames.insert(changed);
                digests.insert(digest_of(changed, secret));
                changed.push_back(0);
                frames.insert(changed);
                digests.insert(digest_of(changed, secret));
            }
        }
    }
    EXPECT_GT(frames.size(), 20'000U);
    EXPECT_EQ(digests.size(), frames.size());
}

TEST(WholeFrame, equal_frames_are_equal_wherever_they_lie) {
    const hash::Secret secret = hash::secret_from_seed(6);
    for (const Bytes& frame : some_frames()) {
        const Bytes copy = frame;
        EXPECT_EQ(digest_of(frame, secret), digest_of(copy, secret));
    }
}

}  // namespace
}  // namespace unecho::packet
