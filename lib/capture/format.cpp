// SPDX-License-Identifier: BSD-3-Clause
#include "capture/format.h"

#include <utility>

namespace unecho::capture {

std::unique_ptr<Format> format_of(std::span<const std::uint8_t> bytes, Notes& notes) {
    auto pcapng = pcapng_format(bytes, notes);
    return pcapng ? std::move(pcapng) : pcap_format(bytes, notes);
}

}  // namespace unecho::capture
