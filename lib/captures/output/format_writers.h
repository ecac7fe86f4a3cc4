// SPDX-License-Identifier: BSD-3-Clause
// The writers behind writer.h, one for each format, and what they share.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <span>
#include <vector>

#include "captures/output/buffered_output.h"
#include "captures/output/writer.h"
#include "captures/record.h"

namespace unecho::capture {

std::unique_ptr<Writer> make_pcap_writer(BufferedOutput sink, FileFormat format);
std::unique_ptr<Writer> make_pcapng_writer(BufferedOutput sink);

// Numbers are written as they are in memory.
static_assert(std::endian::native == std::endian::little);

template <typename Header>
[[nodiscard]] std::span<const std::byte> bytes_of(const Header& header) noexcept {
    return std::as_bytes(std::span(&header, 1));
}

// Return true if times of this interface lose precision in microseconds.
[[nodiscard]] inline bool needs_nanoseconds(const Interface& interface) noexcept {
    return interface.tick % kMicrosecond != 0;
}

// Warnings about packets or blocks that the output lacks: of each kind the first, and how many.
template <std::size_t kKinds>
class LossWarnings {
  public:
    explicit LossWarnings(const std::array<const char*, kKinds>& texts) {
        for (std::size_t kind = 0; kind < kKinds; ++kind) {
            kinds_[kind] = {.file = 0, .number = 0, .times = 0, .text = texts[kind]};
        }
    }

    // number: of the packet, if it concerns one.
    void note(std::size_t kind, std::uint32_t file, std::uint64_t number = 0) {
        Warning& loss = kinds_[kind];
        if (loss.times++ == 0) {
            loss.file = file;
            loss.number = number;
        }
    }

    [[nodiscard]] bool has(std::size_t kind) const { return kinds_[kind].times != 0; }

    [[nodiscard]] std::vector<Warning> warnings() const {
        std::vector<Warning> out;
        std::copy_if(kinds_.begin(), kinds_.end(), std::back_inserter(out),
                     [](const Warning& loss) { return loss.times != 0; });
        return out;
    }

  private:
    std::array<Warning, kKinds> kinds_;
};

// Call `call` with each record whose bit is set, until it returns false.
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
