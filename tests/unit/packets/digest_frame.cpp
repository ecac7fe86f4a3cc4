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

KeyMasks parse_and_digest(KeyMode mode, LinkType link, std::span<const Frame> frames,
                          const hash::Secret& secret, Digest* digests) {
    ParsedBurst parsed;
    parse_burst(link, frames, parsed);
    return digest_burst(mode, frames, parsed, secret, digests);
}

Digested digest_of(KeyMode mode, std::span<const std::uint8_t> bytes, LinkType link) {
    const ExactFrame exact(bytes);
    const Frame frame = exact.frame();
    Digest digest = 0;
    const KeyMasks masks = parse_and_digest(mode, link, {&frame, 1}, test_secret(), &digest);
    EXPECT_EQ(masks.keyed + masks.non_ip + masks.malformed, 1U);
    const KeyOutcome outcome = masks.keyed != 0    ? KeyOutcome::kKeyed
                               : masks.non_ip != 0 ? KeyOutcome::kNonIp
                                                   : KeyOutcome::kMalformed;
    return {outcome, digest};
}

Digest digest_of(const KeySpec& key, std::span<const std::uint8_t> bytes, LinkType link) {
    const ExactFrame exact(bytes);
    const Frame frame = exact.frame();
    Digest digest = 0;
    ParsedBurst parsed;
    DecapsulatedBurst opened;
    parse_innermost(key.tunnels, link, {&frame, 1}, parsed, opened);
    KeyMasks masks = digest_burst(key.mode, {&frame, 1}, parsed, test_secret(), &digest);
    if (key.checksums == Checksums::kFill) {
        fill_checksums({&frame, 1}, parsed, masks.keyed, test_secret(), &digest);
    }
    if (key.non_ip == NonIp::kFrame) {
        digest_non_ip(link, {&frame, 1}, test_secret(), &digest, masks);
    }
    add_tags(key, link, {&frame, 1}, parsed, opened, masks.keyed, test_secret(), &digest);
    return masks.keyed != 0 ? digest : 0;
}

Digest non_ip_digest_of(std::span<const std::uint8_t> bytes, LinkType link) {
    const ExactFrame exact(bytes);
    const Frame frame = exact.frame();
    Digest digest = 0;
    KeyMasks masks = parse_and_digest(KeyMode::kPacket, link, {&frame, 1}, test_secret(), &digest);
    if (masks.non_ip == 0) {
        return 0;
    }
    digest_non_ip(link, {&frame, 1}, test_secret(), &digest, masks);
    EXPECT_EQ(masks.keyed + masks.non_ip, 1U);
    EXPECT_EQ(masks.malformed, 0U);
    return masks.keyed != 0 ? digest : 0;
}

Digest owner_of(std::span<const std::uint8_t> bytes, LinkType link) {
    const ExactFrame exact(bytes);
    const Frame frame = exact.frame();
    ParsedBurst parsed;
    parse_burst(link, {&frame, 1}, parsed);
    Digest owner = 0;
    owner_digests(link, {&frame, 1}, parsed, test_secret(), &owner);
    return owner;
}

}  // namespace unecho::packet
