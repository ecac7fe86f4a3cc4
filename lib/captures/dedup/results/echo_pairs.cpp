// SPDX-License-Identifier: BSD-3-Clause
#include "captures/dedup/results/echo_pairs.h"

#include <array>
#include <charconv>
#include <limits>
#include <string_view>
#include <utility>

#include "base/utf8.h"

namespace unecho::dedup {
namespace {

template <typename Number>
void append(std::string& text, Number number) {
    std::array<char, std::numeric_limits<Number>::digits10 + 3> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    text.append(digits.data(), end);
}

// Return a name as a field. Names are foreign input: escape them, and quote by RFC 4180.
// Spreadsheets take a cell that begins with one of these characters for a formula, so put an
// apostrophe first. (Tabs and line ends, which they treat alike, are escaped.)
std::string csv_field(const std::string& name) {
    constexpr std::string_view kFormulas = "=+-@";
    std::string text = escaped(name);
    if (!text.empty() && kFormulas.find(text.front()) != std::string_view::npos) {
        text.insert(text.begin(), '\'');
    }
    if (text.find_first_of(",\"") == std::string::npos) {
        return text;
    }
    std::string out = "\"";
    for (const char c : text) {
        out += c == '"' ? "\"\"" : std::string(1, c);
    }
    return out + "\"";
}

}  // namespace

Result<std::unique_ptr<EchoPairFile>> EchoPairFile::create(const std::string& path,
                                                           std::span<const std::string> inputs,
                                                           const capture::OutputOptions& options) {
    auto sink = capture::BufferedOutput::create_text(path, options);
    UNECHO_TRY(sink);
    return std::unique_ptr<EchoPairFile>(new EchoPairFile(std::move(*sink), inputs));
}

EchoPairFile::EchoPairFile(capture::BufferedOutput sink, std::span<const std::string> inputs)
    : sink_(std::move(sink)), rows_("echo,original,age_ns") {
    if (inputs.size() > 1) {
        rows_ += ",echo_file,original_file";
        for (const std::string& input : inputs) {
            files_.push_back(csv_field(input));
        }
    }
    rows_ += '\n';
}

void EchoPairFile::add(const EchoPair& echo) {
    append(rows_, echo.number);
    rows_ += ',';
    if (echo.known) {
        append(rows_, echo.original);
        rows_ += ',';
        append(rows_, echo.age);
    } else {
        rows_ += ',';
    }
    if (!files_.empty()) {
        rows_ += ',' + files_[echo.file] + ',';
        rows_ += echo.known ? files_[echo.original_file] : std::string();
    }
    rows_ += '\n';
}

Status EchoPairFile::write(std::span<const EchoPair> echoes) {
    for (const EchoPair& echo : echoes) {
        add(echo);
    }
    const Status given = put();
    return given ? sink_.flush_for_reader() : given;
}

Status EchoPairFile::put() {
    Status given = sink_.put(std::as_bytes(std::span(rows_)));
    rows_.clear();
    return given;
}

Status EchoPairFile::close() {
    const Status given = put();
    return given ? sink_.close() : given;
}

}  // namespace unecho::dedup
