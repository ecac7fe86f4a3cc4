// SPDX-License-Identifier: BSD-3-Clause
#include "base/utf8.h"

#include <algorithm>

namespace unecho {
namespace {

constexpr std::string_view kLeftOut = "...";

// C0, DEL and C1 (U+0080 to U+009F) could send commands to the terminal. Separators and direction
// marks (U+2028 to U+202E, U+2066 to U+2069) could make a name look like another text.
bool is_control(std::string_view character) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
    const auto begins = [&](unsigned first, unsigned second) {
        return character.size() == 3 && byte(0) == first && byte(1) == second;
    };
    return byte(0) < 0x20 || byte(0) == 0x7F ||
           (character.size() == 2 && byte(0) == 0xC2 && byte(1) < 0xA0) ||
           (begins(0xE2, 0x80) && byte(2) >= 0xA8 && byte(2) <= 0xAE) ||
           (begins(0xE2, 0x81) && byte(2) >= 0xA6 && byte(2) <= 0xA9);
}

// Return true if a cut before this byte would split a character.
bool is_inside(std::string_view text, std::size_t at) {
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
}

// Return the last position at or before `at` where a cut splits no character.
std::size_t cut_before(std::string_view text, std::size_t at) {
    while (at > 0 && is_inside(text, at)) {
        --at;
    }
    return at;
}

std::string in_hex(std::string_view bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string out;
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        out += {'\\', 'x', kDigits[byte / 16U], kDigits[byte % 16U]};
    }
    return out;
}

// Replace each character by replace(character, true), each invalid byte by replace(byte, false).
template <typename Replace>
std::string rewritten(std::string_view text, Replace replace) {
    std::string out;
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
        out += replace(character, length != 0);
        text.remove_prefix(character.size());
    }
    return out;
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
    return rewritten(text, [](std::string_view character, bool good) {
        return std::string(good && !is_control(character) ? character : "?");
    });
}

std::string escaped(std::string_view text) {
    return rewritten(text, [](std::string_view character, bool good) {
        return good && !is_control(character) ? std::string(character) : in_hex(character);
    });
}

std::string escaped_lines(std::string_view text) {
    return rewritten(text, [](std::string_view character, bool good) {
        return character == "\n" || (good && !is_control(character)) ? std::string(character)
                                                                     : in_hex(character);
    });
}

std::string escaped_ascii(std::string_view text) {
    return rewritten(text, [](std::string_view character, bool) {
        const bool plain = character.size() == 1 && character[0] >= ' ' && character[0] < '\x7f';
        return plain || character == "\n" ? std::string(character) : in_hex(character);
    });
}

std::string valid_utf8(std::string_view text) {
    return rewritten(text, [](std::string_view character, bool good) {
        return std::string(good ? character : "\xEF\xBF\xBD");
    });
}

std::string truncated(std::string_view text, std::size_t most) {
    if (text.size() <= most) {
        return std::string(text);
    }
    return std::string(text.substr(0, cut_before(text, most - kLeftOut.size()))).append(kLeftOut);
}

std::string shortened(std::string_view text, std::size_t most) {
    if (text.size() <= most) {
        return std::string(text);
    }
    // Keep more of the end: names usually differ there.
    const std::size_t begin = (most - kLeftOut.size()) / 3;
    std::size_t tail = text.size() - (most - kLeftOut.size() - begin);
    while (is_inside(text, tail)) {
        ++tail;
    }
    return std::string(text.substr(0, cut_before(text, begin)))
        .append(kLeftOut)
        .append(text.substr(tail));
}

}  // namespace unecho
