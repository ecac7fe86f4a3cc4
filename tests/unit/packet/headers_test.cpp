// SPDX-License-Identifier: BSD-3-Clause
#include "packets/headers.h"

#include <array>

#include <gtest/gtest.h>

namespace unecho::packet {
namespace {

constexpr std::array<std::uint8_t, 17> kBytes{0xFF, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,
                                              0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x0E, 0x0F, 0x10};

TEST(Loads, unaligned_bytes_come_in_network_order) {
    const std::uint8_t* p = kBytes.data() + 1;
    EXPECT_EQ(load_be16(p), 0x0102);
    EXPECT_EQ(load_be32(p), 0x0102'0304U);
    EXPECT_EQ(load_be64(p), 0x0102'0304'0506'0708U);
    EXPECT_EQ(static_cast<std::uint64_t>(load_be128(p) >> 64), 0x0102'0304'0506'0708U);
    EXPECT_EQ(static_cast<std::uint64_t>(load_be128(p)), 0x090A'0B0C'0D0E'0F10U);
}

TEST(Loads, little_endian_has_the_first_byte_lowest) {
    EXPECT_EQ(load_le64(kBytes.data() + 1), 0x0807'0605'0403'0201U);
}

}  // namespace
}  // namespace unecho::packet
