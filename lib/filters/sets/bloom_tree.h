// SPDX-License-Identifier: BSD-3-Clause
// Bloom tree: sites are the leaves of a complete tree, each with a filter of the digests seen
// there. An inner node has a filter of the digests of all sites below it. A digest is an echo if a
// path of matching nodes leads from the root to a leaf. What one site has seen is an echo at all.
//
// Guarantee: a digest inserted at any site is an echo, and locate() names that site. Cost: nodes
// are queried from the root down, all children of a matching node at a time, with one
//   message to each node. Let d be the fanout, L the levels, and M the number of inner nodes that
//   are reached and match (a node is reached if all nodes above it match). A query sends 1 + d M
//   messages: one for a new digest, 1 + d (L - 1) for one of a single site. An insertion sends L,
//   to every node on the way to its site. Sparse insertion: first test, then set if the digest is
//   new: the messages of a query, and L more if new. Echoes leave no trace, so filters stay sparse,
//   and a digest is found at its first site only. Dense insertion: test-and-set in every node on
//   the way: L + (d - 1) P + d Q, where M = P + Q, P on the way and Q off it. A new digest costs L,
//   but echoes also fill the filters on their way. A digest is found at every site that saw it.
//   These counts treat false positives of nodes as matches.
// Accuracy: a false positive needs a match at the root, at a leaf, and in between: at most the rate
//   of the root, and at most the sum of the rates of the leaves.
// Weakness: the root holds the digests of all sites, so it must be as large as one filter for all.
// References: One is enough: distributed filtering for duplicate elimination (Bloom trees). The
//   definitions of a message, and of which node queries which, are ours.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "filters/hash/digest.h"
#include "filters/sets/slices.h"

namespace unecho::filter {

inline constexpr unsigned kMaxTreeLevels = 8;
inline constexpr unsigned kMaxTreeNodes = 1U << 16;

enum class TreeInsertion : std::uint8_t { kSparse, kDense };

struct BloomTreeSpec {
    unsigned fanout = 0;                            // d, children of an inner node
    unsigned levels = 1;                            // L, levels of nodes: 1 is a single site
    unsigned k = 0;                                 // bits of a key
    std::array<std::uint64_t, kMaxTreeLevels> m{};  // bits of a node, by level from the root
    TreeInsertion insertion = TreeInsertion::kSparse;
};

class BloomTreeParams {
  public:
    static Result<BloomTreeParams> make(const BloomTreeSpec& spec);

    [[nodiscard]] unsigned fanout() const noexcept { return spec_.fanout; }
    [[nodiscard]] unsigned levels() const noexcept { return spec_.levels; }
    [[nodiscard]] unsigned k() const noexcept { return spec_.k; }
    [[nodiscard]] std::uint64_t m(unsigned level) const noexcept { return spec_.m[level]; }
    [[nodiscard]] TreeInsertion insertion() const noexcept { return spec_.insertion; }
    // Return the number of nodes above a level, which is the number of its first node. Nodes are
    // numbered from the root, level by level: node i has the children d i + 1 to d i + d.
    [[nodiscard]] unsigned first_node(unsigned level) const noexcept { return first_[level]; }
    [[nodiscard]] unsigned nodes() const noexcept { return first_[spec_.levels]; }
    [[nodiscard]] unsigned sites() const noexcept {
        return first_[spec_.levels] - first_[spec_.levels - 1];
    }

  private:
    BloomTreeParams(const BloomTreeSpec& spec,
                    const std::array<unsigned, kMaxTreeLevels + 1>& first) noexcept
        : spec_(spec), first_(first) {}
    BloomTreeSpec spec_;
    std::array<unsigned, kMaxTreeLevels + 1> first_;
};

struct TreeCounters {
    std::uint64_t insertions = 0;  // digests written, at any site
    std::uint64_t messages = 0;    // to nodes, by all operations
};

class BloomTree {
  public:
    // Memory of each node of a level; must be zeroed.
    [[nodiscard]] static std::size_t node_bytes(const BloomTreeParams& params,
                                                unsigned level) noexcept {
        return (params.m(level) + 7) / 8;
    }

    // nodes: the memory of all nodes, by number. The caller keeps the spans, too.
    BloomTree(const BloomTreeParams& params, std::span<const std::span<std::byte>> nodes) noexcept;

    bool query(Digest digest) noexcept { return locate(digest, {}) != 0; }
    // Return how many sites match. Write the first of them, by number, to `sites`.
    unsigned locate(Digest digest, std::span<unsigned> sites) noexcept;
    // Sites are numbered from 0.
    void insert(unsigned site, Digest digest) noexcept;
    // Do what `site` does with a digest, sparse or dense.
    bool test_and_insert(unsigned site, Digest digest) noexcept;
    void clear() noexcept;

    [[nodiscard]] const BloomTreeParams& params() const noexcept { return params_; }
    [[nodiscard]] const TreeCounters& counters() const noexcept { return counters_; }

  private:
    using Hashes = std::array<std::uint64_t, kMaxSlicedHashes>;

    struct Found {
        std::span<unsigned> sites;
        unsigned count = 0;
    };

    [[nodiscard]] Hashes hashes_of(Digest digest) const noexcept;
    [[nodiscard]] bool matches(const Hashes& hashes, unsigned level, unsigned node) const noexcept;
    void set(const Hashes& hashes, unsigned level, unsigned node) noexcept;
    // Query a node and, if it matches, all nodes below it, by recursion.
    void search(const Hashes& hashes, unsigned level, unsigned node, Found& found) noexcept;
    void set_way(const Hashes& hashes, unsigned site) noexcept;
    bool test_and_set_way(const Hashes& hashes, unsigned site) noexcept;
    // Return the node of a level on the way to a site.
    [[nodiscard]] unsigned node_on_way(unsigned level, unsigned site) const noexcept;

    BloomTreeParams params_;
    std::span<const std::span<std::byte>> nodes_;
    TreeCounters counters_;
};

}  // namespace unecho::filter
