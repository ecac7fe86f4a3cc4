// SPDX-License-Identifier: BSD-3-Clause
#include "dedup/engines/isa.h"

#include <string>

#include <gtest/gtest.h>

namespace unecho::engines {
namespace {

using filter::Isa;

TEST(KernelTimes, the_widest_is_taken_but_where_a_narrower_one_is_clearly_faster) {
    EXPECT_EQ((KernelTimes{{20, 9, 6}}.fastest(Isa::kAvx512)), Isa::kAvx512);
    EXPECT_EQ((KernelTimes{{20, 6, 9}}.fastest(Isa::kAvx512)), Isa::kAvx2);
    EXPECT_EQ((KernelTimes{{5, 6, 9}}.fastest(Isa::kAvx512)), Isa::kScalar);
    EXPECT_EQ((KernelTimes{{5, 9, 6}}.fastest(Isa::kAvx512)), Isa::kScalar);
    EXPECT_EQ((KernelTimes{{20, 9.6, 10}}.fastest(Isa::kAvx512)), Isa::kAvx512) << "hardly faster";
    EXPECT_EQ((KernelTimes{{20, 9.4, 10}}.fastest(Isa::kAvx512)), Isa::kAvx2);
    EXPECT_EQ((KernelTimes{{20, 9, 0}}.fastest(Isa::kAvx2)), Isa::kAvx2) << "what is not there";
    EXPECT_EQ((KernelTimes{{20, 0, 0}}.fastest(Isa::kScalar)), Isa::kScalar);
}

TEST(KernelTimes, are_those_of_all_kernels_that_are_there) {
    const KernelTimes times = measure_kernels();
    for (const Isa isa : filter::kEveryIsa) {
        if (filter::available(isa)) {
            EXPECT_GT(times.of(isa), 0) << filter::name_of(isa);
        } else {
            EXPECT_EQ(times.of(isa), 0) << filter::name_of(isa);
        }
    }
}

TEST(IsaChoice, auto_is_the_fastest_where_it_was_measured) {
    IsaChoice choice{.widest = Isa::kAvx512, .forced = {}, .times = {}};
    EXPECT_EQ(choice.any().value(), Isa::kAvx512);
    choice.times = KernelTimes{{20, 6, 9}};
    EXPECT_EQ(choice.any().value(), Isa::kAvx2);
    EXPECT_EQ(choice.of("avx512").value(), Isa::kAvx512);
    choice.forced = "scalar";
    EXPECT_EQ(choice.any().value(), Isa::kScalar);
}

TEST(IsaChoice, that_is_measured_does_not_change_while_the_process_runs) {
    const IsaChoice first = IsaChoice::measured();
    ASSERT_TRUE(first.times);
    EXPECT_EQ(IsaChoice::measured().times->ns, first.times->ns);
    EXPECT_FALSE(IsaChoice::detect().times);
}

TEST(IsaChoice, says_why) {
    IsaChoice choice{.widest = Isa::kAvx512, .forced = {}, .times = {}};
    EXPECT_EQ(choice.reason(Isa::kAvx512, ""), "the widest that this processor has");
    EXPECT_EQ(choice.reason(Isa::kScalar, "UNECHO_ISA"), "as UNECHO_ISA says");
    choice.times = KernelTimes{{20.04, 6, 9}};
    EXPECT_EQ(choice.reason(Isa::kAvx2, ""),
              "the fastest here; ns a packet in cache, measured: 6.0, avx512 9.0, scalar 20.0");
    EXPECT_EQ(choice.reason(Isa::kScalar, "workers.isa"),
              "as workers.isa says; ns a packet in cache, measured: 20.0, avx512 9.0, avx2 6.0");
}

TEST(IsaChoice, says_what_the_processor_lacks_for_the_next) {
    const IsaChoice choice{.widest = filter::best_isa(), .forced = {}, .times = {}};
    const std::string reason = choice.reason(choice.widest, "");
    for (const Isa isa : filter::kEveryIsa) {
        const bool next = static_cast<unsigned>(isa) == static_cast<unsigned>(choice.widest) + 1;
        const std::string said = "; " + std::string(filter::name_of(isa)) + " needs " +
                                 std::string(filter::lacking(isa)) + ", which this processor lacks";
        EXPECT_EQ(reason.find(said) != std::string::npos, next) << reason;
    }
}

}  // namespace
}  // namespace unecho::engines
