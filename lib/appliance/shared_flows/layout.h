// SPDX-License-Identifier: BSD-3-Clause
// The place of a shared flow in a Redis Cluster.
//
// A flow is a fingerprint of `width` bytes in one of `pages` lists ("pages"). A page is a Redis key
// for each generation, with an expiry, so the window slides by itself. Pages are spread over kTags
// hash tags, whose slots are spread evenly, so each master has an equal part: the horizontal slices
// of paper "distributed", section 3.1. All generations of a page are in one slot and are read in
// one call (redis_function.h).
//
// A generation lasts window / kGenerations. A flow is known in its own generation and the
// kGenerations after it: for at least a window and at most window + span. A match may be an
// accident: each compared fingerprint is equal with a chance of 2^-8width.
// docs/decisions/0016-root.md says why these are no Bloom filters.
//
// May not: know Redis' protocol.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "filters/hash/chacha20.h"
#include "filters/hash/digest.h"
#include "filters/hash/secret.h"

namespace unecho::shared_flows {

inline constexpr unsigned kGenerations = 3;
inline constexpr unsigned kTags = 48;
inline constexpr unsigned kSlots = 16384;          // of every Redis Cluster
inline constexpr std::uint64_t kPageFlows = 512;   // planned for one generation of a page
inline constexpr std::uint64_t kMaxPageFlows = 8;  // times that: more are not recorded

// Return the slot of a key: CRC-16/XMODEM of what is between the first { and the next }, or of the
// whole key.
[[nodiscard]] unsigned slot_of(std::string_view key);

struct LayoutSpec {
    std::string name;
    Nanoseconds window = 0;   // in whole milliseconds
    std::uint64_t flows = 0;  // new ones in a window, all sites together
    double bound = 0;         // on the chance of an accident for a flow, at the planned flows
    bool refresh = false;     // a query renews a known flow
    std::string key;          // key of a flow; equal at all sites
};

// The page of a flow, and its fingerprint there.
struct PagePosition {
    std::uint32_t tag = 0;
    std::uint32_t page = 0;
    std::array<char, 8> print{};  // the first `width` bytes are used
};

class Layout {
  public:
    static constexpr Nanoseconds kMinWindow = kSecond;
    // secret: known to all sites and to nobody else.
    static Result<Layout> make(const LayoutSpec& spec, const hash::ChachaKey& secret);

    [[nodiscard]] const LayoutSpec& spec() const { return spec_; }
    [[nodiscard]] unsigned width() const { return width_; }
    [[nodiscard]] std::uint64_t pages() const { return pages_; }
    [[nodiscard]] std::uint64_t span_ms() const { return span_ms_; }
    // Return the place of a flow. It reveals nothing about the digest or the secret.
    [[nodiscard]] PagePosition place_of(Digest digest) const noexcept;
    // Return the hash tag that begins the keys of its pages. As a key of its own, it has text() as
    // value.
    [[nodiscard]] const std::string& tag(std::size_t i) const { return tags_[i]; }
    [[nodiscard]] unsigned slot(std::size_t tag) const { return slots_[tag]; }
    // Return what all sites must have in common, as text; a check word stands for the secret.
    [[nodiscard]] const std::string& text() const { return text_; }
    // Return the chance of an accident for a flow that was compared with so many fingerprints.
    [[nodiscard]] double chance(std::uint64_t compared) const;
    // Return the bytes in Redis for the planned flows of all sites, without Redis' own overhead.
    [[nodiscard]] std::uint64_t planned_bytes() const;

  private:
    Layout(const LayoutSpec& spec, const hash::ChachaKey& secret);

    LayoutSpec spec_;
    hash::ChachaKey secret_;
    unsigned width_ = 0;
    std::uint64_t pages_ = 0;
    std::uint64_t span_ms_ = 0;
    std::vector<std::string> tags_;
    std::vector<unsigned> slots_;
    std::string text_;
};

// Return the secret by which packets are hashed for the store, equal at all sites.
[[nodiscard]] hash::Secret digest_secret(const hash::ChachaKey& secret) noexcept;

// Read a file of 64 hexadecimal digits, which only its owner may read.
Result<hash::ChachaKey> read_secret(const std::string& path);
// Read the first line of a file that only its owner may read.
Result<std::string> read_password(const std::string& path);

}  // namespace unecho::shared_flows
