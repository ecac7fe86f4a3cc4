// SPDX-License-Identifier: BSD-3-Clause
// What sites share of the flows they have seen, and where in a Redis Cluster it lies.
//
// A flow is a fingerprint of `width` bytes in one of `pages` lists ("pages"), each of which is a
// key of Redis for every generation, with an expiry: the window slides by itself. Pages are shared
// out over kTags hash tags, whose slots are spread evenly: the horizontal slices of paper
// "distributed", section 3.1, so that each master of the cluster has an equal part. All of a page's
// generations lie in one slot, and are asked in one call (redis_function.h).
//
// A generation lasts window / kGenerations; a flow is known in its own and the kGenerations behind
// it, so for at least a window and at most window + span. What is found by accident: each of the
// fingerprints compared is another flow's with 2^-8width (docs/decisions/0016-root.md says why
// these are no Bloom filters).
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

namespace unecho::root {

inline constexpr unsigned kGenerations = 3;
inline constexpr unsigned kTags = 48;
inline constexpr unsigned kSlots = 16384;          // of every Redis Cluster
inline constexpr std::uint64_t kPageFlows = 512;   // planned in one generation of a page
inline constexpr std::uint64_t kMaxPageFlows = 8;  // times that: no more are taken

// CRC-16/XMODEM of what stands between the first { and the next }, of all where there is nothing.
[[nodiscard]] unsigned slot_of(std::string_view key);

struct LayoutSpec {
    std::string name;
    Nanoseconds window = 0;   // whole milliseconds count
    std::uint64_t flows = 0;  // new ones of a window, all sites together
    double bound = 0;         // chance of an accident for a flow, at most, with so many
    bool refresh = false;     // what is asked for is known anew from then on
    std::string key;          // what a flow is; sites must agree on it
};

// Which page a flow is in, and what it is there.
struct PagePosition {
    std::uint32_t tag = 0;
    std::uint32_t page = 0;
    std::array<char, 8> print{};  // the first `width` bytes
};

class Layout {
  public:
    static constexpr Nanoseconds kMinWindow = kSecond;
    // secret: which all sites have, and nobody else.
    static Result<Layout> make(const LayoutSpec& spec, const hash::ChachaKey& secret);

    [[nodiscard]] const LayoutSpec& spec() const { return spec_; }
    [[nodiscard]] unsigned width() const { return width_; }
    [[nodiscard]] std::uint64_t pages() const { return pages_; }
    [[nodiscard]] std::uint64_t span_ms() const { return span_ms_; }
    // What a flow's page and fingerprint are made of tells nothing about its digest, nor the
    // secret.
    [[nodiscard]] PagePosition place_of(Digest digest) const noexcept;
    // Keys of pages begin with this one, which holds text().
    [[nodiscard]] const std::string& tag(std::size_t i) const { return tags_[i]; }
    [[nodiscard]] unsigned slot(std::size_t tag) const { return slots_[tag]; }
    // What all sites have to have in common, in words; of the secret a word that tells it apart.
    [[nodiscard]] const std::string& text() const { return text_; }
    // Of an accident, for a flow that was compared with so many others.
    [[nodiscard]] double chance(std::uint64_t compared) const;
    // When all sites have the planned flows, in Redis; without what Redis itself needs.
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

// By which packets are hashed for the root, the same at all sites.
[[nodiscard]] hash::Secret digest_secret(const hash::ChachaKey& secret) noexcept;

// A file of 64 hexadecimal digits that only its owner may read.
Result<hash::ChachaKey> read_secret(const std::string& path);
// The first line of a file that only its owner may read.
Result<std::string> read_password(const std::string& path);

}  // namespace unecho::root
