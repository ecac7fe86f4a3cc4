// SPDX-License-Identifier: BSD-3-Clause
#include "base/os/memory_node.h"

#include <array>
#include <climits>

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace unecho {
namespace {

constexpr int kMaxNodes = 1024;  // the kernel's own limit
constexpr int kWordBits = sizeof(unsigned long) * CHAR_BIT;

}  // namespace

PreferredNode::PreferredNode(int node) noexcept {
    if (node < 0 || node >= kMaxNodes) {
        return;
    }
    std::array<unsigned long, kMaxNodes / kWordBits> nodes{};
    nodes.at(static_cast<unsigned>(node / kWordBits)) = 1UL << (node % kWordBits);
    // The kernel evaluates one bit less than the given number.
    set_ = syscall(SYS_set_mempolicy, MPOL_PREFERRED, nodes.data(), kMaxNodes + 1) == 0;
}

PreferredNode::~PreferredNode() {
    if (set_) {
        syscall(SYS_set_mempolicy, MPOL_DEFAULT, nullptr, 0);
    }
}

}  // namespace unecho
