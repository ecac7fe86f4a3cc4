// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/watchdog/cpu_budget.h"

#include <gtest/gtest.h>

namespace unecho::appliance {
namespace {

TEST(CpuBudget, IsDueForARestAfterAStintOfWork) {
    CpuBudget budget;
    budget.worked(CpuBudget::kStint - 1);
    EXPECT_FALSE(budget.rest_due());
    budget.worked(1);
    EXPECT_TRUE(budget.rest_due());
    budget.slept(CpuBudget::kRest);
    EXPECT_FALSE(budget.rest_due());
}

TEST(CpuBudget, CountsEverySleepAndSavesNoneUp) {
    CpuBudget budget;
    budget.slept(kSecond);
    budget.worked(CpuBudget::kStint);
    EXPECT_TRUE(budget.rest_due());
    budget.slept(1);
    EXPECT_FALSE(budget.rest_due());
    for (int i = 0; i < 1000; ++i) {  // asleep for a fifth of the time
        budget.worked(40 * kMicrosecond);
        budget.slept(10 * kMicrosecond);
        ASSERT_FALSE(budget.rest_due());
    }
    for (int i = 0; i < 100; ++i) {  // asleep for less than that
        budget.worked(40 * kMicrosecond);
        budget.slept(5 * kMicrosecond);
    }
    EXPECT_TRUE(budget.rest_due());
}

}  // namespace
}  // namespace unecho::appliance
