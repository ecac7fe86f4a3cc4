// SPDX-License-Identifier: BSD-3-Clause
// pcap: draft-ietf-opsawg-pcap. The modified kind of Alexey Kuznetzov has 8 more bytes in each
// record header.
#include <algorithm>
#include <array>
#include <string>

#include "capture/format.h"
#include "capture/pcap_lengths.h"

namespace unecho::capture {
namespace {

constexpr std::size_t kFileHeader = 24;
constexpr std::size_t kRecordHeader = 16;
constexpr std::size_t kModifiedRecordHeader = 24;

template <std::endian kOrder, std::size_t kHeader>
class Pcap final : public Format {
  public:
    Pcap(Nanoseconds tick, Notes& notes) : Format(notes), tick_(tick) {}

    [[nodiscard]] std::size_t header_bytes() const override { return kFileHeader; }

    Status take_header(std::span<const std::uint8_t> bytes) override {
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

    Taken take(std::span<const std::uint8_t> bytes, Batch& batch) override {
        std::vector<Record>& records = batch.records;
        Taken out;
        const std::uint8_t* const end = bytes.data() + bytes.size();
        const std::uint8_t* at = bytes.data();
        const std::size_t limit = limit_;
        while (records.size() < limit) {
            const auto left = static_cast<std::size_t>(end - at);
            if (left < kHeader) {
                out.need = kHeader;
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

    [[nodiscard]] Cut cut(std::span<const std::uint8_t> rest) const override {
        constexpr std::uint32_t kUsual = 256U << 10;
        if (rest.size() < kHeader) {
            return {"record header cut short"};
        }
        const std::uint32_t length = lengths_at(rest.data()).captured;
        const std::uint32_t snap = interfaces_[0].snap_length;
        return {"record cut short", kHeader + length, length > std::max(snap, kUsual)};
    }

  private:
    [[nodiscard]] RecordLengths lengths_at(const std::uint8_t* at) const {
        return in_order(lengths_, load<std::uint32_t, kOrder>(at + 8),
                        load<std::uint32_t, kOrder>(at + 12));
    }

    // The fraction may be a second or more, and counts so.
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
    Lengths lengths_ = Lengths::kCapturedFirst;
};

using Maker = std::unique_ptr<Format> (*)(Nanoseconds tick, Notes& notes);

template <std::endian kOrder, std::size_t kHeader>
std::unique_ptr<Format> make(Nanoseconds tick, Notes& notes) {
    return std::make_unique<Pcap<kOrder, kHeader>>(tick, notes);
}

struct Kind {
    std::array<std::uint8_t, kMagicBytes> magic;
    Nanoseconds tick;
    Maker maker;
};

constexpr std::array kKinds{
    Kind{{0xA1, 0xB2, 0xC3, 0xD4}, kMicrosecond, make<std::endian::big, kRecordHeader>},
    Kind{{0xD4, 0xC3, 0xB2, 0xA1}, kMicrosecond, make<std::endian::little, kRecordHeader>},
    Kind{{0xA1, 0xB2, 0x3C, 0x4D}, 1, make<std::endian::big, kRecordHeader>},
    Kind{{0x4D, 0x3C, 0xB2, 0xA1}, 1, make<std::endian::little, kRecordHeader>},
    Kind{{0xA1, 0xB2, 0xCD, 0x34}, kMicrosecond, make<std::endian::big, kModifiedRecordHeader>},
    Kind{{0x34, 0xCD, 0xB2, 0xA1}, kMicrosecond, make<std::endian::little, kModifiedRecordHeader>},
};

}  // namespace

std::unique_ptr<Format> pcap_format(std::span<const std::uint8_t> bytes, Notes& notes) {
    for (const Kind& kind : kKinds) {
        if (bytes.size() >= kMagicBytes &&
            std::equal(kind.magic.begin(), kind.magic.end(), bytes.begin())) {
            return kind.maker(kind.tick, notes);
        }
    }
    return nullptr;
}

}  // namespace unecho::capture
