// SPDX-License-Identifier: BSD-3-Clause
// What the name of an output says of its contents: "taps.pcapng.zst".
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "captures/compression/compression.h"

namespace unecho::capture {

enum class FileFormat : std::uint8_t {
    kPcap,  // in microseconds, or nanoseconds where an interface has finer times than these
    kMicrosecondPcap,
    kNanosecondPcap,
    kPcapng,
};

// .gz, .zst, .lz4, in any case of letters. Errc::kInvalidArgument: what others compress to.
Result<Compression> compression_from_name(const std::string& path);

// Also behind a suffix of compression; absent: the name says nothing, as that of a pipe.
// Errc::kInvalidArgument: that of a format that is not written, or of such a compression.
Result<std::optional<FileFormat>> format_from_name(const std::string& path);

// A name in two, so that something can stand before its suffix: "taps" and ".pcapng.zst". The
// folder belongs to the first; a name without a suffix has all of it there.
struct NameParts {
    std::string stem;
    std::string suffix;
};
NameParts split_name(const std::string& path);

}  // namespace unecho::capture
