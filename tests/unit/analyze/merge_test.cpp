// SPDX-License-Identifier: BSD-3-Clause
// Merging of reports that may have been tampered with: they are accepted or refused, in bounded
// memory.
#include <cstdint>
#include <iterator>
#include <memory>
#include <random>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "captures/analyze/analysis_state.h"
#include "captures/analyze/analyze.h"
#include "captures/analyze/report/report_json.h"
#include "captures/analyze/report/report_text.h"
#include "stream.h"
#include "support/packet_builder.h"

namespace unecho::analyze {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kMemory = std::uint64_t{64} << 20;

Json report_of(Stream& stream) {
    FakeSource source(stream);
    const std::vector<std::string> paths{"a.pcap", "b.pcap"};
    const auto report = analyze(source, {paths, kMinMemory, hash::secret_from_seed(1), {}, {}});
    EXPECT_TRUE(report) << report.error().context;
    return Json::parse(to_json_text(*report));
}

// Return the report of a capture with copies at two interfaces.
Json report_of_copies() {
    Stream stream(2);
    for (unsigned i = 0; i < 200; ++i) {
        test::PacketSpec packet;
        packet.id = static_cast<std::uint16_t>(i / 2 + 10);
        stream.add(i * kMillisecond, packet, i % 2);
    }
    return report_of(stream);
}

Status merged(const std::string& report, std::uint64_t memory = kMemory) {
    ReportMerger merger(memory);
    if (Status added = merger.add("a.json", report); !added) {
        return added;
    }
    const Report whole = make_report(std::make_shared<const AnalysisState>(merger.take()));
    EXPECT_FALSE(to_text(whole).empty());
    EXPECT_FALSE(to_json_text(whole).empty());
    return {};
}

TEST(Merge, what_is_nested_deep_is_refused_before_anything_takes_it_apart) {
    const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
    for (const std::string& report :
         {deep, "{\"merge\": " + deep + "}", "{\"merge\": {\"version\": " + deep + "}}",
          std::string(400'000, '{'), std::string(400'000, '[')}) {
        const Status status = merged(report);
        ASSERT_FALSE(status);
        EXPECT_EQ(status.error().code, Errc::kInvalidArgument);
        EXPECT_NE(status.error().context.find("nested deeper"), std::string::npos)
            << status.error().context;
    }
    // Brackets within strings do not count as nesting.
    Json report = report_of_copies();
    report["merge"]["captures"][0]["inputs"][0][0] = std::string(1000, '[') + "\"" + "\\";
    const Status status = merged(report.dump());
    EXPECT_TRUE(status) << status.error().context;
}

TEST(Merge, a_version_that_is_none_is_refused) {
    for (const char* version : {"[[1]]", "{}", "\"3\"", "null", "2", "-1", "1.5"}) {
        const Status status = merged(std::string(R"({"merge": {"version": )") + version + "}}");
        ASSERT_FALSE(status) << version;
        EXPECT_NE(status.error().context.find("version"), std::string::npos);
    }
}

// The place of a list's last element determines the length of the list.
TEST(Merge, lists_take_no_more_memory_than_is_allowed) {
    const Json report = report_of_copies();
    constexpr std::uint64_t kPlace = (std::uint64_t{1} << 20) - 1;
    std::size_t refused = 0;
    for (const char* view : {"packets", "frames"}) {
        Json longer = report;
        Json& bins = longer["merge"]["views"]["plain"][view];
        ASSERT_TRUE(bins.is_array());
        // The copies by bin; each bin has counts by file.
        Json& copies = bins[1][0];
        Json one;
        for (std::size_t i = 1; i < copies.size() && one.is_null(); i += 2) {
            one = copies[i];
        }
        if (one.is_null()) {
            continue;
        }
        one[6] = Json::array({kPlace, Json::array({1, 1})});
        copies = Json::array();
        for (unsigned bin = 0; bin < 300; ++bin) {
            copies.push_back(bin);
            copies.push_back(one);
        }
        const Status status = merged(longer.dump());
        ASSERT_FALSE(status);
        EXPECT_EQ(status.error().code, Errc::kNoMemory) << status.error().context;
        EXPECT_NE(status.error().context.find("a.json: to merge it takes more than --memory"),
                  std::string::npos)
            << status.error().context;
        ++refused;
    }
    EXPECT_GE(refused, 1U);
    EXPECT_FALSE(merged(report.dump(), 20'000)) << "less than the document takes";
}

TEST(Merge, memory_does_not_grow_with_the_number_of_reports) {
    Json report = report_of_copies();
    ReportMerger merger(kMemory);
    const std::uint64_t before = merger.room();
    for (std::uint64_t i = 0; i < 40; ++i) {
        report["merge"]["captures"][0]["read"][2] = i;  // another capture
        const Status added = merger.add(std::to_string(i), report.dump());
        ASSERT_TRUE(added) << added.error().context;
    }
    EXPECT_LT(before - merger.room(), kMemory / 8);
    EXPECT_EQ(merger.take().captures.size(), 40U);
}

void paths_of(const Json& value, const Json::json_pointer& at,
              std::vector<Json::json_pointer>& out) {
    if (value.is_object()) {
        for (const auto& [name, one] : value.items()) {
            paths_of(one, at / name, out);
        }
        return;
    }
    out.push_back(at);
    for (std::size_t i = 0; value.is_array() && i < value.size(); ++i) {
        paths_of(value[i], at / i, out);
    }
}

void change(Json& value, std::mt19937_64& random) {
    constexpr std::uint64_t kNumbers[] = {0,
                                          1,
                                          2,
                                          7,
                                          63,
                                          64,
                                          255,
                                          256,
                                          65'535,
                                          65'536,
                                          1'048'575,
                                          1'048'576,
                                          4'294'967'295,
                                          1ULL << 32,
                                          1ULL << 63,
                                          UINT64_MAX};
    const auto pick = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    if (value.is_number_integer()) {
        value = pick(3) == 0 ? value.get<std::uint64_t>() ^ (1ULL << pick(64))
                             : kNumbers[pick(std::size(kNumbers))];
    } else if (value.is_array() && !value.empty()) {
        const std::size_t at = pick(value.size());
        switch (pick(4)) {
            case 0:
                value.erase(value.begin() + static_cast<std::ptrdiff_t>(at));
                break;
            case 1:
                value.push_back(Json(value[at]));
                break;
            case 2:
                std::swap(value[at], value[pick(value.size())]);
                break;
            default:
                value = Json::array();
        }
    } else {
        const Json others[] = {nullptr, true, "", std::string(100, 'x'), Json::array(), -1, 0.5};
        value = others[pick(std::size(others))];
    }
}

TEST(Merge, changed_reports_are_taken_or_refused) {
    const Json report = report_of_copies();
    std::vector<Json::json_pointer> paths;
    paths_of(report["merge"], Json::json_pointer("/merge"), paths);
    ASSERT_GT(paths.size(), 500U);
    unsigned taken = 0;
    unsigned refused = 0;
    for (std::uint64_t seed = 1; seed <= 150; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937_64 random(seed);
        Json changed = report;
        for (std::uint64_t n = 1 + random() % 4; n != 0; --n) {
            const auto& at = paths[random() % paths.size()];
            if (changed.contains(at)) {
                change(changed[at], random);
            }
        }
        const Status status = merged(changed.dump());
        (status ? taken : refused) += 1;
        if (!status) {
            EXPECT_EQ(status.error().context.find('\n'), std::string::npos);
        }
    }
    EXPECT_GT(taken, 10U);
    EXPECT_GT(refused, 30U);
}

// Empty every list, and change every named number, one at a time.
TEST(Merge, a_report_that_says_less_than_it_counts_is_taken_or_refused) {
    const Json report = report_of_copies();
    std::vector<Json::json_pointer> paths;
    paths_of(report["merge"], Json::json_pointer("/merge"), paths);
    unsigned tried = 0;
    const auto try_with = [&](const Json::json_pointer& at, const Json& value) {
        Json changed = report;
        changed[at] = value;
        SCOPED_TRACE(at.to_string() + " is " + value.dump().substr(0, 60));
        const Status status = merged(changed.dump());
        if (!status) {
            EXPECT_EQ(status.error().context.find('\n'), std::string::npos);
        }
        ++tried;
    };
    // Lists have many alike elements: of those behind the second, one stands for all.
    const std::regex later("/([2-9]|[1-9][0-9]+)(?=/|$)");
    std::set<std::string> kinds;
    for (const Json::json_pointer& at : paths) {
        if (!kinds.insert(std::regex_replace(at.to_string(), later, "/n")).second) {
            continue;
        }
        const Json& value = report[at];
        if (value.is_array() && !value.empty()) {
            try_with(at, Json::array());
        } else if (value.is_number_integer() && report[at.parent_pointer()].is_object()) {
            for (const std::uint64_t number : {std::uint64_t{1}, UINT64_MAX}) {
                try_with(at, number);
            }
        }
    }
    EXPECT_GT(tried, 100U);
}

// Clocks that differ by a second: the shift is computed from the packets of the second interface.
TEST(Merge, late_copies_at_interfaces_without_packets_are_taken) {
    Stream stream(2);
    for (unsigned i = 0; i < 200; ++i) {
        test::PacketSpec packet;
        packet.id = static_cast<std::uint16_t>(i % 100 + 10);
        stream.add((i < 100 ? 0 : kSecond) + i % 100 * kMillisecond, packet, i / 100);
    }
    Json report = report_of(stream);
    ASSERT_FALSE(report["clock_shifts"].empty());
    report["merge"]["views"]["plain"]["interfaces"] = Json::array();
    EXPECT_TRUE(merged(report.dump()));
}

TEST(Merge, other_interfaces_beside_none_are_refused) {
    Stream stream(1);
    stream.add(0, test::PacketSpec{}, 0);
    Json report = report_of(stream);
    report["merge"]["views"]["plain"]["interfaces"] = Json::array();
    report["merge"]["captures"][0]["interfaces"] = Json::array();
    EXPECT_TRUE(merged(report.dump()));
    report["merge"]["captures"][0]["other_interfaces"] = 1;
    const Status status = merged(report.dump());
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Errc::kInvalidArgument);
}

// Asks a question of a configuration that removes nothing.
class NoRemover : public PacketRemover {
  public:
    explicit NoRemover(WhatIfQuestion question) : question_(std::move(question)) {}
    Status decide(const capture::Batch& /*batch*/, const capture::InterfaceView& /*interfaces*/,
                  std::vector<std::size_t>& removed) override {
        removed.clear();
        return {};
    }
    [[nodiscard]] WhatIfQuestion described() const override { return question_; }

  private:
    WhatIfQuestion question_;
};

std::string report_with_question(packet::Tags tags, std::uint64_t forgotten) {
    Stream stream(1);
    for (std::uint64_t i = 0; i < forgotten; ++i) {  // so that each is another capture
        stream.add(i * kMillisecond, test::PacketSpec{}, 0);
    }
    FakeSource source(stream);
    WhatIfQuestion question;
    question.tags = tags;
    question.forgotten = forgotten;
    NoRemover remover(question);
    const std::vector<std::string> paths{"a.pcap"};
    AnalysisJob job{paths, kMinMemory, hash::secret_from_seed(1), {}, {}};
    job.remover = &remover;
    const auto report = analyze(source, job);
    EXPECT_TRUE(report) << report.error().context;
    return to_json_text(*report);
}

TEST(Merge, other_tags_are_another_question_and_other_forgotten_packets_are_not) {
    ReportMerger merger(kMemory);
    const Status first = merger.add("a.json", report_with_question(packet::Tags::kIgnore, 3));
    ASSERT_TRUE(first) << first.error().context;
    const Status status = merger.add("b.json", report_with_question(packet::Tags::kPoint, 4));
    ASSERT_FALSE(status);
    EXPECT_NE(status.error().context.find("were asked about"), std::string::npos)
        << status.error().context;
    const Status same = merger.add("b.json", report_with_question(packet::Tags::kIgnore, 4));
    ASSERT_TRUE(same) << same.error().context;
    EXPECT_EQ(merger.take().asked->forgotten, 7U);
}

}  // namespace
}  // namespace unecho::analyze
