// SPDX-License-Identifier: BSD-3-Clause
// A Bloom tree under test, with its expected number of messages counted from the definition. Each
// node's memory is an allocation of exactly the requested size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "filters/sets/bloom_tree.h"

namespace unecho::test {

class Tree {
  public:
    explicit Tree(const filter::BloomTreeSpec& spec)
        : params(*filter::BloomTreeParams::make(spec)),
          memory_(make_memory(params)),
          spans_(memory_.begin(), memory_.end()),
          tree(params, spans_) {}
    Tree(const Tree&) = delete;
    Tree& operator=(const Tree&) = delete;

    // Return the number of messages that one operation sends.
    template <typename Operation>
    std::uint64_t messages_of(Operation operation) {
        const std::uint64_t before = tree.counters().messages;
        operation();
        return tree.counters().messages - before;
    }

    [[nodiscard]] const std::vector<std::byte>& node(unsigned number) const {
        return memory_[number];
    }

  private:
    static std::vector<std::vector<std::byte>> make_memory(const filter::BloomTreeParams& params) {
        std::vector<std::vector<std::byte>> memory;
        for (unsigned level = 0; level < params.levels(); ++level) {
            for (unsigned i = params.first_node(level); i < params.first_node(level + 1); ++i) {
                memory.emplace_back(filter::BloomTree::node_bytes(params, level));
            }
        }
        return memory;
    }

  public:
    filter::BloomTreeParams params;

  private:
    std::vector<std::vector<std::byte>> memory_;
    std::vector<std::span<std::byte>> spans_;

  public:
    filter::BloomTree tree;
};

// Counts of inner nodes that match and whose ancestors all match: on the path to a site (P) and off
// it (Q). Also the sites whose leaves are reached and match.
struct Reached {
    std::uint64_t on_way = 0;
    std::uint64_t off_way = 0;
    std::vector<unsigned> sites;
};

inline Reached reached(const filter::BloomTreeParams& params, unsigned site,
                       const std::function<bool(unsigned node)>& match) {
    std::vector<bool> way(params.nodes());
    for (unsigned node = params.first_node(params.levels() - 1) + site;;
         node = (node - 1) / params.fanout()) {
        way[node] = true;
        if (node == 0) {
            break;
        }
    }
    Reached result;
    std::vector<bool> open(params.nodes());
    for (unsigned node = 0; node < params.nodes(); ++node) {
        open[node] = match(node) && (node == 0 || open[(node - 1) / params.fanout()]);
        if (!open[node]) {
            continue;
        }
        if (node >= params.first_node(params.levels() - 1)) {
            result.sites.push_back(node - params.first_node(params.levels() - 1));
        } else {
            ++(way[node] ? result.on_way : result.off_way);
        }
    }
    return result;
}

}  // namespace unecho::test
