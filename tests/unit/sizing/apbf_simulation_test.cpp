// SPDX-License-Identifier: BSD-3-Clause
// The formulas of the age-partitioned filter compared with a simulation with random slice
// positions: rates at four phases of a generation, slack, accesses.
#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "filters/sizing/fpr.h"
#include "support/vectors.h"

namespace unecho::sizing::apbf_simulation_test {
namespace {

// Return the number of keys of ages l to l + k - 1 that still match, relative to the window's keys.
double slack_by_any_run(unsigned k, unsigned l, const Profile& r) {
    double sum = 0;
    for (unsigned age = 0; age < k; ++age) {
        sum += slack_match(k, l, r, age);
    }
    return sum / l;
}

double formula(const std::string& quantity, unsigned k, unsigned l, const Profile& r) {
    if (quantity == "fpr") {
        return false_positive_rate(k, l, r);
    }
    if (quantity == "peak_npws") {
        return slack_by_any_run(k, l, r);
    }
    if (quantity == "accesses_window") {
        return accesses_window(k, l, r);
    }
    EXPECT_EQ(quantity, "false_negatives_in_window");
    return 0;
}

TEST(apbf_simulation, is_what_the_formulas_say) {
    constexpr double kErrors = 8;  // standard errors: successive states are correlated
    constexpr double kDigits = 1e-9;
    unsigned rows = 0;
    for (const test::Row& row : test::vectors("apbf_simulation")) {
        const unsigned k = row.whole("k");
        const unsigned l = row.whole("l");
        // The simulation rounds to whole keys.
        const double phase = std::nearbyint(row.real("phase") * row.real("g")) / row.real("g");
        const Profile r = fills(k, l, row.whole("m"), row.whole("g"), phase);
        const std::string& quantity = row.text("quantity");
        const double expected = formula(quantity, k, l, r);
        const std::string where = quantity + " " + std::to_string(k) + " " + std::to_string(l) +
                                  " at " + row.text("phase");
        EXPECT_NEAR(row.real("formula_1-(1-1/m)^n_fill"), expected, kDigits * expected) << where;
        EXPECT_NEAR(row.real("simulated"), expected,
                    kErrors * row.real("simulated_stderr") + 0.002 * expected)
            << where;
        ++rows;
    }
    EXPECT_GE(rows, 10U);
}

}  // namespace
}  // namespace unecho::sizing::apbf_simulation_test
