// SPDX-License-Identifier: BSD-3-Clause
#include "offline/echo_pairs.h"

#include <array>
#include <charconv>
#include <limits>
#include <utility>

namespace unecho::offline {
namespace {

constexpr std::size_t kBuffer = std::size_t{64} << 10;

template <typename Number>
void append(std::string& text, Number number) {
    std::array<char, std::numeric_limits<Number>::digits10 + 3> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    text.append(digits.data(), end);
}

// RFC 4180.
std::string csv_field(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) {
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
                                                           std::span<const std::string> inputs) {
    const auto compression = capture::compression_named(path);
    if (!compression) {
        return tl::unexpected(compression.error());
    }
    auto output = capture::Output::create(path);
    if (!output) {
        return tl::unexpected(output.error());
    }
    return std::unique_ptr<EchoPairFile>(
        new EchoPairFile(std::move(*output), capture::make_compressor(*compression), inputs));
}

EchoPairFile::EchoPairFile(std::unique_ptr<capture::Output> output,
                           std::unique_ptr<capture::Compressor> compressor,
                           std::span<const std::string> inputs)
    : output_(std::move(output)),
      compressor_(std::move(compressor)),
      buffer_("echo,original,age_ns") {
    if (inputs.size() > 1) {
        buffer_ += ",echo_file,original_file";
        for (const std::string& input : inputs) {
            files_.push_back(csv_field(input));
        }
    }
    buffer_ += '\n';
}

void EchoPairFile::add(const EchoPair& echo) {
    append(buffer_, echo.number);
    buffer_ += ',';
    if (echo.known) {
        append(buffer_, echo.original);
        buffer_ += ',';
        append(buffer_, echo.age);
    } else {
        buffer_ += ',';
    }
    if (!files_.empty()) {
        buffer_ += ',' + files_[echo.file] + ',';
        buffer_ += echo.known ? files_[echo.original_file] : std::string();
    }
    buffer_ += '\n';
}

Status EchoPairFile::write(std::span<const EchoPair> echoes) {
    for (const EchoPair& echo : echoes) {
        add(echo);
        if (buffer_.size() >= kBuffer) {
            if (const Status status = flush(); !status) {
                return status;
            }
        }
    }
    return {};
}

Status EchoPairFile::flush() {
    const auto bytes = std::as_bytes(std::span(buffer_));
    const Status status = compressor_ ? compressor_->write(bytes, *output_) : output_->write(bytes);
    buffer_.clear();
    return status;
}

Status EchoPairFile::close() {
    Status status = flush();
    status = status && compressor_ ? compressor_->finish(*output_) : status;
    return status ? output_->close() : status;
}

}  // namespace unecho::offline
