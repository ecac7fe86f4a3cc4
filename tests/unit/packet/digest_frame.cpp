// SPDX-License-Identifier: BSD-3-Clause
#include "digest_frame.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace unecho::packet {

const hash::Secret& test_secret() {
    static const hash::Secret kSecret = hash::secret_from_seed(20260101);
    return kSecret;
}

ExactFrame::ExactFrame(std::span<const std::uint8_t> bytes)
    : data_(new std::uint8_t[bytes.size()]), length_(static_cast<std::uint32_t>(bytes.size())) {
    std::copy(bytes.begin(), bytes.end(), data_.get());
}

Digested digest_of(KeyMode mode, std::span<const std::uint8_t> bytes, Link link) {
    const ExactFrame exact(bytes);
    const Frame frame = exact.frame();
    Digest digest = 0;
    const KeyMasks masks = digest_burst(mode, link, {&frame, 1}, test_secret(), &digest);
    EXPECT_EQ(masks.keyed + masks.non_ip + masks.malformed, 1U);
    const test::KeyOutcome outcome = masks.keyed != 0    ? test::KeyOutcome::kKeyed
                                     : masks.non_ip != 0 ? test::KeyOutcome::kNonIp
                                                         : test::KeyOutcome::kMalformed;
    return {outcome, digest};
}

Digest non_ip_digest_of(std::span<const std::uint8_t> bytes, Link link) {
    const ExactFrame exact(bytes);
    const Frame frame = exact.frame();
    Digest digest = 0;
    KeyMasks masks = digest_burst(KeyMode::kPacket, link, {&frame, 1}, test_secret(), &digest);
    if (masks.non_ip == 0) {
        return 0;
    }
    digest_non_ip(link, {&frame, 1}, test_secret(), &digest, masks);
    EXPECT_EQ(masks.keyed + masks.non_ip, 1U);
    EXPECT_EQ(masks.malformed, 0U);
    return masks.keyed != 0 ? digest : 0;
}

Digest owner_of(std::span<const std::uint8_t> bytes, Link link) {
    const ExactFrame exact(bytes);
    return owner_digest(link, exact.frame(), test_secret());
}

}  // namespace unecho::packet
