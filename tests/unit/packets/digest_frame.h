// SPDX-License-Identifier: BSD-3-Clause
// Shared helpers to digest a frame in these tests.
#pragma once

#include <memory>
#include <span>

#include "packets/keys/digests.h"

namespace unecho::packet {

inline constexpr KeyMode kModes[] = {KeyMode::kPacket, KeyMode::kFlow, KeyMode::kFlowBidir,
                                     KeyMode::kFrame};

// A frame in a block of exactly its size, so that a sanitizer reports reads beyond it.
class ExactFrame {
  public:
    explicit ExactFrame(std::span<const std::uint8_t> bytes);
    [[nodiscard]] Frame frame() const { return {data_.get(), length_}; }

  private:
    std::unique_ptr<std::uint8_t[]> data_;
    std::uint32_t length_;
};

// Parse and digest a burst of one link type.
KeyMasks parse_and_digest(KeyMode mode, LinkType link, std::span<const Frame> frames,
                          const hash::Secret& secret, Digest* digests);

enum class KeyOutcome { kKeyed, kNonIp, kMalformed };

struct Digested {
    KeyOutcome outcome;
    Digest digest;  // 0 unless keyed
    bool operator==(const Digested&) const = default;
};

// Digest a burst of one frame. Fail the test unless exactly one bit of one mask is set.
Digested digest_of(KeyMode mode, std::span<const std::uint8_t> bytes,
                   LinkType link = LinkType::kEthernet);
// Digest a key with everything that may be part of it, including tunnels. 0: there is no key.
Digest digest_of(const KeySpec& key, std::span<const std::uint8_t> bytes,
                 LinkType link = LinkType::kEthernet);
// Return the digest of a frame without an IP packet; 0 for any other.
Digest non_ip_digest_of(std::span<const std::uint8_t> bytes, LinkType link = LinkType::kEthernet);
Digest owner_of(std::span<const std::uint8_t> bytes, LinkType link = LinkType::kEthernet);

const hash::Secret& test_secret();

}  // namespace unecho::packet
