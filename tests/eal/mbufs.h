// SPDX-License-Identifier: BSD-3-Clause
// Packet buffers for tests: made of bytes, cut into segments anywhere, and read back.
#pragma once

#include <cstddef>
#include <vector>

#include <gtest/gtest.h>
#include <rte_mbuf.h>

#include "support/packet_builder.h"

namespace unecho::test {

// One for the process; made and freed by main.cpp.
rte_mempool* packet_pool();

inline constexpr std::size_t kSegmentRoom = 2048;

// Segments begin at the given offsets (ascending; equal ones make empty segments), and where one is
// full.
rte_mbuf* make_mbuf(const Bytes& bytes, const std::vector<std::size_t>& cuts = {});

Bytes bytes_of(const rte_mbuf* mbuf);

// Whatever a test takes from the pool must be back when it is over.
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
