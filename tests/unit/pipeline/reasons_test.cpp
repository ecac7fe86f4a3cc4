// SPDX-License-Identifier: BSD-3-Clause
#include "dedup/pipeline/reasons.h"

#include <cctype>
#include <set>

#include <gtest/gtest.h>

namespace unecho::pipeline {
namespace {

TEST(ReasonTable, names_are_unique_and_fit_for_json_keys) {
    std::set<std::string_view> names;
    for (const ReasonInfo& info : kReasonTable) {
        EXPECT_TRUE(names.insert(info.name).second) << info.name;
        EXPECT_FALSE(info.name.empty());
        for (const char c : info.name) {
            EXPECT_TRUE(std::islower(static_cast<unsigned char>(c)) != 0 || c == '_') << info.name;
        }
    }
    EXPECT_EQ(names.size(), kReasons);
}

TEST(ReasonTable, helps_are_one_line_and_tell_reasons_apart) {
    std::set<std::string_view> helps;
    for (const ReasonInfo& info : kReasonTable) {
        EXPECT_FALSE(info.help.empty()) << info.name;
        EXPECT_EQ(info.help.find('\n'), std::string_view::npos) << info.name;
        EXPECT_TRUE(helps.insert(info.help).second) << info.name;
    }
}

// Only echoes, packets that no queue accepts, and packets between workers at the end may be lost.
TEST(ReasonTable, fate_of_each_reason_is_what_becomes_of_the_packet) {
    const std::set<Reason> dropped{Reason::kEcho, Reason::kTxLost, Reason::kStopped};
    for (unsigned i = 0; i < kReasons; ++i) {
        const auto reason = static_cast<Reason>(i);
        const Disposition expected = dropped.contains(reason)          ? Disposition::kDropped
                                     : reason == Reason::kEchoDiverted ? Disposition::kDiverted
                                                                       : Disposition::kForwarded;
        EXPECT_EQ(info_of(reason).fate, expected) << info_of(reason).name;
    }
}

TEST(PacketBytes, add_sums_both) {
    PacketBytes sum;
    sum.add(2, 100);
    sum.add(3, 50);
    EXPECT_EQ(sum.packets, 5U);
    EXPECT_EQ(sum.bytes, 150U);
}

}  // namespace
}  // namespace unecho::pipeline
