// SPDX-License-Identifier: BSD-3-Clause
#include "captures/formats/format_reader.h"

#include <utility>

namespace unecho::capture {

std::unique_ptr<FormatReader> format_reader(std::span<const std::uint8_t> bytes,
                                            WarningList& notes) {
    auto pcapng = pcapng_reader(bytes, notes);
    return pcapng ? std::move(pcapng) : pcap_reader(bytes, notes);
}

}  // namespace unecho::capture
