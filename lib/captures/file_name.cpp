// SPDX-License-Identifier: BSD-3-Clause
#include "captures/file_name.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/core.h>

#include "base/utf8.h"
#include "captures/output/output.h"

namespace unecho::capture {
namespace {

constexpr std::array<std::pair<std::string_view, FileFormat>, 4> kFormats{
    {{".pcap", FileFormat::kPcap},
     {".cap", FileFormat::kPcap},
     {".dmp", FileFormat::kPcap},
     {".pcapng", FileFormat::kPcapng}}};

// Suffixes that promise another content than the file would have.
constexpr std::array<std::string_view, 13> kOtherCompressions{
    ".bz2", ".xz",  ".lzma", ".lz",  ".lzo", ".z",   ".zip",
    ".7z",  ".rar", ".br",   ".tar", ".tgz", ".zstd"};
constexpr std::array<std::string_view, 20> kOtherFormats{
    ".snoop", ".erf",  ".pklg", ".5vw", ".enc",  ".trc",  ".trace1", ".blf",  ".vwr",  ".tpc",
    ".nettl", ".ntar", ".txt",  ".csv", ".json", ".html", ".xml",    ".pdml", ".psml", ".toml"};

std::string_view last_part(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

// Return null if the name has no suffix of compression.
const CompressionInfo* compression_by_suffix(std::string_view name) {
    const auto* const found =
        std::find_if(kCompressionTable.begin(), kCompressionTable.end(),
                     [&](const CompressionInfo& info) { return has_suffix(name, info.suffix); });
    return found == kCompressionTable.end() ? nullptr : found;
}

template <typename List>
bool ends_with_one_of(const List& list, std::string_view name) {
    return std::any_of(list.begin(), list.end(),
                       [&](std::string_view suffix) { return has_suffix(name, suffix); });
}

std::string_view without_compression(std::string_view name) {
    const CompressionInfo* const found = compression_by_suffix(name);
    name.remove_suffix(found == nullptr ? 0 : found->suffix.size());
    return name;
}

}  // namespace

Result<Compression> compression_from_name(const std::string& path) {
    const std::string_view name = last_part(path);
    if (ends_with_one_of(kOtherCompressions, without_compression(name))) {
        return fail(Errc::kInvalidArgument,
                    fmt::format("{}: is not written so compressed; allowed: {}, or none of them",
                                escaped(path), compression_suffixes()));
    }
    const CompressionInfo* const found = compression_by_suffix(name);
    return found == nullptr ? Compression::kNone : found->compression;
}

Result<std::optional<FileFormat>> format_from_name(const std::string& path) {
    UNECHO_TRY(compression_from_name(path));
    const std::string_view name = without_compression(last_part(path));
    if (ends_with_one_of(kOtherFormats, name)) {
        return fail(
            Errc::kInvalidArgument,
            fmt::format("{}: such files are not written; allowed: .pcap, .pcapng, also {} of them",
                        escaped(path), compression_suffixes()));
    }
    const auto* const found = std::find_if(kFormats.begin(), kFormats.end(), [&](const auto& one) {
        return has_suffix(name, one.first);
    });
    return found == kFormats.end() ? std::nullopt : std::optional(found->second);
}

NameParts split_name(const std::string& path) {
    const std::size_t folder = path.rfind('/') + 1;
    const std::string_view name = last_part(path);
    const std::size_t dot = without_compression(name).rfind('.');
    const std::size_t at =
        folder + (dot == std::string_view::npos ? without_compression(name).size() : dot);
    return {path.substr(0, at), path.substr(at)};
}

}  // namespace unecho::capture
