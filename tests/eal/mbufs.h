// SPDX-License-Identifier: BSD-3-Clause
// Packet buffers for tests: made from bytes, cut into segments at any offset, and read back.
#pragma once

#include <cstddef>
#include <vector>

#include <gtest/gtest.h>
#include <rte_mbuf.h>

#include "support/packet_builder.h"

namespace unecho::test {

// One pool for the process; main.cpp makes and frees it.
rte_mempool* packet_pool();

inline constexpr std::size_t kSegmentRoom = 2048;

// Make a packet. A new segment begins at each of the given offsets (ascending; equal ones make
// empty segments), and where a segment is full.
rte_mbuf* make_mbuf(const Bytes& bytes, const std::vector<std::size_t>& cuts = {});

Bytes bytes_of(const rte_mbuf* mbuf);

// Checks that every buffer that a test took from the pool is back at its end.
class EalTest : public testing::Test {
  protected:
    void SetUp() override { available_ = rte_mempool_avail_count(packet_pool()); }
    void TearDown() override {
        EXPECT_EQ(rte_mempool_avail_count(packet_pool()), available_) << "packets leaked";
    }

  private:
    unsigned available_ = 0;
};

}  // namespace unecho::test
