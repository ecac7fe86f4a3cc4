// SPDX-License-Identifier: BSD-3-Clause
// Initialises DPDK once: unprivileged, no hugepages, no devices except rings that tests make.
#include <cstdio>
#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include "appliance/eal/lcores.h"
#include "appliance/eal/ports/mempool.h"
#include "appliance/eal/session.h"
#include "appliance/plan/machine.h"
#include "mbufs.h"

namespace unecho::test {
namespace {

class Dpdk : public testing::Environment {
  public:
    static eal::Mempool& pool() {
        static eal::Mempool instance;
        return instance;
    }

    void SetUp() override {
        // One lcore: the test thread, on any CPU that it may use.
        const LcoreId cpu = appliance::Machine::detect().cpus.front();
        eal::SessionOptions options;
        options.program = "eal_test";
        options.args = {"--no-huge", "--no-shconf", "-m", "256", "--no-telemetry"};
        options.main_lcore = cpu;
        options.lcores = eal::lcore_map(cpu, cpu, {});
        auto session = eal::Session::open(options);
        ASSERT_TRUE(session) << session.error().context;
        session_.emplace(std::move(*session));
        auto made = eal::make_mempool({"test_packets", 16383, 128 + kSegmentRoom, -1, true});
        ASSERT_TRUE(made) << made.error().context;
        pool() = std::move(*made);
    }

    void TearDown() override {
        pool().reset();
        session_.reset();
    }

  private:
    std::optional<eal::Session> session_;
};

}  // namespace

rte_mempool* packet_pool() {
    return Dpdk::pool().get();
}

}  // namespace unecho::test

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    testing::AddGlobalTestEnvironment(new unecho::test::Dpdk);
    return RUN_ALL_TESTS();
}
