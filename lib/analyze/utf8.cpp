// SPDX-License-Identifier: BSD-3-Clause
#include "analyze/utf8.h"

namespace unecho::analyze {
namespace {

// C0, DEL and C1 (U+0080 to U+009F), by which a name could speak to the terminal.
bool is_control(std::string_view character) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
    return byte(0) < 0x20 || byte(0) == 0x7F ||
           (character.size() == 2 && byte(0) == 0xC2 && byte(1) < 0xA0);
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned lead = byte(0);
    const std::size_t length = lead < 0x80   ? 1
                               : lead < 0xC2 ? 0
                               : lead < 0xE0 ? 2
                               : lead < 0xF0 ? 3
                               : lead < 0xF5 ? 4
                                             : 0;
    if (length == 0 || length > text.size()) {
        return 0;
    }
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xC0) != 0x80) {
            return 0;
        }
    }
    if (length > 2) {
        const unsigned second = byte(1);
        const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
        const bool beyond = (lead == 0xED && second > 0x9F) || (lead == 0xF4 && second > 0x8F);
        return overlong || beyond ? 0 : length;
    }
    return length;
}

std::string printable(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        const std::string_view character = text.substr(0, length == 0 ? 1 : length);
        out += length == 0 || is_control(character) ? "?" : std::string(character);
        text.remove_prefix(character.size());
    }
    return out;
}

}  // namespace unecho::analyze
