// SPDX-License-Identifier: BSD-3-Clause
// The names of formats for -F and --format; by default the output's file name decides.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "captures/file_name.h"

namespace unecho::app {

inline constexpr std::array<std::pair<std::string_view, capture::FileFormat>, 3> kFormats{
    {{"pcap", capture::FileFormat::kMicrosecondPcap},
     {"nsecpcap", capture::FileFormat::kNanosecondPcap},
     {"pcapng", capture::FileFormat::kPcapng}}};
inline constexpr auto kFormatNames = [] {
    std::array<std::string_view, kFormats.size()> names;
    std::transform(kFormats.begin(), kFormats.end(), names.begin(),
                   [](const auto& format) { return format.first; });
    return names;
}();

}  // namespace unecho::app
