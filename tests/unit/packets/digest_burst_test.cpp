// SPDX-License-Identifier: BSD-3-Clause
// A burst is digested in another order than it arrived: short keys first. Its digests must be those
// of its frames one by one.
#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "digest_frame.h"
#include "support/packet_builder.h"

namespace unecho::packet {
namespace {

using test::build;
using test::build_ethernet;
using test::Bytes;

// Return a body length around 128 bytes, where the algorithm changes, or any other.
std::size_t some_length(std::mt19937& random) {
    switch (random() % 4) {
        case 0:
            return random() % 40;
        case 1:
            return 90 + random() % 60;
        case 2:
            return 1400 + random() % 100;
        default:
            return random() % 2500;
    }
}

enum class Kinds : std::uint8_t { kIpv4, kIpv6, kBoth, kAny };

Bytes some_frame(Kinds kinds, std::mt19937& random, std::size_t length) {
    Bytes payload(length);
    std::generate(payload.begin(), payload.end(),
                  [&] { return static_cast<std::uint8_t>(random()); });
    if (kinds == Kinds::kAny && random() % 4 == 0) {
        return build_ethernet(0x88CC, payload);
    }
    const bool ipv6 = kinds == Kinds::kIpv6 || (kinds != Kinds::kIpv4 && random() % 2 == 0);
    Bytes frame = build({.version = ipv6 ? 6U : 4U, .payload = payload});
    if (kinds == Kinds::kAny && random() % 4 == 0) {
        frame.resize(random() % frame.size());  // cut short, or malformed
    }
    return frame;
}

void expect_as_alone(const std::vector<Bytes>& burst, KeyMode mode) {
    std::vector<ExactFrame> blocks(burst.begin(), burst.end());
    std::vector<Frame> frames;
    for (const ExactFrame& block : blocks) {
        frames.push_back(block.frame());
    }
    std::array<Digest, kMaxBurst> digests;
    digests.fill(1);  // an unset digest must be found: alone it would be 0
    const KeyMasks masks =
        parse_and_digest(mode, LinkType::kEthernet, frames, test_secret(), digests.data());
    for (std::size_t i = 0; i < frames.size(); ++i) {
        const Digested alone = digest_of(mode, burst[i]);
        const std::uint64_t bit = std::uint64_t{1} << i;
        ASSERT_EQ((masks.keyed & bit) != 0, alone.outcome == KeyOutcome::kKeyed) << i;
        ASSERT_EQ((masks.non_ip & bit) != 0, alone.outcome == KeyOutcome::kNonIp) << i;
        ASSERT_EQ((masks.malformed & bit) != 0, alone.outcome == KeyOutcome::kMalformed) << i;
        if ((masks.keyed & bit) != 0) {
            ASSERT_EQ(digests[i], alone.digest) << name_of(mode) << " " << burst[i].size();
        }
    }
}

TEST(DigestBurst, of_all_lengths_and_kinds_equals_its_frames_one_by_one) {
    std::mt19937 random(1);
    for (const Kinds kinds : {Kinds::kIpv4, Kinds::kIpv6, Kinds::kBoth, Kinds::kAny}) {
        for (std::size_t n = 0; n <= kMaxBurst; ++n) {
            std::vector<Bytes> burst;
            for (std::size_t i = 0; i < n; ++i) {
                burst.push_back(some_frame(kinds, random, some_length(random)));
            }
            for (const KeyMode mode : kModes) {
                ASSERT_NO_FATAL_FAILURE(expect_as_alone(burst, mode)) << n;
            }
        }
    }
}

// All frames are long or all short, except one of the other kind at each position.
TEST(DigestBurst, with_one_of_another_length_equals_its_frames_one_by_one) {
    std::mt19937 random(2);
    for (const auto& [most, one] : {std::pair<std::size_t, std::size_t>{20, 1400}, {1400, 20}}) {
        for (std::size_t at = 0; at <= kMaxBurst; ++at) {
            std::vector<Bytes> burst;
            for (std::size_t i = 0; i < kMaxBurst; ++i) {
                burst.push_back(some_frame(Kinds::kIpv4, random, i == at ? one : most));
            }
            ASSERT_NO_FATAL_FAILURE(expect_as_alone(burst, KeyMode::kPacket)) << at;
        }
    }
}

// Each length at which a whole burst may be treated as short.
TEST(DigestBurst, of_one_length_equals_its_frames_one_by_one) {
    std::mt19937 random(3);
    for (std::size_t length = 60; length <= 150; ++length) {
        std::vector<Bytes> burst;
        for (std::size_t i = 0; i < 5; ++i) {
            burst.push_back(some_frame(Kinds::kIpv4, random, length));
        }
        ASSERT_NO_FATAL_FAILURE(expect_as_alone(burst, KeyMode::kPacket)) << length;
    }
}

}  // namespace
}  // namespace unecho::packet
