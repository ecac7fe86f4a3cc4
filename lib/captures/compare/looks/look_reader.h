// SPDX-License-Identifier: BSD-3-Clause
// Reads the looks of one input: packets, digests, flows, and what may change on the way. Several
// readers may run at the same time, each on a thread of its own.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "captures/compare/looks/flow.h"
#include "captures/compare/looks/look.h"
#include "captures/record.h"
#include "captures/source.h"
#include "dedup/pipeline/burst.h"
#include "filters/hash/secret.h"
#include "packets/keys/key_spec.h"

namespace unecho::compare {

// The sample of all keys that is compared. It holds a key with probability 2^-bits, and is the same
// for all inputs, so a packet is compared at all points or at none.
class KeySample {
  public:
    static constexpr unsigned kMaxBits = 40;

    [[nodiscard]] unsigned bits() const { return bits_.load(std::memory_order_relaxed); }
    [[nodiscard]] static bool holds(Digest digest, unsigned bits) {
        constexpr std::uint64_t kSalt = 0x70617468;
        return bits == 0 || remix(digest, kSalt) >> (64U - bits) == 0;
    }
    void raise(unsigned bits) {
        unsigned now = this->bits();
        while (now < bits && !bits_.compare_exchange_weak(now, bits)) {
        }
    }

  private:
    std::atomic<unsigned> bits_{0};
};

// The packets of a point of observation, compared or not.
struct PointCounts {
    std::uint64_t packets = 0;
    std::uint64_t keyless = 0;  // malformed, so there is nothing to compare
    std::uint64_t cut = 0;      // captured short
    Nanoseconds first = 0;
    Nanoseconds last = 0;
    Nanoseconds tick = 1;
    std::uint32_t interface = 0;  // in the capture, if each is a point
    std::string name;             // of the interface
};

struct ReaderOptions {
    packet::KeySpec key;
    hash::Secret secret;
    std::uint64_t memory = 0;  // of this input, for looks and flows
    bool interfaces_are_points = false;
    bool nat = false;  // compute Look::content
};

class LookReader {
  public:
    LookReader(const ReaderOptions& options, std::size_t input, LookStore& looks,
               KeySample& sample);

    using OnBatch = std::function<void(const capture::Source::Progress&)>;
    Status read(capture::Source& source, const OnBatch& on_batch);

    // Keep only what is in the final sample. Call it when all inputs are read.
    void settle() { thin(sample_.bits()); }

    [[nodiscard]] const FlowTable& flows() const { return flows_; }
    // The points that showed packets, in the order of their first packets. Look::point is an index
    // of them, and kMostNumbers for all that come after so many.
    [[nodiscard]] const std::vector<PointCounts>& points() const { return points_; }
    static constexpr std::size_t kMostNumbers = 255;
    [[nodiscard]] std::vector<capture::Warning> warnings() const { return warnings_; }

  private:
    void add(std::span<const capture::Record> records,
             std::span<const capture::Interface> interfaces);
    void fill(std::span<const capture::Record> records);
    std::size_t point_of(std::uint32_t interface);
    static void count(const capture::Record& record, const capture::Interface& interface,
                      PointCounts& counts);
    void look_at(const capture::Record& record, unsigned i, std::size_t point);
    [[nodiscard]] packet::Parsed innermost_at(unsigned i, Look& look) const;
    std::uint32_t flow_at(unsigned i);
    void thin(unsigned bits);
    [[nodiscard]] bool is_full() const;
    [[nodiscard]] static bool holds(const Look& look, Digest content, unsigned bits) {
        return KeySample::holds(content == 0 ? look.digest : content, bits);
    }

    ReaderOptions options_;
    std::size_t input_;
    LookStore& looks_;
    KeySample& sample_;
    unsigned bits_ = 0;
    FlowTable flows_;
    std::vector<PointCounts> points_;
    std::vector<std::uint32_t>
        numbers_;  // of points, by interface; kNoPoint before its first packet
    std::vector<packet::LinkType> links_;  // by interface
    std::vector<capture::Warning> warnings_;
    pipeline::Burst burst_;
    packet::KeyMasks flow_keys_;
    std::array<Digest, kMaxBurst> flow_digests_{};
    std::uint64_t identified_ = 0;
};

}  // namespace unecho::compare
