// SPDX-License-Identifier: BSD-3-Clause
#include "captures/compression/compression.h"

#include <algorithm>

#include "base/join_text.h"
#include "captures/formats/byte_stream.h"

namespace unecho::capture {

std::string_view magic_of(Compression compression) {
    const auto* const found =
        std::find_if(kCompressionTable.begin(), kCompressionTable.end(),
                     [&](const CompressionInfo& info) { return info.compression == compression; });
    return found == kCompressionTable.end() ? std::string_view() : found->magic;
}

std::string compression_suffixes() {
    return join_text(kCompressionTable, ", ", &CompressionInfo::suffix);
}

bool begins_with(std::span<const std::uint8_t> bytes, std::string_view magic) {
    return bytes.size() >= magic.size() &&
           std::equal(magic.begin(), magic.end(), bytes.begin(),
                      [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; });
}

bool begins_with_skippable_frame(std::span<const std::uint8_t> bytes) {
    return bytes.size() >= kCompressionBytes && (bytes[0] & 0xF0U) == 0x50 && bytes[1] == 0x2A &&
           bytes[2] == 0x4D && bytes[3] == 0x18;
}

Compression detect_compression(std::span<const std::uint8_t> first) {
    for (const CompressionInfo& info : kCompressionTable) {
        if (begins_with(first, info.magic)) {
            return info.compression;
        }
    }
    return begins_with_skippable_frame(first) ? Compression::kZstd : Compression::kNone;
}

std::optional<Compression> detect_compression(const std::string& path) {
    if (!regular_file_id(path)) {
        return std::nullopt;
    }
    const auto file = open_file(path);
    std::array<std::uint8_t, kCompressionBytes> first{};
    std::size_t have = 0;
    for (std::size_t got = 1; file && got != 0 && have < first.size(); have += got) {
        const Result<std::size_t> read =
            (*file)->read(std::as_writable_bytes(std::span(first).subspan(have)));
        if (!read) {
            return std::nullopt;
        }
        got = *read;
    }
    return file ? std::optional(detect_compression(std::span(first).first(have))) : std::nullopt;
}

}  // namespace unecho::capture
