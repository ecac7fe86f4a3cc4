// SPDX-License-Identifier: BSD-3-Clause
#include "capture/format.h"

namespace unecho::capture {

std::unique_ptr<Format> format_of(std::span<const std::uint8_t> bytes, Notes& notes) {
    return pcap_format(bytes, notes);
}

}  // namespace unecho::capture
