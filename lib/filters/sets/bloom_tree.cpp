// SPDX-License-Identifier: BSD-3-Clause
#include "filters/sets/bloom_tree.h"

#include <cstring>

#include "base/assert.h"
#include "filters/bits.h"

namespace unecho::filter {

BloomTree::BloomTree(const BloomTreeParams& params,
                     std::span<const std::span<std::byte>> nodes) noexcept
    : params_(params), nodes_(nodes) {
    UNECHO_ASSERT(nodes_.size() == params_.nodes());
    for (unsigned level = 0; level < params_.levels(); ++level) {
        for (unsigned node = params_.first_node(level); node < params_.first_node(level + 1);
             ++node) {
            UNECHO_ASSERT(nodes_[node].size() >= node_bytes(params_, level));
        }
    }
}

BloomTree::Hashes BloomTree::hashes_of(Digest digest) const noexcept {
    Hashes hashes;
    for (unsigned i = 0; i < params_.k(); ++i) {
        hashes[i] = remix(digest, i + 1);
    }
    return hashes;
}

bool BloomTree::matches(const Hashes& hashes, unsigned level, unsigned node) const noexcept {
    for (unsigned i = 0; i < params_.k(); ++i) {
        if (!test_bit(nodes_[node].data(), reduce(hashes[i], params_.m(level)))) {
            return false;
        }
    }
    return true;
}

void BloomTree::set(const Hashes& hashes, unsigned level, unsigned node) noexcept {
    for (unsigned i = 0; i < params_.k(); ++i) {
        set_bit(nodes_[node].data(), reduce(hashes[i], params_.m(level)));
    }
}

void BloomTree::search(const Hashes& hashes, unsigned level, unsigned node, Found& found) noexcept {
    ++counters_.messages;
    if (!matches(hashes, level, node)) {
        return;
    }
    if (level + 1 == params_.levels()) {
        if (found.count < found.sites.size()) {
            found.sites[found.count] = node - params_.first_node(level);
        }
        ++found.count;
        return;
    }
    for (unsigned child = 1; child <= params_.fanout(); ++child) {
        search(hashes, level + 1, params_.fanout() * node + child, found);
    }
}

unsigned BloomTree::locate(Digest digest, std::span<unsigned> sites) noexcept {
    Found found{.sites = sites};
    search(hashes_of(digest), 0, 0, found);
    return found.count;
}

unsigned BloomTree::node_on_way(unsigned level, unsigned site) const noexcept {
    unsigned index = site;
    for (unsigned below = level + 1; below < params_.levels(); ++below) {
        index /= params_.fanout();
    }
    return params_.first_node(level) + index;
}

void BloomTree::set_way(const Hashes& hashes, unsigned site) noexcept {
    UNECHO_ASSERT(site < params_.sites());
    for (unsigned level = 0; level < params_.levels(); ++level) {
        set(hashes, level, node_on_way(level, site));
    }
    counters_.messages += params_.levels();
    ++counters_.insertions;
}

void BloomTree::insert(unsigned site, Digest digest) noexcept {
    set_way(hashes_of(digest), site);
}

// Every node on the way returns its state before the insertion. A matching node that was reached
// queries its other children.
bool BloomTree::test_and_set_way(const Hashes& hashes, unsigned site) noexcept {
    Found found;
    unsigned level = 0;
    while (matches(hashes, level, node_on_way(level, site))) {
        const unsigned node = node_on_way(level, site);
        ++level;
        if (level == params_.levels()) {
            ++found.count;
            break;
        }
        for (unsigned child = 1; child <= params_.fanout(); ++child) {
            const unsigned other = params_.fanout() * node + child;
            if (other != node_on_way(level, site)) {
                search(hashes, level, other, found);
            }
        }
    }
    set_way(hashes, site);
    return found.count != 0;
}

bool BloomTree::test_and_insert(unsigned site, Digest digest) noexcept {
    const Hashes hashes = hashes_of(digest);
    if (params_.insertion() == TreeInsertion::kDense) {
        return test_and_set_way(hashes, site);
    }
    Found found;
    search(hashes, 0, 0, found);
    if (found.count == 0) {
        set_way(hashes, site);
    }
    return found.count != 0;
}

void BloomTree::clear() noexcept {
    for (unsigned level = 0; level < params_.levels(); ++level) {
        for (unsigned node = params_.first_node(level); node < params_.first_node(level + 1);
             ++node) {
            std::memset(nodes_[node].data(), 0, node_bytes(params_, level));
        }
    }
}

}  // namespace unecho::filter
