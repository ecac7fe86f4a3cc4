// SPDX-License-Identifier: BSD-3-Clause
// Any lines as reports for `unecho analyze --merge`. They are refused in one line, or merged within
// the allowed memory. A merged report reads back as written, and every form of it can be printed.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <sstream>
#include <string>

#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "captures/analyze/analysis_state.h"
#include "captures/analyze/report/report_text.h"
#include "captures/analyze/report/report_json.h"
#include "captures/analyze/report/report_toml.h"

namespace {

using namespace unecho;

constexpr std::uint64_t kMemory = std::uint64_t{16} << 20;

void check(bool condition) {
    if (!condition) {
        std::abort();
    }
}

void check_lines(const std::string& text) {
    check(escaped_lines(text) == text);
}

void check_report(analyze::AnalysisState merged) {
    const std::string written = analyze::to_json_text(merged);
    const auto whole = std::make_shared<const analyze::AnalysisState>(std::move(merged));
    const auto again = analyze::parse_analysis_state("{\"merge\":" + written + "}", 64 * kMemory);
    check(again.has_value() && analyze::to_json_text(*again) == written);
    const analyze::Report report = analyze::make_report(whole);
    check_lines(analyze::to_text(report));
    check_lines(analyze::to_toml(report));
    const std::string page = analyze::to_html(report);
    check(valid_utf8(page) == page);
    check(nlohmann::json::parse(analyze::to_json_text(report), nullptr, false).is_object());
}

// Numbers that matter as positions, lengths and sums in a report.
constexpr std::array<const char*, 16> kNumbers{"0",
                                               "1",
                                               "2",
                                               "7",
                                               "64",
                                               "65",
                                               "255",
                                               "256",
                                               "65535",
                                               "65536",
                                               "1048575",
                                               "2147483648",
                                               "4294967295",
                                               "4294967296",
                                               "9223372036854775808",
                                               "18446744073709551615"};

}  // namespace

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

// Replace a number by another: changed bytes are hardly ever JSON, but another number always is.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
    std::minstd_rand draw(seed);
    const auto is_digit = [](std::uint8_t c) { return c >= '0' && c <= '9'; };
    std::uint8_t* const end = data + size;
    std::uint8_t* const from = std::find_if(data + draw() % (size + 1), end, is_digit);
    const std::string number = kNumbers.at(draw() % kNumbers.size());
    std::uint8_t* const behind = std::find_if_not(from, end, is_digit);
    const auto rest = static_cast<std::size_t>(end - behind);
    const auto before = static_cast<std::size_t>(from - data);
    if (draw() % 4 == 0 || from == end || before + number.size() + rest > most) {
        return LLVMFuzzerMutate(data, size, most);
    }
    std::memmove(from + number.size(), behind, rest);
    std::memcpy(from, number.data(), number.size());
    return before + number.size() + rest;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    analyze::ReportMerger merger(kMemory);
    bool merged = false;
    std::istringstream lines(std::string(reinterpret_cast<const char*>(data), size));
    for (std::string line; std::getline(lines, line);) {
        const Status added = merger.add("report.json", line);
        if (!added) {
            check(added.error().context.starts_with("report.json: "));
            check(escaped(added.error().context) == added.error().context);
        }
        merged = merged || added;
    }
    if (merged) {
        check_report(merger.take());
    }
    return 0;
}
