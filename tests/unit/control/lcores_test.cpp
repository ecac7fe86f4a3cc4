// SPDX-License-Identifier: BSD-3-Clause
#include "eal/lcores.h"

#include <gtest/gtest.h>

#include "control/machine.h"

namespace unecho::eal {
namespace {

TEST(MainLcore, on_a_cpu_of_its_own_has_its_number) {
    EXPECT_EQ(main_lcore_for(0, {1, 2}), 0U);
    EXPECT_EQ(main_lcore_for(5, {}), 5U);
}

TEST(MainLcore, on_a_worker_s_cpu_has_the_highest_number_that_is_free) {
    EXPECT_EQ(main_lcore_for(0, {0}), 127U);
    EXPECT_EQ(main_lcore_for(1, {0, 1, 127}), 126U);
    EXPECT_EQ(main_lcore_for(127, {127, 126, 125}), 124U);
}

TEST(LcoreMap, names_the_main_lcore_first_and_each_worker_by_its_cpu) {
    EXPECT_EQ(lcore_map(0, 0, {1}), "0@0,1@1");
    EXPECT_EQ(lcore_map(127, 0, {0, 1}), "127@0,0@0,1@1");
    EXPECT_EQ(lcore_map(2, 2, {7, 5, 6}), "2@2,7@7,5@5,6@6");
}

TEST(Machine, names_at_least_the_cpu_that_this_runs_on) {
    const control::Machine machine = control::Machine::detect();
    EXPECT_FALSE(machine.cpus.empty());
    EXPECT_TRUE(std::is_sorted(machine.cpus.begin(), machine.cpus.end()));
    EXPECT_EQ(std::adjacent_find(machine.cpus.begin(), machine.cpus.end()), machine.cpus.end());
    EXPECT_FALSE(machine.may_differ);
}

}  // namespace
}  // namespace unecho::eal
