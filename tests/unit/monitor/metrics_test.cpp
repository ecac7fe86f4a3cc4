// SPDX-License-Identifier: BSD-3-Clause
#include "monitor/server/metrics.h"

#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "monitor/server/prometheus_text.h"
#include "seen.h"

namespace unecho::monitor {
namespace {

std::string text_of(const ApplianceStatus& appliance) {
    return metrics_text({std::make_shared<const ApplianceStatus>(appliance)});
}

bool has_line(const std::string& text, const std::string& line) {
    return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST(PrometheusText, says_each_family_once_and_escapes_what_must_be) {
    PrometheusText out;
    out.add("a_total", PrometheusText::Type::kCounter, "what \"it\" \\ is\n", {{"x", "1\"\\\n"}},
            "3");
    out.add("b", PrometheusText::Type::kGauge, "other", {}, "0.5");
    out.add("a_total", PrometheusText::Type::kCounter, "not taken", {{"x", "2"}}, "4");
    EXPECT_EQ(out.text(),
              "# HELP a_total what \"it\" \\\\ is\\n\n# TYPE a_total counter\n"
              "a_total{x=\"1\\\"\\\\\\n\"} 3\na_total{x=\"2\"} 4\n"
              "# HELP b other\n# TYPE b gauge\nb 0.5\n");
}

TEST(PrometheusText, seconds_are_exact) {
    EXPECT_EQ(seconds_text(0), "0");
    EXPECT_EQ(seconds_text(1), "0.000000001");
    EXPECT_EQ(seconds_text(50 * kMillisecond), "0.05");
    EXPECT_EQ(seconds_text(3 * kSecond), "3");
    EXPECT_EQ(seconds_text(18'446'744'073'709'551'615U), "18446744073.709551615");
}

TEST(Metrics, names_follow_from_unit_and_kind) {
    const std::string text = text_of(running());
    for (const char* line :
         {"unecho_up{appliance=\"taps\"} 1",
          "unecho_build_info{appliance=\"taps\",version=\"1.2.3\"} 1",
          "# HELP unecho_received_packets_total taken from ports",
          "# TYPE unecho_received_packets_total counter",
          "unecho_received_packets_total{appliance=\"taps\"} 1000",
          "# TYPE unecho_in_flight_packets gauge",
          "unecho_in_flight_packets{appliance=\"taps\"} 10",
          "unecho_port_rx_packets_total{appliance=\"taps\",port=\"tap-a\"} 500",
          "unecho_port_rx_bytes_total{appliance=\"taps\",port=\"tap \\\"b\\\"\\\\\"} 50000",
          "# HELP unecho_port_rx_missed_packets_total lost \\\\ \"so\"",
          "unecho_port_link_up{appliance=\"taps\",port=\"tap-a\"} 1",
          "unecho_worker_polls_total{appliance=\"taps\",worker=\"3\"} 4000",
          "# TYPE unecho_worker_longest_gap_seconds gauge",
          "unecho_worker_longest_gap_seconds{appliance=\"taps\",worker=\"3\"} 0.0015",
          "unecho_route_reason_packets_total{appliance=\"taps\",route=\"tap-a+tap-b>tool\",fate="
          "\"dropped\",reason=\"echo\"} 390",
          "unecho_filter_fill{appliance=\"taps\",filter=\"echo\"} 300",
          "unecho_filter_generation_seconds{appliance=\"taps\",filter=\"echo\"} 0.007142858",
          "unecho_filter_window_seconds{appliance=\"taps\",filter=\"echo\"} 0.05",
          "unecho_filter_predicted_false_drop_ratio{appliance=\"taps\",filter=\"echo\"} 1.5e-07",
          "unecho_filter_answers_packets_total{appliance=\"taps\",filter=\"echo\",first=\"tap-b\","
          "repeated=\"tap-a\"} 21"}) {
        EXPECT_TRUE(has_line(text, line)) << line << "\nin\n" << text;
    }
    EXPECT_EQ(text.find("busy"), std::string::npos) << "described, and not there";
    for (const char* sample : {"_bucket{appliance=\"taps\",worker=\"3\",le=\"0.000000064\"} 5",
                               "_bucket{appliance=\"taps\",worker=\"3\",le=\"0.000000128\"} 12",
                               "_bucket{appliance=\"taps\",worker=\"3\",le=\"+Inf\"} 13",
                               "_sum{appliance=\"taps\",worker=\"3\"} 0",
                               "_count{appliance=\"taps\",worker=\"3\"} 13"}) {
        EXPECT_TRUE(has_line(text, std::string("unecho_worker_poll_seconds") + sample)) << sample;
    }
}

TEST(Metrics, an_older_appliance_tells_no_kinds) {
    ApplianceStatus old = running();
    old.descriptions =
        std::make_shared<const CounterDescriptions>(CounterDescriptions{help(), Json()});
    const std::string text = text_of(old);
    for (const char* line :
         {"# TYPE unecho_in_flight gauge", "# TYPE unecho_received_total counter",
          "# TYPE unecho_worker_longest_gap_seconds gauge",
          "unecho_route_reason_packets_total{appliance=\"taps\",route=\"tap-a+tap-b>tool\",fate="
          "\"unknown\",reason=\"new\"} 600"}) {
        EXPECT_TRUE(has_line(text, line)) << line;
    }
}

TEST(Metrics, the_audit_is_there_where_it_is_told) {
    const std::string text = text_of(running());
    for (const char* line :
         {"unecho_filter_audit_misses_total{appliance=\"taps\",filter=\"echo\"} 0",
          "unecho_filter_false_drop_ratio{appliance=\"taps\",filter=\"echo\"} 1e-08",
          "unecho_filter_false_drop_low_ratio{appliance=\"taps\",filter=\"echo\"} 2e-09",
          "unecho_filter_false_drop_bound_ratio{appliance=\"taps\",filter=\"echo\"} 1e-06",
          "unecho_filter_miss_high_ratio{appliance=\"taps\",filter=\"echo\"} 0.17",
          "unecho_filter_window_needed_seconds{appliance=\"taps\",filter=\"echo\"} 0.00038",
          "unecho_filter_audit_crossings_total{appliance=\"taps\",filter=\"echo\",first=\"tap-a\","
          "repeated=\"tap-b\"} 13",
          "unecho_filter_audit_causes_total{appliance=\"taps\",filter=\"echo\",cause=\"routed\"} 1",
          "unecho_filter_audit_misses_explained_total{appliance=\"taps\",filter=\"echo\",reason="
          "\"stall\"} 0"}) {
        EXPECT_TRUE(has_line(text, line)) << line << "\nin\n" << text;
    }
    Json without = healthy();
    without["filters"][0].erase("audit");
    EXPECT_EQ(text_of(running(without)).find("audit"), std::string::npos);
}

// 112 us and 199.5 us are in the bucket up to 200 us; 22 s is beyond all buckets.
TEST(Metrics, histograms_are_cumulative_and_their_classes_never_change) {
    const std::string text = text_of(running());
    const auto bucket = [&](const std::string& bound) {
        return "unecho_filter_echo_age_seconds_bucket{appliance=\"taps\",filter=\"echo\",le=\"" +
               bound + "\"} ";
    };
    EXPECT_TRUE(has_line(text, "# TYPE unecho_filter_echo_age_seconds histogram"));
    EXPECT_TRUE(has_line(text, bucket("0.0001") + "0"));
    EXPECT_TRUE(has_line(text, bucket("0.0002") + "12"));
    EXPECT_TRUE(has_line(text, bucket("10") + "12"));
    EXPECT_TRUE(has_line(text, bucket("+Inf") + "13"));
    EXPECT_TRUE(has_line(
        text, "unecho_filter_echo_age_seconds_count{appliance=\"taps\",filter=\"echo\"} 13"));
}

TEST(Metrics, of_paths_with_traffic) {
    Json seen = healthy();
    seen["paths"] = two_paths();
    const std::string text = text_of(running(seen));
    const std::string labels = "{appliance=\"taps\",filter=\"echo\",from=\"tap-a\",to=\"tap-b\"";
    for (const auto& [name, value] :
         std::vector<std::pair<std::string, std::string>>{{"arrived_packets_total", "9950"},
                                                          {"missing_packets_total", "50"},
                                                          {"late_packets_total", "0"},
                                                          {"sample_ratio", "0.25"},
                                                          {"hops", "1.5"},
                                                          {"loss_ratio", "0.005"},
                                                          {"loss_low_ratio", "0.0037"},
                                                          {"loss_high_ratio", "0.0066"},
                                                          {"loss_bound_ratio", "0.01"},
                                                          {"delay_median_seconds", "0.00012"},
                                                          {"delay_p99_seconds", "0.00048"},
                                                          {"delay_p999_seconds", "0.0009"},
                                                          {"delay_max_seconds", "0.003"},
                                                          {"delay_bound_seconds", "0.001"},
                                                          {"delay_seconds_count", "9000"}}) {
        const std::string line = "unecho_path_" + name + labels + "} " + value;
        EXPECT_TRUE(has_line(text, line)) << line << "\nin\n" << text;
    }
    for (const char* end : {",le=\"0.00002\"} 0", ",le=\"0.00005\"} 10", ",le=\"0.0001\"} 10",
                            ",le=\"0.0002\"} 8999", ",le=\"50\"} 8999", ",le=\"+Inf\"} 9000"}) {
        EXPECT_TRUE(has_line(text, "unecho_path_delay_seconds_bucket" + labels + end)) << end;
    }
    EXPECT_TRUE(has_line(
        text, "unecho_path_changes_packets_total" + labels + ",change=\"tags_added\"} 996"));
    EXPECT_EQ(text.find("from=\"tap-b\""), std::string::npos) << "nothing went that way";
}

TEST(Metrics, of_a_path_that_is_not_judged_or_has_no_bound) {
    Json seen = healthy();
    Json path = two_paths()[0];
    path["arrived"] = path["missing"] = 0;
    path["loss"] = two_paths()[1]["loss"];
    path["max_path_loss"] = path["max_path_delay_ns"] = Json();
    seen["paths"] = Json::array({path});
    const std::string text = text_of(running(seen));
    EXPECT_NE(text.find("\nunecho_path_delay_median_seconds{"), std::string::npos);
    for (const char* family : {"loss_ratio", "loss_high_ratio", "loss_bound", "delay_bound"}) {
        EXPECT_EQ(text.find(std::string("unecho_path_") + family), std::string::npos) << family;
    }
}

// Alerts ask for this alone.
TEST(Metrics, have_what_the_health_rules_find) {
    ApplianceStatus appliance = running();
    EXPECT_TRUE(has_line(text_of(appliance), "unecho_problems{appliance=\"taps\"} 0"));
    EXPECT_EQ(text_of(appliance).find("unecho_problem{"), std::string::npos);
    Finding found{"link-down", Severity::kWarning, "port p", "The link is down", "", 0, false};
    appliance.health.findings = {found};
    const std::string series =
        "unecho_problem{appliance=\"taps\",rule=\"link-down\","
        "severity=\"warning\",where=\"port p\"} ";
    EXPECT_TRUE(has_line(text_of(appliance), series + "1")) << text_of(appliance);
    EXPECT_TRUE(has_line(text_of(appliance), "unecho_problems{appliance=\"taps\"} 1"));
    appliance.health.findings[0].acknowledged = true;
    EXPECT_TRUE(has_line(text_of(appliance), series + "0"));
    EXPECT_TRUE(has_line(text_of(appliance), "unecho_problems{appliance=\"taps\"} 0"));
}

TEST(Metrics, of_one_that_is_silent_or_gone_nothing_is_known_but_that) {
    for (const ApplianceState state : {ApplianceState::kSilent, ApplianceState::kGone}) {
        ApplianceStatus absent = running();
        absent.state = state;
        const std::string text = text_of(absent);
        EXPECT_TRUE(has_line(text, "unecho_up{appliance=\"taps\"} 0"));
        EXPECT_EQ(text.find("unecho_received"), std::string::npos);
        EXPECT_EQ(text.find("unecho_port"), std::string::npos);
    }
}

TEST(Metrics, tell_an_expected_appliance_that_never_came) {
    ApplianceStatus absent;
    absent.name = "taps";
    absent.state = ApplianceState::kAbsent;
    absent.expected = true;
    const std::string text = text_of(absent);
    EXPECT_TRUE(has_line(text, "unecho_up{appliance=\"taps\"} 0"));
    EXPECT_TRUE(has_line(text, "unecho_expected{appliance=\"taps\"} 1"));
    EXPECT_EQ(text.find("unecho_answered_seconds"), std::string::npos) << "it never did";
    EXPECT_TRUE(has_line(text_of(running()), "unecho_expected{appliance=\"taps\"} 0"));
}

TEST(Metrics, families_of_several_appliances_are_together_and_no_sample_is_there_twice) {
    ApplianceStatus other = running();
    other.name = "other";
    const std::string text = metrics_text({std::make_shared<const ApplianceStatus>(running()),
                                           std::make_shared<const ApplianceStatus>(other)});
    std::set<std::string> seen;
    std::set<std::string> over;
    std::string present;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("#")) {
            continue;
        }
        const std::string sample = line.substr(0, line.rfind(' '));
        EXPECT_TRUE(seen.insert(sample).second) << sample;
        std::string name = sample.substr(0, sample.find('{'));
        if (name != present) {
            EXPECT_FALSE(over.contains(name)) << name;
            // Samples of a histogram have three names.
            if (present.find("_seconds_") == std::string::npos) {
                over.insert(present);
            }
            present = name;
        }
    }
    EXPECT_GT(seen.size(), 60U);
}

// Names in answers become metric names. None may end its line and begin another.
TEST(Metrics, names_that_are_none_are_left_out) {
    const std::string bad = "x 1\nunecho_forged_total 7\n#";
    Json seen = healthy();
    seen["counters"][bad] = 1;
    seen["filters"][0]["audit"]["counters"][bad] = 1;
    seen["workers"][0]["poll_times"] = {{bad, 5}, {"below_64_ns", 2}, {"other", 1}};
    Json told = help();
    told["routes"][bad] = "text";
    ApplianceStatus appliance = running(seen);
    appliance.descriptions =
        std::make_shared<const CounterDescriptions>(CounterDescriptions{told, kinds()});
    const std::string text = text_of(appliance);
    EXPECT_EQ(text.find("\nunecho_forged"), std::string::npos) << text;
    const std::string all =
        "unecho_worker_poll_seconds_bucket{appliance=\"taps\",worker=\"3\",le=\"+Inf\"} ";
    EXPECT_TRUE(has_line(text, all + "8"));
    EXPECT_EQ(text.find(all), text.rfind(all));
}

TEST(Metrics, what_is_no_answer_of_ours_makes_none) {
    for (const char* odd :
         {"null", "[]", "3", R"({"ports": 3, "workers": [1, "x", null]})",
          R"({"counters": {"received": "many"}, "filters": [{"name": 7}]})", R"({"paths": 3})",
          R"({"paths": [1, {"came": 1, "delays": [2], "changes": ["x"]}]})"}) {
        const std::string text = text_of(running(Json::parse(odd)));
        EXPECT_TRUE(has_line(text, "unecho_up{appliance=\"taps\"} 1")) << odd;
    }
}

}  // namespace
}  // namespace unecho::monitor
