// SPDX-License-Identifier: BSD-3-Clause
// The writers behind writer.h, one a format, and what they share.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "capture/record.h"
#include "capture/sink.h"
#include "capture/writer.h"

namespace unecho::capture {

std::unique_ptr<Writer> make_pcap_writer(Sink sink, FileFormat format);
std::unique_ptr<Writer> make_pcapng_writer(Sink sink);

// Numbers are written as they lie in memory.
static_assert(std::endian::native == std::endian::little);

template <typename Header>
[[nodiscard]] std::span<const std::byte> bytes_of(const Header& header) noexcept {
    return std::as_bytes(std::span(&header, 1));
}

// Whether times in this unit lose something as microseconds.
[[nodiscard]] inline bool needs_nanoseconds(const Interface& interface) noexcept {
    return interface.tick % kMicrosecond != 0;
}

// Calls with each record whose bit is set, until it returns false.
template <typename Call>
void for_each_kept(std::span<const Record> records, std::span<const std::uint64_t> keep,
                   const Call& call) {
    constexpr std::size_t kBits = 64;
    for (std::size_t first = 0; first < records.size(); first += kBits) {
        const std::size_t count = std::min(kBits, records.size() - first);
        std::uint64_t bits = keep[first / kBits] & (~std::uint64_t{0} >> (kBits - count));
        for (; bits != 0; bits &= bits - 1) {
            if (!call(records[first + static_cast<unsigned>(std::countr_zero(bits))])) {
                return;
            }
        }
    }
}

}  // namespace unecho::capture
