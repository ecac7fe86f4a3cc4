// SPDX-License-Identifier: BSD-3-Clause
// The format and compression that the name of an output asks for, such as "taps.pcapng.zst".
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "captures/compression/compression.h"

namespace unecho::capture {

enum class FileFormat : std::uint8_t {
    kPcap,  // microseconds, or nanoseconds if an interface has finer timestamps
    kMicrosecondPcap,
    kNanosecondPcap,
    kPcapng,
};

// Return the compression that the suffix names: .gz, .zst or .lz4, in upper or lower case.
// Errc::kInvalidArgument: the suffix of a compression that is not written.
Result<Compression> compression_from_name(const std::string& path);

// Return the format that the suffix names, also before a suffix of compression. Absent: the name
// does not say. Errc::kInvalidArgument: a format or compression that is not written.
Result<std::optional<FileFormat>> format_from_name(const std::string& path);

// A name in two parts, so that something can be inserted before the suffix: "taps" and
// ".pcapng.zst". The folder belongs to the stem. A name without a suffix is all stem.
struct NameParts {
    std::string stem;
    std::string suffix;
};
NameParts split_name(const std::string& path);

}  // namespace unecho::capture
