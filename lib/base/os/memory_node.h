// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace unecho {

// While it exists, memory that this thread touches first comes from the given NUMA node if
// there is room. It has no effect if the node is negative or the kernel lacks the system call.
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
