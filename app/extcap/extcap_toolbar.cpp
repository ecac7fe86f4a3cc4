// SPDX-License-Identifier: BSD-3-Clause
#include "extcap/extcap_toolbar.h"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <tuple>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "base/option_names.h"
#include "base/units.h"
#include "base/utf8.h"

namespace unecho::app {
namespace {

constexpr char kMark = 'T';
constexpr std::size_t kHeader = 6;
constexpr std::size_t kLengthCovers = 2;  // control and command are part of the length
constexpr unsigned kByte = 8;

struct Control {
    const char* display;
    const char* tooltip;
    std::uint64_t (*count)(const ToolbarCounts& counts);
};

constexpr std::array kControlTable{
    Control{"Seen", "Packets that came, echoes too",
            [](const ToolbarCounts& counts) { return counts.seen; }},
    Control{"Originals", "Packets that are no echoes",
            [](const ToolbarCounts& counts) { return counts.seen - counts.echoes; }},
    Control{"Echoes", "Packets seen a moment before: left out, or marked where that was chosen",
            [](const ToolbarCounts& counts) { return counts.echoes; }},
};

}  // namespace

std::string toolbar_bytes(const ToolbarMessage& message) {
    const std::size_t length = message.text.size() + kLengthCovers;
    std::string out{kMark};
    for (const unsigned shift : {2 * kByte, kByte, 0U}) {
        out += static_cast<char>(length >> shift & 0xffU);
    }
    out += static_cast<char>(message.control);
    out += static_cast<char>(message.command);
    return out + message.text;
}

std::vector<ToolbarMessage> ToolbarReader::take(std::string_view bytes) {
    rest_ += bytes;
    std::vector<ToolbarMessage> out;
    for (;;) {
        rest_.erase(0, std::min(rest_.find(kMark), rest_.size()));
        if (rest_.size() < kHeader) {
            return out;
        }
        const auto byte = [&](std::size_t at) {
            return std::size_t{static_cast<unsigned char>(rest_[at])};
        };
        const std::size_t length = byte(1) << 2 * kByte | byte(2) << kByte | byte(3);
        if (length < kLengthCovers) {
            rest_.erase(0, 1);
            continue;
        }
        const std::size_t text = length - kLengthCovers;
        if (rest_.size() < kHeader + text) {
            return out;
        }
        out.push_back({.control = static_cast<std::uint8_t>(byte(4)),
                       .command = static_cast<ToolbarCommand>(byte(5)),
                       .text = rest_.substr(kHeader, text)});
        rest_.erase(0, kHeader + text);
    }
}

std::string toolbar_sentences() {
    std::string out;
    for (std::size_t i = 0; i < kControlTable.size(); ++i) {
        out += "control {number=" + std::to_string(i) +
               "}{type=string}{display=" + kControlTable[i].display +
               "}{tooltip=" + kControlTable[i].tooltip + "}\n";
    }
    return out;
}

Result<Toolbar> Toolbar::open(const OptionText& in, const OptionText& out) {
    Toolbar toolbar;
    if (in) {
        toolbar.in_ = ::open(in->c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        if (toolbar.in_ < 0) {
            return bad_option(option::kExtcapControlIn,
                              fmt::format("\"{}\": {}; allowed: a pipe that can be read",
                                          escaped(*in), std::generic_category().message(errno)));
        }
    }
    if (out && ::access(out->c_str(), W_OK) != 0) {
        return bad_option(option::kExtcapControlOut,
                          fmt::format("\"{}\": {}; allowed: a pipe that can be written to",
                                      escaped(*out), std::generic_category().message(errno)));
    }
    toolbar.out_path_ = out.value_or("");
    return toolbar;
}

Toolbar::Toolbar(Toolbar&& other) noexcept
    : in_(std::exchange(other.in_, -1)),
      out_(std::exchange(other.out_, -1)),
      out_path_(std::move(other.out_path_)),
      reader_(std::move(other.reader_)),
      shown_(std::move(other.shown_)) {}

Toolbar::~Toolbar() {
    for (const int descriptor : {in_, out_}) {
        if (descriptor >= 0) {
            ::close(descriptor);
        }
    }
}

void Toolbar::read() {
    std::array<char, 4096> bytes;
    const ssize_t got = ::read(in_, bytes.data(), bytes.size());
    if (got <= 0) {
        if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
            ::close(std::exchange(in_, -1));
        }
        return;
    }
    for (const ToolbarMessage& message :
         reader_.take(std::string_view(bytes.data(), static_cast<std::size_t>(got)))) {
        if (message.command == ToolbarCommand::kInitialized ||
            message.command == ToolbarCommand::kSet) {
            shown_ = {};  // Wireshark reset its display
        }
    }
}

// A message is short enough for a pipe to take it whole or not at all.
bool Toolbar::write(const ToolbarMessage& message) {
    const std::string bytes = toolbar_bytes(message);
    return ::write(out_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
}

void Toolbar::show(const ToolbarCounts& counts) {
    static_assert(kControlTable.size() == kControls);
    if (out_ < 0 && !out_path_.empty()) {
        out_ = ::open(out_path_.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    }
    if (out_ < 0) {
        return;
    }
    for (std::uint8_t i = 0; i < kControls; ++i) {
        std::string text = format_count(kControlTable[i].count(counts));
        if (text != shown_[i] && write({.control = i, .text = text})) {
            shown_[i] = std::move(text);
        }
    }
}

}  // namespace unecho::app
