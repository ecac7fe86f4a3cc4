// SPDX-License-Identifier: BSD-3-Clause
#include "base/os/memory_node.h"

#include <array>
#include <optional>

#include <gtest/gtest.h>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace unecho {
namespace {

struct Policy {
    int mode = -1;
    std::array<unsigned long, 16> nodes{};
    bool operator==(const Policy&) const = default;
};

std::optional<Policy> policy() {
    Policy out;
    if (syscall(SYS_get_mempolicy, &out.mode, out.nodes.data(), 1025, nullptr, 0) != 0) {
        return std::nullopt;
    }
    return out;
}

TEST(PreferredNode, is_the_thread_s_as_long_as_it_is_there) {
    const auto before = policy();
    if (!before) {
        GTEST_SKIP() << "the kernel tells no policy of memory";
    }
    {
        const PreferredNode node(0);
        const auto present = policy();
        ASSERT_TRUE(present);
        EXPECT_EQ(present->mode, MPOL_PREFERRED);
        EXPECT_EQ(present->nodes[0], 1U);
    }
    EXPECT_EQ(policy(), before);
}

TEST(PreferredNode, that_there_is_not_changes_nothing) {
    const auto before = policy();
    if (!before) {
        GTEST_SKIP() << "the kernel tells no policy of memory";
    }
    for (const int node : {-1, 1023, 1024, 1 << 20}) {
        const PreferredNode none(node);
        EXPECT_EQ(policy(), before) << node;
    }
}

}  // namespace
}  // namespace unecho
