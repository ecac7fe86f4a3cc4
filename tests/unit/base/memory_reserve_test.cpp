// SPDX-License-Identifier: BSD-3-Clause
#include "base/os/memory_reserve.h"

#include <limits>
#include <new>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "support/sanitizers.h"

namespace unecho {
namespace {

// Request more memory than exists, so that every part of the reserve is given back in vain.
bool no_memory() {
    volatile std::size_t size = std::numeric_limits<std::ptrdiff_t>::max() / 2;
    try {
        ::operator delete(::operator new(size));
    } catch (const std::bad_alloc&) {
        return true;
    }
    return false;
}

class MemoryReserveTest : public testing::Test {
  protected:
    void SetUp() override {
#ifdef UNECHO_HAS_OWN_ALLOCATOR  // its operator new calls no new-handler
        GTEST_SKIP() << "a sanitizer's operator new";
#endif
    }
};

TEST_F(MemoryReserveTest, is_given_back_where_there_is_no_memory_but_for_the_last_part) {
    std::optional<MemoryReserve> reserve(std::in_place);
    EXPECT_EQ(reserve->left(), MemoryReserve::kParts);
    EXPECT_TRUE(no_memory());
    EXPECT_EQ(reserve->left(), 1U);
    EXPECT_TRUE(no_memory());
    EXPECT_EQ(reserve->left(), 1U);
    reserve.reset();
    EXPECT_TRUE(no_memory()) << "as everywhere else";
    reserve.emplace();
    EXPECT_EQ(reserve->left(), MemoryReserve::kParts) << "another one, another time";
}

TEST_F(MemoryReserveTest, keeps_the_last_part_for_what_runs_while_an_exception_leaves) {
    const MemoryReserve reserve;
    std::size_t left = MemoryReserve::kParts;
    struct AtEnd {
        const MemoryReserve& reserve;
        std::size_t& left;
        ~AtEnd() {
            no_memory();
            left = reserve.left();
        }
    };
    try {
        const AtEnd end{reserve, left};
        throw std::bad_alloc();
    } catch (const std::bad_alloc&) {
        EXPECT_EQ(left, 0U);
    }
}

TEST_F(MemoryReserveTest, is_of_its_thread_alone) {
    const MemoryReserve reserve;
    bool found_none = false;
    std::thread([&] { found_none = no_memory(); }).join();
    EXPECT_TRUE(found_none);
    EXPECT_EQ(reserve.left(), MemoryReserve::kParts);
}

}  // namespace
}  // namespace unecho
