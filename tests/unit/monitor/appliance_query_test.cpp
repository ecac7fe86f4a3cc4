// SPDX-License-Identifier: BSD-3-Clause
#include "monitor/client/appliance_query.h"

#include <gtest/gtest.h>

namespace unecho::monitor {
namespace {

Json meant(const char* text) {
    return normalise_telemetry(Json::parse(text));
}

TEST(Look, tables_by_position_are_lists) {
    EXPECT_EQ(meant(R"({"0": {"name": "a"}, "1": {"name": "b"}})"),
              Json::parse(R"([{"name": "a"}, {"name": "b"}])"));
    EXPECT_EQ(meant(R"({"ages": {"0": {"packets": 1}}, "crossings": {}})"),
              Json::parse(R"({"ages": [{"packets": 1}], "crossings": []})"));
    for (const char* table : {R"({"1": 3})", R"({"0": 1, "2": 2})", R"({"0": 1, "x": 2})", "{}"}) {
        EXPECT_EQ(meant(table), Json::parse(table));
    }
}

TEST(Look, fractions_and_truth_are_what_they_were) {
    EXPECT_EQ(meant(R"({"predicted_false_drop": "1.5e-07", "link_up": 1, "answering": 0})"),
              Json::parse(R"({"predicted_false_drop": 1.5e-07, "link_up": true,
                              "answering": false})"));
    EXPECT_EQ(meant(R"({"audit": {"low": "0.0", "bound": "none"}})"),
              Json::parse(R"({"audit": {"low": 0.0, "bound": "none"}})"));
}

TEST(Look, of_a_path_as_it_was) {
    EXPECT_EQ(meant(R"({"0": {"stated": 1, "max_path_loss": "0.001", "hops": "1.5", "changes": {},
                              "loss": {"rate": "0.0", "lost_here": "0.25"}, "delays": {}}})"),
              Json::parse(R"([{"stated": true, "max_path_loss": 0.001, "hops": 1.5, "changes": {},
                               "loss": {"rate": 0.0, "lost_here": 0.25}, "delays": []}])"));
}

TEST(Look, masters_of_a_root_are_counted) {
    EXPECT_EQ(
        meant(R"({"root": {"name": "1", "applies": 1, "masters": 3, "answering": 2}})"),
        Json::parse(R"({"root": {"name": "1", "applies": true, "masters": 3, "answering": 2}})"));
}

// Advice is longer than a text of DPDK's telemetry.
TEST(Look, advice_is_whole) {
    EXPECT_EQ(
        meant(R"({"advice": {"0": {"pieces": ["raise ra", "te."]}, "1": {"pieces": ["x"]}}})"),
        Json::parse(R"({"advice": ["raise rate.", "x"]})"));
    EXPECT_EQ(meant(R"({"advice": []})"), Json::parse(R"({"advice": []})"));
}

// A port may be called "1e5" or "0", which must stay strings.
TEST(Look, names_stay_names) {
    const char* port = R"({"name": "1e5", "engine": "0", "from": ["1", "2"]})";
    EXPECT_EQ(meant(port), Json::parse(port));
}

TEST(Look, the_rest_stays_as_it_is) {
    for (const char* value : {"null", "3", "\"x\"", "[1, {\"0\": 1}]", R"({"a": {"b": [1]}})"}) {
        EXPECT_EQ(meant(value), Json::parse(value)) << value;
    }
}

}  // namespace
}  // namespace unecho::monitor
