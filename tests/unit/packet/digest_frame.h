// SPDX-License-Identifier: BSD-3-Clause
// The common way of these tests to digest a frame.
#pragma once

#include <memory>
#include <span>

#include "packets/keys/digests.h"

namespace unecho::packet {

inline constexpr KeyMode kModes[] = {KeyMode::kPacket, KeyMode::kFlow, KeyMode::kFlowBidir,
                                     KeyMode::kFrame};

// A frame in a block of exactly its size, so that a sanitizer sees the first byte read beyond it.
class ExactFrame {
  public:
    explicit ExactFrame(std::span<const std::uint8_t> bytes);
    [[nodiscard]] Frame frame() const { return {data_.get(), length_}; }

  private:
    std::unique_ptr<std::uint8_t[]> data_;
    std::uint32_t length_;
};

// Parses and digests a burst of one link type.
KeyMasks parse_and_digest(KeyMode mode, LinkType link, std::span<const Frame> frames,
                          const hash::Secret& secret, Digest* digests);

enum class KeyOutcome { kKeyed, kNonIp, kMalformed };

struct Digested {
    KeyOutcome outcome;
    Digest digest;  // 0 unless keyed
    bool operator==(const Digested&) const = default;
};

// A burst of one. Fails the test if the masks are anything but one bit of one of them.
Digested digest_of(KeyMode mode, std::span<const std::uint8_t> bytes,
                   LinkType link = LinkType::kEthernet);
// The same of a key, with all that may be part of it; of tunnels too. 0: it has none.
Digest digest_of(const KeySpec& key, std::span<const std::uint8_t> bytes,
                 LinkType link = LinkType::kEthernet);
// Of a frame that has no IP packet; 0 of any other.
Digest non_ip_digest_of(std::span<const std::uint8_t> bytes, LinkType link = LinkType::kEthernet);
Digest owner_of(std::span<const std::uint8_t> bytes, LinkType link = LinkType::kEthernet);

const hash::Secret& test_secret();

}  // namespace unecho::packet
