// SPDX-License-Identifier: BSD-3-Clause
// The reader of snoop (RFC 1761), which Solaris' snoop and its successors write. All numbers are
// big-endian.
#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include <fmt/core.h>

#include "captures/formats/file_signature.h"
#include "captures/formats/format_reader.h"

namespace unecho::capture {
namespace {

constexpr std::array<std::uint8_t, 8> kSnoopMagic{'s', 'n', 'o', 'o', 'p', 0, 0, 0};
constexpr std::size_t kSnoopFileHeader = 16;
constexpr std::size_t kSnoopRecordHeader = 24;
constexpr std::uint32_t kSnoopVersion = 2;

std::uint32_t snoop_number(const std::uint8_t* at) {
    return load<std::uint32_t, std::endian::big>(at);
}

// Return the LINKTYPE_ number of a datalink type.
std::optional<std::uint16_t> snoop_link_type(std::uint32_t type) {
    switch (type) {
        case 0:  // IEEE 802.3
        case 4:  // Ethernet
            return std::uint16_t{1};
        case 2:  // IEEE 802.5
            return std::uint16_t{6};
        case 8:  // FDDI
            return std::uint16_t{10};
        default:
            return std::nullopt;
    }
}

class SnoopReader final : public FormatReader {
  public:
    explicit SnoopReader(WarningList& notes) : FormatReader(notes) {}

    [[nodiscard]] std::size_t header_bytes() const override { return kSnoopFileHeader; }

    Status parse_header(std::span<const std::uint8_t> bytes) override {
        if (!std::equal(kSnoopMagic.begin(), kSnoopMagic.end(), bytes.begin())) {
            return fail(Errc::kUnsupported, "no capture: " + describe_first_bytes(bytes));
        }
        if (const std::uint32_t version = snoop_number(&bytes[8]); version != kSnoopVersion) {
            return fail(Errc::kUnsupported,
                        fmt::format("snoop of version {}, which is not known (2 is)", version));
        }
        const std::uint32_t type = snoop_number(&bytes[12]);
        const std::optional<std::uint16_t> link_type = snoop_link_type(type);
        if (!link_type) {
            return fail(Errc::kUnsupported,
                        "snoop of datalink type " + std::to_string(type) +
                            ", which is not known (0, 2, 4 and 8 are: Ethernet, token ring, FDDI)");
        }
        Interface whole;
        whole.link_type = *link_type;
        interfaces_.push_back(whole);
        return {};
    }

    ParseProgress take(std::span<const std::uint8_t> bytes, Batch& batch) override {
        ParseProgress out;
        while (batch.records.size() < limit_) {
            const std::span<const std::uint8_t> rest = bytes.subspan(out.bytes);
            if (rest.size() < kSnoopRecordHeader) {
                out.need = kSnoopRecordHeader;
                break;
            }
            const std::uint32_t captured = snoop_number(&rest[4]);
            const std::uint32_t size = snoop_number(&rest[8]);  // with header and padding
            if (size > kMaxRecord || size < kSnoopRecordHeader ||
                captured > size - kSnoopRecordHeader) [[unlikely]] {
                end_.why = fmt::format("record of {} bytes with {} of a packet", format_count(size),
                                       format_count(captured));
                out.ended = true;
                break;
            }
            if (rest.size() < size) {
                out.need = size;
                break;
            }
            batch.records.push_back(record_at(rest.data(), captured));
            out.bytes += size;
        }
        return out;
    }

    [[nodiscard]] TruncatedTail describe_tail(std::span<const std::uint8_t> rest) const override {
        return rest.size() < kSnoopRecordHeader
                   ? TruncatedTail{"record header cut short"}
                   : TruncatedTail{"record cut short", snoop_number(&rest[8])};
    }

  private:
    // A fraction of a second or more is added as it is.
    Record record_at(const std::uint8_t* at, std::uint32_t captured) {
        const Nanoseconds fraction = snoop_number(at + 20) * kMicrosecond;
        if (fraction >= kSecond) [[unlikely]] {
            notes_.add(packets_ + 1,
                       "time whose fraction is a second or more: counts on from there");
        }
        return {.time = snoop_number(at + 16) * kSecond + fraction,
                .data = at + kSnoopRecordHeader,
                .length = captured,
                .wire_length = snoop_number(at),
                .interface = 0,
                .number = ++packets_};
    }
};

}  // namespace

std::unique_ptr<FormatReader> snoop_reader(std::span<const std::uint8_t> bytes,
                                           WarningList& notes) {
    const bool begins = bytes.size() >= kMagicBytes &&
                        std::equal(bytes.begin(), bytes.begin() + kMagicBytes, kSnoopMagic.begin());
    return begins ? std::make_unique<SnoopReader>(notes) : nullptr;
}

}  // namespace unecho::capture
