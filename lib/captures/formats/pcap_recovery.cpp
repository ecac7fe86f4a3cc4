// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <bit>

#include "captures/formats/format_reader.h"
#include "captures/formats/pcap_header.h"
#include "captures/formats/recovery.h"

namespace unecho::capture {
namespace {

using namespace pcap;

constexpr std::int64_t kDay = 86'400;

struct Head {
    std::uint32_t seconds;
    std::uint32_t fraction;
    std::uint32_t length;
    std::uint32_t wire_length;
};

bool near(std::uint32_t seconds, std::uint32_t other) {
    const std::int64_t apart = std::int64_t{seconds} - other;
    return apart <= kDay && -apart <= kDay;
}

// Oddities that a header may have and still begin a record.
enum Odd : unsigned { kFar = 1, kFraction = 2, kLonger = 4, kSnapped = 8, kEmpty = 16, kWide = 32 };

class PcapRecovery final : public Recovery {
  public:
    struct Kind {
        bool big_endian = false;
        std::size_t header = kRecordHeader;
        std::uint32_t second = 1'000'000;
        std::uint32_t snap_length = 0;  // 0: unlimited
        LengthOrder lengths = LengthOrder::kCapturedFirst;
    };
    explicit PcapRecovery(const Kind& kind)
        : kind_(kind), longest_(std::max(kind.snap_length, kMaxSnapLength)) {}

  protected:
    WalkResult walk(ByteSpan bytes, bool ended) override;
    ResyncCheck check_resync(ByteSpan bytes, std::size_t at, bool within, bool ended) override;
    void resync(ByteSpan bytes, std::size_t at) override {
        begun_ = true;
        take_time(head_at(bytes, at).seconds);
    }

  private:
    [[nodiscard]] Head head_at(ByteSpan bytes, std::size_t at) const {
        const std::uint8_t* const from = bytes.data() + at;
        const auto number = [&](std::size_t offset) {
            return kind_.big_endian ? load<std::uint32_t, std::endian::big>(from + offset)
                                    : load<std::uint32_t, std::endian::little>(from + offset);
        };
        const RecordLengths lengths = order_lengths(kind_.lengths, number(8), number(12));
        return {number(0), number(4), lengths.captured, lengths.wire};
    }
    [[nodiscard]] bool possible(const Head& head) const {
        return head.length <= longest_ &&
               (head.seconds | head.fraction | head.length | head.wire_length) != 0;
    }
    // Return the header's oddities. Its time is compared with `before` and with those known.
    [[nodiscard]] unsigned odd(const Head& head, std::uint32_t before) const;
    [[nodiscard]] bool near_known(std::uint32_t seconds) const {
        return timed_ && (near(seconds, last_) || near(seconds, anchor_));
    }
    // Check if from there on so many headers in a row have only the allowed oddities, or as many as
    // the file has. If the file ends within a record, half of them suffice.
    enum class Times : std::uint8_t { kAny, kStayFar };
    [[nodiscard]] ResyncCheck chain(ByteSpan bytes, std::size_t at, bool ended, unsigned count,
                                    unsigned allowed, std::uint32_t before,
                                    Times times = Times::kAny) const;
    // Check if a header fits in all respects, and so do those behind it.
    [[nodiscard]] ResyncCheck fits(ByteSpan bytes, std::size_t at, bool ended) const;
    // Find the first place in a range where a header fits.
    [[nodiscard]] ResyncCheck fitting(ByteSpan bytes, std::size_t first, std::size_t last,
                                      bool ended) const;
    // Check if a record begins at `at`, behind the one at `before`.
    ResyncCheck follows(ByteSpan bytes, std::size_t before, std::size_t at, bool ended);
    void take_time(std::uint32_t seconds);

    Kind kind_;
    std::uint32_t longest_;
    unsigned usual_ = 0;  // oddities that the capture has shown
    bool begun_ = false;  // the header at the front was checked
    bool timed_ = false;
    std::uint32_t last_ = 0;
    std::uint32_t anchor_ = 0;  // time before the last jump of more than a day
};

unsigned PcapRecovery::odd(const Head& head, std::uint32_t before) const {
    return (near(head.seconds, before) || near_known(head.seconds) ? 0U : kFar) |
           (head.fraction >= kind_.second ? kFraction : 0U) |
           (head.length > head.wire_length ? kLonger : 0U) |
           (kind_.snap_length != 0 && head.length > kind_.snap_length ? kSnapped : 0U) |
           (head.wire_length == 0 ? kEmpty : 0U) | (head.wire_length > kMaxSnapLength ? kWide : 0U);
}

void PcapRecovery::take_time(std::uint32_t seconds) {
    if (!near_known(seconds)) {
        anchor_ = timed_ ? last_ : seconds;
    }
    timed_ = true;
    last_ = seconds;
}

Recovery::ResyncCheck PcapRecovery::chain(ByteSpan bytes, std::size_t at, bool ended,
                                          unsigned count, unsigned allowed, std::uint32_t before,
                                          Times times) const {
    for (unsigned seen = 0; seen < count; ++seen) {
        if (at == bytes.size() && ended) {
            break;
        }
        if (bytes.size() < at + kind_.header) {
            const bool enough = 2 * seen >= count && (timed_ || seen == count);
            return ended ? ResyncCheck{enough ? Answer::kYes : Answer::kNo}
                         : ResyncCheck{Answer::kMore, at + kind_.header};
        }
        const Head head = head_at(bytes, at);
        if (head.length > kMaxSnapLength || !possible(head) ||
            (odd(head, before) & ~allowed) != 0) {
            return {Answer::kNo};
        }
        if (times == Times::kStayFar && near_known(head.seconds)) {
            return {Answer::kNo};  // records inside a packet: the next record follows it
        }
        before = head.seconds;
        at += kind_.header + head.length;
    }
    return {Answer::kYes};
}

Recovery::ResyncCheck PcapRecovery::fits(ByteSpan bytes, std::size_t at, bool ended) const {
    if (bytes.size() < at + kind_.header) {
        return ended ? ResyncCheck{Answer::kNo} : ResyncCheck{Answer::kMore, at + kind_.header};
    }
    const Head head = head_at(bytes, at);
    if (head.length > kMaxSnapLength || head.wire_length == 0 ||
        (odd(head, timed_ ? last_ : head.seconds) & ~usual_) != 0) {
        return {Answer::kNo};
    }
    return chain(bytes, at + kind_.header + head.length, ended, kChain - 1, usual_, head.seconds);
}

Recovery::ResyncCheck PcapRecovery::fitting(ByteSpan bytes, std::size_t first, std::size_t last,
                                            bool ended) const {
    for (std::size_t at = first; at < last; ++at) {
        ResyncCheck judged = fits(bytes, at, ended);
        if (judged.answer != Answer::kNo) {
            judged.bytes = judged.answer == Answer::kYes ? at : judged.bytes;
            return judged;
        }
    }
    return {Answer::kNo};
}

// Accept an odd header only if none that fits is near. If four bytes were lost, length and wire
// length change places, and all headers from there on have the same oddity.
Recovery::ResyncCheck PcapRecovery::follows(ByteSpan bytes, std::size_t before, std::size_t at,
                                            bool ended) {
    const Head head = head_at(bytes, at);
    if (!possible(head)) {
        return {Answer::kNo};
    }
    const unsigned news = odd(head, timed_ ? last_ : head.seconds) & ~usual_;
    if (news == 0) {
        take_time(head.seconds);
        return {Answer::kYes};
    }
    const std::size_t next = at + kind_.header + head.length;
    ResyncCheck judged = chain(bytes, next, ended, kOddChain - 1, usual_ | news, head.seconds);
    if (judged.answer != Answer::kYes) {
        return judged;
    }
    const ResyncCheck other = fitting(bytes, before + 1, std::min(next, bytes.size()), ended);
    if (other.answer != Answer::kNo) {
        return {other.answer == Answer::kYes ? Answer::kNo : Answer::kMore, other.bytes};
    }
    usual_ |= news & ~unsigned{kFar};
    take_time(head.seconds);
    return judged;
}

Recovery::WalkResult PcapRecovery::walk(ByteSpan bytes, bool ended) {
    std::size_t at = 0;
    const auto stop = [&at](const ResyncCheck& judged, std::size_t suspect) {
        return judged.answer == Answer::kMore
                   ? WalkResult{.sound = at, .need = judged.bytes - at}
                   : WalkResult{.sound = at, .damaged = true, .suspect = suspect};
    };
    for (;;) {
        if (bytes.size() < at + kind_.header) {
            return {.sound = at, .need = kind_.header};
        }
        if (!begun_) {
            const ResyncCheck judged = follows(bytes, at, at, ended);
            if (judged.answer != Answer::kYes) {
                return stop(judged, 0);
            }
            begun_ = true;
        }
        const std::size_t size = kind_.header + head_at(bytes, at).length;
        const std::size_t next = at + size;
        if (bytes.size() < next + kind_.header) {
            if (ended && bytes.size() < next) {
                return {.sound = at, .damaged = true, .suspect = size};
            }
            return ended ? WalkResult{.sound = next, .need = kind_.header}
                         : WalkResult{.sound = at, .need = size + kind_.header};
        }
        const ResyncCheck judged = follows(bytes, at, next, ended);
        if (judged.answer != Answer::kYes) {
            return stop(judged, size);
        }
        at = next;
    }
}

Recovery::ResyncCheck PcapRecovery::check_resync(ByteSpan bytes, std::size_t at, bool within,
                                                 bool ended) {
    ResyncCheck judged = fits(bytes, at, ended);
    // Accept a far time outside a record in doubt only. A header whose first bytes are lost has
    // other bytes for its time, and these lie in the packet before.
    if (judged.answer != Answer::kNo || within || !timed_ || bytes.size() < at + kind_.header) {
        judged.bytes = judged.answer == Answer::kYes ? at : judged.bytes;
        return judged;
    }
    const Head head = head_at(bytes, at);
    if (head.length > kMaxSnapLength || head.wire_length == 0 ||
        (odd(head, last_) & ~usual_) != kFar) {
        return {Answer::kNo};
    }
    const std::size_t next = at + kind_.header + head.length;
    judged = chain(bytes, next, ended, kOddChain - 1, usual_, head.seconds, Times::kStayFar);
    if (judged.answer != Answer::kYes) {
        return judged;
    }
    const ResyncCheck other = fitting(bytes, at + 1, std::min(next, bytes.size()), ended);
    return other.answer == Answer::kNo ? ResyncCheck{Answer::kYes, at} : other;
}

}  // namespace

std::unique_ptr<Recovery> pcap_recovery(Recovery::ByteSpan header) {
    if (header.size() < kFileHeader) {
        return nullptr;
    }
    PcapRecovery::Kind kind;
    const auto little = load<std::uint32_t, std::endian::little>(header.data());
    const auto big = load<std::uint32_t, std::endian::big>(header.data());
    const auto begins_with = [&](std::uint32_t magic) {
        kind.big_endian = big == magic;
        return kind.big_endian || little == magic;
    };
    if (begins_with(kNanosecondMagic)) {
        kind.second = 1'000'000'000;
    } else if (begins_with(kModifiedMagic)) {
        kind.header = kModifiedRecordHeader;
    } else if (!begins_with(kMicrosecondMagic)) {
        return nullptr;
    }
    const auto version = [&](std::size_t at) {
        return kind.big_endian ? load<std::uint16_t, std::endian::big>(header.data() + at)
                               : load<std::uint16_t, std::endian::little>(header.data() + at);
    };
    kind.lengths = lengths_of(version(4), version(6)).value_or(LengthOrder::kCapturedFirst);
    const auto snap = kind.big_endian
                          ? load<std::uint32_t, std::endian::big>(header.data() + 16)
                          : load<std::uint32_t, std::endian::little>(header.data() + 16);
    kind.snap_length = snap <= kMaxRecord ? snap : 0;
    return std::make_unique<PcapRecovery>(kind);
}

}  // namespace unecho::capture
