// SPDX-License-Identifier: BSD-3-Clause
// How a file may be compressed, a row each: what its name ends in, and what it begins with. Inputs
// are told apart by their first bytes, whatever they are called; outputs are what their name says
// (file_name.h).
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

// So many first bytes tell.
inline constexpr std::size_t kCompressionBytes = 4;

[[nodiscard]] std::string_view magic_of(Compression compression);
// ".gz, .zst, .lz4"
[[nodiscard]] std::string compression_suffixes();

[[nodiscard]] bool begins_with(std::span<const std::uint8_t> bytes, std::string_view magic);

// A frame that zstd and lz4 are to skip, which parallel compressors begin with.
[[nodiscard]] bool begins_with_skippable_frame(std::span<const std::uint8_t> bytes);

// What the first bytes are those of. A frame to be skipped is taken for zstd's.
[[nodiscard]] Compression detect_compression(std::span<const std::uint8_t> first);

// The same of a file. Absent: it is no regular file, whose bytes can be read again, or it cannot be
// read.
[[nodiscard]] std::optional<Compression> detect_compression(const std::string& path);

}  // namespace unecho::capture
