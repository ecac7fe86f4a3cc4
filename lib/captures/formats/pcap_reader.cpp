// SPDX-License-Identifier: BSD-3-Clause
// The reader of pcap (draft-ietf-opsawg-pcap). The modified kind has record headers of 24 bytes.
#include <algorithm>
#include <array>
#include <string>

#include "captures/formats/format_reader.h"
#include "captures/formats/pcap_header.h"

namespace unecho::capture {
namespace {

using namespace pcap;

// A record begins with its time. All magic numbers of pcap begin with these two bytes, in one order
// or the other. As a time that is the year 2055, or one second in 65,536.
constexpr bool may_be_magic(std::uint32_t word) noexcept {
    constexpr std::uint32_t kBegin = kMicrosecondMagic >> 16;
    return word >> 16 == kBegin ||
           (word & 0xFFFF) == (__builtin_bswap32(kMicrosecondMagic) & 0xFFFF);
}

// Return true if a file header of pcap begins here: a magic number, version 2.4, and neither time
// zone nor precision, which no program writes. bytes: a record header or more.
template <std::endian kOrder>
bool is_file_header(std::span<const std::uint8_t> bytes) noexcept {
    const auto magic = load<std::uint32_t, kOrder>(bytes.data());
    return (magic == kMicrosecondMagic || magic == kNanosecondMagic || magic == kModifiedMagic) &&
           load<std::uint16_t, kOrder>(bytes.data() + 4) == 2 &&
           load<std::uint16_t, kOrder>(bytes.data() + 6) == 4 &&
           load<std::uint64_t, kOrder>(bytes.data() + 8) == 0;
}

bool begins_capture(std::span<const std::uint8_t> bytes) noexcept {
    return is_file_header<std::endian::little>(bytes) || is_file_header<std::endian::big>(bytes);
}

template <std::endian kOrder, std::size_t kHeader>
class PcapReader final : public FormatReader {
  public:
    PcapReader(Nanoseconds tick, WarningList& notes) : FormatReader(notes), tick_(tick) {}

    [[nodiscard]] std::size_t header_bytes() const override { return kFileHeader; }

    Status parse_header(std::span<const std::uint8_t> bytes) override {
        const auto major = load<std::uint16_t, kOrder>(bytes.data() + 4);
        const auto minor = load<std::uint16_t, kOrder>(bytes.data() + 6);
        const auto lengths = lengths_of(major, minor);
        if (!lengths) {
            return fail(Errc::kUnsupported, "pcap of version " + std::to_string(major) + "." +
                                                std::to_string(minor) +
                                                ", which is not known (2.0 to 2.4 are)");
        }
        lengths_ = *lengths;
        Interface whole;
        whole.snap_length = load<std::uint32_t, kOrder>(bytes.data() + 16);
        const auto word = load<std::uint32_t, kOrder>(bytes.data() + 20);
        whole.link_type = static_cast<std::uint16_t>(word);
        whole.link_flags = static_cast<std::uint16_t>(word >> 16U);
        whole.tick = tick_;
        interfaces_.push_back(whole);
        return {};
    }

    ParseProgress take(std::span<const std::uint8_t> bytes, Batch& batch) override {
        std::vector<Record>& records = batch.records;
        ParseProgress out;
        const std::uint8_t* const end = bytes.data() + bytes.size();
        const std::uint8_t* at = bytes.data();
        const std::size_t limit = limit_;
        while (records.size() < limit) {
            const auto left = static_cast<std::size_t>(end - at);
            if (left < kHeader) {
                out.need = kHeader;
                break;
            }
            if (may_be_magic(load<std::uint32_t, std::endian::little>(at)) &&
                begins_capture({at, left})) [[unlikely]] {
                end_.why = "a second file header, as cat of two captures leaves,";
                end_.remedy = "give the two files themselves";
                out.ended = true;
                break;
            }
            const auto [length, wire_length] = lengths_at(at);
            if (length > kMaxRecord) [[unlikely]] {
                end_.why = "record of " + format_count(length) + " bytes";
                out.ended = true;
                break;
            }
            if (left - kHeader < length) {
                out.need = kHeader + length;
                break;
            }
            records.push_back(record_at(at, length, wire_length));
            at += kHeader + length;
        }
        out.bytes = static_cast<std::size_t>(at - bytes.data());
        return out;
    }

    [[nodiscard]] TruncatedTail describe_tail(std::span<const std::uint8_t> rest) const override {
        if (rest.size() < kHeader) {
            return {"record header cut short"};
        }
        const std::uint32_t length = lengths_at(rest.data()).captured;
        const std::uint32_t snap = interfaces_[0].snap_length;
        return {"record cut short", kHeader + length, length > std::max(snap, kMaxSnapLength)};
    }

  private:
    [[nodiscard]] RecordLengths lengths_at(const std::uint8_t* at) const {
        return order_lengths(lengths_, load<std::uint32_t, kOrder>(at + 8),
                             load<std::uint32_t, kOrder>(at + 12));
    }

    // A fraction of a second or more is added as it is.
    Record record_at(const std::uint8_t* at, std::uint32_t length, std::uint32_t wire_length) {
        const Nanoseconds fraction = load<std::uint32_t, kOrder>(at + 4) * tick_;
        if (fraction >= kSecond) [[unlikely]] {
            notes_.add(packets_ + 1,
                       "time whose fraction is a second or more: counts on from there");
        }
        return {.time = load<std::uint32_t, kOrder>(at) * kSecond + fraction,
                .data = at + kHeader,
                .length = length,
                .wire_length = wire_length,
                .interface = 0,
                .number = ++packets_};
    }

    Nanoseconds tick_;
    LengthOrder lengths_ = LengthOrder::kCapturedFirst;
};

using Maker = std::unique_ptr<FormatReader> (*)(Nanoseconds tick, WarningList& notes);

template <std::endian kOrder, std::size_t kHeader>
std::unique_ptr<FormatReader> make(Nanoseconds tick, WarningList& notes) {
    return std::make_unique<PcapReader<kOrder, kHeader>>(tick, notes);
}

struct Kind {
    std::uint32_t magic;
    Nanoseconds tick;
    Maker little;
    Maker big;
};

template <std::size_t kHeader>
constexpr Kind kind_of(std::uint32_t magic, Nanoseconds tick) {
    return {magic, tick, make<std::endian::little, kHeader>, make<std::endian::big, kHeader>};
}

constexpr std::array kKinds{kind_of<kRecordHeader>(kMicrosecondMagic, kMicrosecond),
                            kind_of<kRecordHeader>(kNanosecondMagic, 1),
                            kind_of<kModifiedRecordHeader>(kModifiedMagic, kMicrosecond)};

}  // namespace

std::unique_ptr<FormatReader> pcap_reader(std::span<const std::uint8_t> bytes, WarningList& notes) {
    if (bytes.size() < kMagicBytes) {
        return nullptr;
    }
    const auto little = load<std::uint32_t, std::endian::little>(bytes.data());
    const auto big = load<std::uint32_t, std::endian::big>(bytes.data());
    for (const Kind& kind : kKinds) {
        if (kind.magic == little || kind.magic == big) {
            return (kind.magic == little ? kind.little : kind.big)(kind.tick, notes);
        }
    }
    return nullptr;
}

}  // namespace unecho::capture
