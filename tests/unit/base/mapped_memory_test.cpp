// SPDX-License-Identifier: BSD-3-Clause
#include "base/os/mapped_memory.h"

#include <algorithm>
#include <cerrno>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace unecho {
namespace {

using Touch = MappedMemory::Touch;

std::size_t page_bytes() {
    return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// Return the number of pages that are resident.
std::size_t resident(std::span<std::byte> bytes) {
    std::vector<unsigned char> pages((bytes.size() + page_bytes() - 1) / page_bytes());
    EXPECT_EQ(mincore(bytes.data(), bytes.size(), pages.data()), 0);
    return static_cast<std::size_t>(
        std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return page & 1U; }));
}

TEST(MappedMemory, is_zeroed_aligned_and_the_owners) {
    for (const Touch touch : {Touch::kLater, Touch::kNow}) {
        for (const std::size_t bytes : {std::size_t{1}, std::size_t{4096}, std::size_t{3} << 20}) {
            auto memory = MappedMemory::make(bytes, touch);
            ASSERT_TRUE(memory) << memory.error().context;
            const std::span<std::byte> span = memory->bytes();
            ASSERT_EQ(span.size(), bytes);
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(span.data()) % 64, 0U);
            EXPECT_TRUE(std::all_of(span.begin(), span.end(),
                                    [](std::byte b) { return b == std::byte{0}; }));
            span.back() = std::byte{1};
            const MappedMemory moved = std::move(*memory);
            EXPECT_EQ(moved.bytes().data(), span.data());
            EXPECT_EQ(moved.bytes().back(), std::byte{1});
        }
    }
}

TEST(MappedMemory, is_given_back_when_another_takes_its_place) {
    auto first = MappedMemory::make(page_bytes(), Touch::kNow);
    ASSERT_TRUE(first);
    std::byte* const at = first->bytes().data();
    unsigned char page = 0;
    EXPECT_EQ(mincore(at, page_bytes(), &page), 0);
    {
        const MappedMemory last = std::move(*first);
        EXPECT_EQ(mincore(at, page_bytes(), &page), 0);
    }
    EXPECT_EQ(mincore(at, page_bytes(), &page), -1);
    EXPECT_EQ(errno, ENOMEM);
}

TEST(MappedMemory, takes_room_when_it_was_said) {
    const std::size_t pages = 64;
    const auto later = MappedMemory::make(pages * page_bytes(), Touch::kLater);
    const auto now = MappedMemory::make(pages * page_bytes(), Touch::kNow);
    ASSERT_TRUE(later && now);
    EXPECT_EQ(resident(later->bytes()), 0U);
    EXPECT_EQ(resident(now->bytes()), pages);
    later->bytes()[page_bytes()] = std::byte{1};
    EXPECT_GE(resident(later->bytes()), 1U);
}

TEST(MappedMemory, that_no_machine_has_is_an_error) {
    for (const Touch touch : {Touch::kLater, Touch::kNow}) {
        const auto memory = MappedMemory::make(std::size_t{1} << 60, touch);
        ASSERT_FALSE(memory);
        EXPECT_EQ(memory.error().code, Errc::kNoMemory);
        EXPECT_EQ(memory.error().context, "Cannot allocate memory");
    }
}

}  // namespace
}  // namespace unecho
