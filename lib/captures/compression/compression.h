// SPDX-License-Identifier: BSD-3-Clause
// The compressions of files, a row each, with suffix and first bytes. Inputs are recognised by
// their first bytes, whatever their names; outputs are compressed as their names ask (file_name.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace unecho::capture {

enum class Compression : std::uint8_t { kNone, kGzip, kZstd, kLz4 };

struct CompressionInfo {
    Compression compression;
    std::string_view suffix;
    std::string_view magic;
};

inline constexpr std::array kCompressionTable{
    CompressionInfo{Compression::kGzip, ".gz", {"\x1F\x8B", 2}},
    CompressionInfo{Compression::kZstd, ".zst", {"\x28\xB5\x2F\xFD", 4}},
    CompressionInfo{Compression::kLz4, ".lz4", {"\x04\x22\x4D\x18", 4}},
};

// First bytes that suffice to detect a compression.
inline constexpr std::size_t kCompressionBytes = 4;

[[nodiscard]] std::string_view magic_of(Compression compression);
// Return ".gz, .zst, .lz4".
[[nodiscard]] std::string compression_suffixes();

[[nodiscard]] bool begins_with(std::span<const std::uint8_t> bytes, std::string_view magic);

// Return true at a skippable frame of zstd or lz4, which parallel compressors write first.
[[nodiscard]] bool begins_with_skippable_frame(std::span<const std::uint8_t> bytes);

// Detect the compression from a file's first bytes. A skippable frame is taken for zstd's.
[[nodiscard]] Compression detect_compression(std::span<const std::uint8_t> first);

// The same for a file. Absent: it cannot be read, or is no regular file, to be read again.
[[nodiscard]] std::optional<Compression> detect_compression(const std::string& path);

}  // namespace unecho::capture
