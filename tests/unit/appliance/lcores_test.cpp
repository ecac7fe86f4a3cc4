// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/eal/lcores.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "appliance/plan/machine.h"
#include "unit/appliance/plans.h"

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
    const appliance::Machine machine = appliance::Machine::detect();
    EXPECT_FALSE(machine.cpus.empty());
    EXPECT_TRUE(std::is_sorted(machine.cpus.begin(), machine.cpus.end()));
    EXPECT_EQ(std::adjacent_find(machine.cpus.begin(), machine.cpus.end()), machine.cpus.end());
    EXPECT_FALSE(machine.is_other_host);
    EXPECT_TRUE(std::includes(machine.cpus.begin(), machine.cpus.end(), machine.scheduled.begin(),
                              machine.scheduled.end()));
}

TEST(Machine, reads_the_kernel_s_lists_of_cpus) {
    using Cpus = std::vector<LcoreId>;
    EXPECT_EQ(appliance::cpu_list(""), Cpus{});
    EXPECT_EQ(appliance::cpu_list("3"), Cpus{3});
    EXPECT_EQ(appliance::cpu_list("0-2,5,7-8"), (Cpus{0, 1, 2, 5, 7, 8}));
    EXPECT_EQ(appliance::cpu_list("nonsense,4"), Cpus{4});
    EXPECT_EQ(appliance::cpu_list("5-"), Cpus{5});
}

// The window is shorter than a time slice that other threads may take on the worker's CPU.
TEST(Machine, on_whose_cpus_others_run_is_noted_for_short_windows) {
    config::Config config = appliance::taps_to_tool();
    config.workers.lcores = {{1, 2}};
    appliance::Machine machine = appliance::machine_with({0, 1, 2});
    const auto notes = [&] {
        auto all =
            appliance::plan_of(config, machine, appliance::all_of(config, appliance::nic())).notes;
        std::erase_if(all, [](const std::string& note) {
            return note.find("the kernel may keep") == std::string::npos;  // other notes
        });
        return all;
    };
    config.filters[0].window = 9 * kMillisecond;
    EXPECT_TRUE(notes().empty()) << "all are isolated";
    machine.scheduled = {0};
    EXPECT_TRUE(notes().empty()) << "those of the workers are";
    machine.scheduled = {0, 2};
    ASSERT_EQ(notes().size(), 1U);
    EXPECT_NE(notes()[0].find("\"echo\": the kernel may keep a worker from CPU 2"),
              std::string::npos)
        << notes()[0];
    EXPECT_NE(notes()[0].find("9 ms"), std::string::npos) << notes()[0];
    config.filters[0].window = 10 * kMillisecond;
    EXPECT_TRUE(notes().empty());
}

}  // namespace
}  // namespace unecho::eal
