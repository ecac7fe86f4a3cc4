// SPDX-License-Identifier: BSD-3-Clause
// The parser of a capture format, from memory. Private to captures. It knows no files:
// CaptureSource (capture_source.h) passes it bytes in pieces that may end anywhere.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/result.h"
#include "captures/file_name.h"
#include "captures/formats/recovery.h"
#include "captures/interface_list.h"
#include "captures/record.h"
#include "captures/warning_list.h"

namespace unecho::capture {

// The largest record or block. A greater length is taken for damage.
inline constexpr std::uint32_t kMaxRecord = 64U << 20;

struct ParseProgress {
    std::size_t bytes = 0;  // taken from the front
    std::size_t need = 0;   // bytes that the rest must grow to before more is taken; else 0
    bool ended = false;     // the rest cannot be parsed: see FormatReader::end()
};

class FormatReader {
  public:
    virtual ~FormatReader() = default;
    FormatReader(const FormatReader&) = delete;
    FormatReader& operator=(const FormatReader&) = delete;

    // Bytes before the records. They are passed to parse_header() once, before anything else.
    [[nodiscard]] virtual std::size_t header_bytes() const = 0;
    // Errc::kUnsupported: an unknown version. bytes: kVersionBytes or more, if there are so many.
    virtual Status parse_header(std::span<const std::uint8_t> bytes) = 0;

    // Append records, and blocks if they are kept, up to the limit in all. need is 0 at the limit.
    virtual ParseProgress take(std::span<const std::uint8_t> bytes, Batch& batch) = 0;

    void keep_blocks() { keep_blocks_ = true; }
    void limit(std::size_t records) { limit_ = records; }

    // The bytes left at the end of the input, of which nothing was taken.
    struct TruncatedTail {
        std::string_view what;
        std::size_t size = 0;    // that the record states; 0: unknown
        bool too_large = false;  // no program reads records of that size, so it is damaged
    };
    [[nodiscard]] virtual TruncatedTail describe_tail(std::span<const std::uint8_t> rest) const = 0;

    // Why take() reported its end.
    struct StopReason {
        std::string why;
        bool damage = true;    // false: valid, but beyond what is supported
        std::string remedy{};  // besides --recover; empty: none
    };
    [[nodiscard]] const StopReason& end() const { return end_; }

    [[nodiscard]] InterfaceView interfaces() const { return interfaces_.view(); }
    [[nodiscard]] std::uint64_t packets() const { return packets_; }
    [[nodiscard]] const WarningList& losses() const { return losses_; }  // see source.h

  protected:
    explicit FormatReader(WarningList& notes) : notes_(notes) {}

    WarningList& notes_;
    StopReason end_;
    WarningList losses_;
    InterfaceList interfaces_;
    std::uint64_t packets_ = 0;
    bool keep_blocks_ = false;
    std::size_t limit_ = kMaxBatch;
};

inline constexpr std::size_t kMagicBytes = 4;
inline constexpr std::size_t kVersionBytes = 16;  // within these, each format states its version

struct CaptureFormat {
    std::string_view name;  // for messages
    FileFormat written;     // what its packets are written as, unless the user says otherwise
    // Make the reader of a capture that begins with these kMagicBytes or more, which are part of
    // its header or first block. Return null if it is of another format.
    std::unique_ptr<FormatReader> (*read)(std::span<const std::uint8_t> bytes, WarningList& notes);
    // Make what finds records behind damage, from the header (recovery.h). Null: damage ends the
    // file.
    std::unique_ptr<Recovery> (*recover)(std::span<const std::uint8_t> header);
};

// The formats that are read, one row each.
std::span<const CaptureFormat> capture_formats();

// Return, for example, "pcap and pcapng".
std::string capture_format_names();

template <typename T, std::endian kOrder>
[[nodiscard]] inline T load(const std::uint8_t* at) {
    T value;
    std::memcpy(&value, at, sizeof(value));
    if constexpr (kOrder != std::endian::native) {
        if constexpr (sizeof(T) == 2) {
            value = static_cast<T>(__builtin_bswap16(value));
        } else if constexpr (sizeof(T) == 4) {
            value = static_cast<T>(__builtin_bswap32(value));
        } else {
            value = static_cast<T>(__builtin_bswap64(value));
        }
    }
    return value;
}

}  // namespace unecho::capture
