// SPDX-License-Identifier: BSD-3-Clause
// On which NUMA node the kernel takes memory that is touched first.
#pragma once

namespace unecho {

// As long as this, of this thread: on the given node if there is room; any where node is negative
// or the kernel has no such call.
class PreferredNode {
  public:
    explicit PreferredNode(int node) noexcept;
    ~PreferredNode();
    PreferredNode(const PreferredNode&) = delete;
    PreferredNode& operator=(const PreferredNode&) = delete;
    PreferredNode(PreferredNode&&) = delete;
    PreferredNode& operator=(PreferredNode&&) = delete;

  private:
    bool set_ = false;
};

}  // namespace unecho
