// SPDX-License-Identifier: BSD-3-Clause
#include "captures/formats/pcapng_blocks.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/int128.h"

namespace unecho::capture::pcapng {
namespace {

// Custom options: a private enterprise number, then data that only its owner understands.
constexpr std::array<std::uint16_t, 4> kCustomOptions{2988, 2989, 19372, 19373};
constexpr bool is_private(std::uint16_t code) {
    return code == 19372 || code == 19373;
}

// Options that hold numbers, which another byte order swaps; all others are bytes.
struct Numbers {
    std::uint32_t type;
    std::uint16_t code;
    std::uint8_t width;
    std::uint8_t count = 1;
    std::uint8_t from = 0;  // bytes before the numbers
};
constexpr std::array kNumbers{
    Numbers{kEnhancedPacket, 2, 4},  // flags
    Numbers{kEnhancedPacket, kOptionDrops, 8},
    Numbers{kEnhancedPacket, 5, 8},        // packet ID
    Numbers{kEnhancedPacket, 6, 4},        // queue
    Numbers{kEnhancedPacket, 7, 8, 1, 1},  // eBPF's verdict; a hardware's is opaque
    Numbers{kEnhancedPacket, 8, 4, 2},     // process and thread
    Numbers{kObsoletePacket, 2, 4},        // flags
    Numbers{kInterfaceBlock, 8, 8},        // speed
    Numbers{kInterfaceBlock, 10, 4},       // time zone
    Numbers{kInterfaceBlock, kOptionOffset, 8},
    Numbers{kInterfaceBlock, 16, 8},  // speeds
    Numbers{kInterfaceBlock, 17, 8},
    Numbers{kStatisticsBlock, 2, 4, 2},  // start and end, as high and low half
    Numbers{kStatisticsBlock, 3, 4, 2},
    Numbers{kStatisticsBlock, 4, 8},  // counts
    Numbers{kStatisticsBlock, 5, 8},
    Numbers{kStatisticsBlock, 6, 8},
    Numbers{kStatisticsBlock, 7, 8},
    Numbers{kStatisticsBlock, 8, 8},
};

struct Option {
    std::uint16_t code;
    ByteSpan value;
};

// Take the next option from the front. Return false at the end, or if there is no valid one.
bool take(ByteSpan& options, bool big_endian, Option& out) {
    if (options.size() < kOptionHeader) {
        return false;
    }
    out.code = number_at<std::uint16_t>(options.data(), big_endian);
    const std::size_t length = number_at<std::uint16_t>(options.data() + 2, big_endian);
    options = options.subspan(kOptionHeader);
    if (out.code == kOptionEnd || length > options.size()) {
        return false;
    }
    out.value = options.first(length);
    options = options.subspan(std::min(length + padding(length), options.size()));
    return true;
}

std::string turned(const Option& option, std::uint32_t type) {
    constexpr std::uint16_t kVerdict = 7;
    std::string value(option.value.begin(), option.value.end());
    const auto turn = [&](std::size_t from, std::size_t width) {
        if (from + width <= value.size()) {
            const auto begin = value.begin() + static_cast<std::ptrdiff_t>(from);
            std::reverse(begin, begin + static_cast<std::ptrdiff_t>(width));
        }
    };
    if (std::find(kCustomOptions.begin(), kCustomOptions.end(), option.code) !=
        kCustomOptions.end()) {
        turn(0, sizeof(std::uint32_t));
        return value;
    }
    for (const Numbers& numbers : kNumbers) {
        const bool opaque = type == kEnhancedPacket && option.code == kVerdict &&
                            (value.empty() || value[0] == 0 || value[0] > 2);
        if (numbers.type == type && numbers.code == option.code && !opaque) {
            for (unsigned i = 0; i < numbers.count; ++i) {
                turn(numbers.from + i * std::size_t{numbers.width}, numbers.width);
            }
        }
    }
    return value;
}

std::string names_body(ByteSpan body, bool big_endian) {
    std::string out;
    Option record{};
    while (take(body, big_endian, record)) {
        append_option(out, record.code,
                      {reinterpret_cast<const char*>(record.value.data()), record.value.size()});
    }
    append_option(out, kOptionEnd, "");
    return out + convert_options(body, kNamesBlock, big_endian, false);
}

std::string secrets_body(ByteSpan body, bool big_endian) {
    constexpr std::size_t kFixed = 8;
    std::string out;
    if (body.size() < kFixed) {
        return out;
    }
    const auto length = number_at<std::uint32_t>(body.data() + 4, big_endian);
    if (length > body.size() - kFixed) {
        return out;
    }
    append_number(out, number_at<std::uint32_t>(body.data(), big_endian));
    append_number(out, length);
    const std::size_t end = std::min<std::size_t>(length + padding(length), body.size() - kFixed);
    out.append(reinterpret_cast<const char*>(body.data() + kFixed), end);
    out.append(length + padding(length) - end, '\0');
    return out + convert_options(body.subspan(kFixed + end), kSecretsBlock, big_endian, false);
}

}  // namespace

void append_option(std::string& text, std::uint16_t code, std::string_view value, bool big_endian) {
    append_number(text, code, big_endian);
    append_number(text, static_cast<std::uint16_t>(value.size()), big_endian);
    text += value;
    text.append(padding(value.size()), '\0');
}

std::string make_block(std::uint32_t type, std::string_view body, bool big_endian) {
    const auto total = static_cast<std::uint32_t>(kBlockFrame + body.size());
    std::string out;
    append_number(out, type, big_endian);
    append_number(out, total, big_endian);
    out += body;
    append_number(out, total, big_endian);
    return out;
}

ByteSpan block_of(const Record& record) {
    const std::uint8_t* const at = record.data - record.header;
    const std::size_t total = number_at<std::uint32_t>(at + 4, record.big_endian);
    return {at, total + padding(total)};
}

ByteSpan options_of(const Record& record) {
    const std::uint8_t* const at = record.data - record.header;
    const std::size_t total = number_at<std::uint32_t>(at + 4, record.big_endian);
    const std::size_t begin = record.header + record.length + padding(record.length);
    const std::size_t end = total - sizeof(std::uint32_t);
    return record.header == kBlockHeader + kSimpleFixed || begin >= end
               ? ByteSpan()
               : ByteSpan(at + begin, end - begin);
}

ByteSpan options_of(const Block& block) {
    const std::size_t fixed = block.type == kSectionHeader     ? kSectionFixed
                              : block.type == kInterfaceBlock  ? kInterfaceFixed
                              : block.type == kStatisticsBlock ? kStatisticsFixed
                                                               : 0;
    const std::size_t begin = kBlockHeader + fixed;
    const std::size_t end = block.size - sizeof(std::uint32_t);
    return fixed == 0 || begin >= end ? ByteSpan() : ByteSpan(block.data + begin, end - begin);
}

bool has_private(ByteSpan options, bool big_endian) {
    Option option{};
    while (take(options, big_endian, option)) {
        if (is_private(option.code)) {
            return true;
        }
    }
    return false;
}

std::string convert_options(ByteSpan options, std::uint32_t type, bool from_big, bool to_big,
                            std::string_view first) {
    std::string out(first);
    Option option{};
    while (take(options, from_big, option)) {
        if (is_private(option.code)) {
            continue;
        }
        const std::string value = from_big == to_big
                                      ? std::string(option.value.begin(), option.value.end())
                                      : turned(option, type);
        append_option(out, option.code, value, to_big);
    }
    if (!out.empty()) {
        append_option(out, kOptionEnd, "", to_big);
    }
    return out;
}

std::string little_endian_body(const Block& block) {
    const ByteSpan body(block.data + kBlockHeader, block.size - kBlockFrame);
    switch (block.type) {
        case kNamesBlock:
            return names_body(body, block.big_endian);
        case kSecretsBlock:
            return secrets_body(body, block.big_endian);
        case kJournalBlock:
            return {body.begin(), body.end()};
        default:
            return {};
    }
}

std::uint64_t to_interface_ticks(Nanoseconds time, const InterfaceDescription& interface) {
    constexpr unsigned kNanoDigits = 9;
    constexpr unsigned kMostDigits = 18;
    constexpr unsigned kMaxBits = 60;
    const int128 since =
        static_cast<int128>(time) - static_cast<int128>(interface.offset_seconds) * kSecond;
    const bool binary = (interface.resolution & 0x80U) != 0;
    const unsigned exponent = interface.resolution & 0x7FU;
    if (since <= 0 || exponent > (binary ? kMaxBits : kNanoDigits + kMostDigits)) {
        return 0;
    }
    auto units = static_cast<uint128>(since);
    if (binary) {
        units = ((units << exponent) + kSecond - 1) / kSecond;
    } else if (exponent <= kNanoDigits) {
        const std::uint64_t unit = power_of_10(kNanoDigits - exponent);
        units = (units + unit - 1) / unit;
    } else {
        units *= power_of_10(exponent - kNanoDigits);
    }
    return static_cast<std::uint64_t>(
        std::min<uint128>(units, std::numeric_limits<std::uint64_t>::max()));
}

}  // namespace unecho::capture::pcapng
