// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/report/report_json.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "captures/analyze/recommend/recommend.h"
#include "sample_report.h"
#include "stream.h"

namespace unecho::analyze {
namespace {

using Json = nlohmann::ordered_json;

Report full_report() {
    Stream stream(2);
    for (std::uint16_t i = 0; i < 200; ++i) {
        test::PacketSpec spec;
        spec.id = static_cast<std::uint16_t>(i % 50);
        spec.protocol = i % 50 < 20 ? 6 : 17;
        spec.ttl = static_cast<std::uint8_t>(60 + i % 2);
        spec.payload = test::counting(20);
        stream.add(i * kMillisecond, spec, i % 2);
    }
    Report report = stream.report();
    report.files = {{"a \"b\".pcap", {1, 2}, {3, 4}, {5, 6}}};
    report.warnings = {{"a", 7, 2, "odd"}};
    report.blind_after = 5;
    recommend(report, {});
    return report;
}

TEST(Json, names_have_units_and_absent_is_null) {
    const Json json = to_json(full_report());
    EXPECT_EQ(json.at("files").at(0).at("path"), "a \"b\".pcap");
    EXPECT_EQ(json.at("echoes").at("packets"), full_report().echoes.packets);
    EXPECT_TRUE(json.at("windows").back().at("window_ns").is_null());
    EXPECT_EQ(json.at("windows").at(0).at("window_ns"), 100);
    EXPECT_TRUE(json.at("copies").is_array());
    EXPECT_EQ(json.at("causes").at(0).at("cause"), "loop");
    EXPECT_EQ(json.at("modes").at(1).at("key"), "flow");
    EXPECT_EQ(json.at("recommendation").at("policy"), "fixed");
    EXPECT_EQ(json.at("recommendation").at("non_ip"), "pass");
    EXPECT_EQ(json.at("recommendation").at("engine"), "auto");
    EXPECT_TRUE(json.at("ages").at("bins").at(0).at("causes").contains("hop-limit"));
    Report report = full_report();
    report.blind_after.reset();
    EXPECT_TRUE(to_json(report).at("blind_after_ns").is_null());
}

TEST(Json, names_from_anywhere_can_be_printed) {
    const std::string text = to_json_text(hostile_report());
    EXPECT_FALSE(Json::parse(text).empty());
    EXPECT_EQ(text.find('\x1B'), std::string::npos);
}

}  // namespace
}  // namespace unecho::analyze
