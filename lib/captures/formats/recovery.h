// SPDX-License-Identifier: BSD-3-Clause
// Recovery from damage: find where the valid records of a capture continue. Private to captures. It
// stands between the bytes and their FormatReader (format_reader.h), which gets sound records only.
//
// pcap: the header behind a record must fit. Its captured length must not exceed the snap length,
// 256 KiB, or the length on the wire, which is 1 B to 256 KiB. Its fraction must be below a second,
// and its time within a day of the last. Otherwise the record itself is in doubt, because its
// length may be wrong. Then search, from the record's second byte, for a place where kChain headers
// in a row fit, or fewer that end with the file. Some programs write headers that are odd in
// something throughout. These pass if kOddChain in a row are no odder, and none that fits is near.
// So does a header with a time far from the last.
//
// pcapng: a block is sound if its length is repeated behind it and what its type requires holds.
// After damage, search for a block of a known type that is followed by the header of another, or by
// the end. Interfaces described after damage are not taken up to the next section, because their
// numbers are unknown; nor are their packets.
//
// One pass: no byte is tried twice as a beginning, and a try reads at most kOddChain headers. So it
// reads ahead kOddChain records of at most 256 KiB, with usual ones some kilobytes. A record of a
// pcap is held until the header behind it has been read.
//
// The chance that random bytes fit: a header of pcap 2^-40 in microseconds (captured length 2^-14,
// fraction 2^-12, time 2^-14) and 2^-30 in nanoseconds; kChain of them 2^-160 and 2^-120; a block
// of pcapng 2^-74 (type 2^-28, length 2^-14, its repetition 2^-32). A damaged packet that carries
// part of a capture less than a day old cannot be told from records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace unecho::capture {

class Recovery {
  public:
    static constexpr unsigned kChain = 4;
    static constexpr unsigned kOddChain = 16;

    using ByteSpan = std::span<const std::uint8_t>;

    struct Step {
        std::size_t sound = 0;  // bytes of records, from the front
        std::size_t skip = 0;   // bytes behind these that are no records
        std::size_t need = 0;   // if both are 0: bytes needed to decide
    };

    virtual ~Recovery() = default;
    Recovery(const Recovery&) = delete;
    Recovery& operator=(const Recovery&) = delete;

    // Divide the bytes into records and damage. The next call's bytes begin behind those reported
    // as sound or skipped. ended: nothing follows, so bytes that need more are a record cut short.
    Step look(ByteSpan bytes, bool ended);

  protected:
    Recovery() = default;

    enum class Answer : std::uint8_t { kNo, kYes, kMore };
    struct ResyncCheck {
        Answer answer = Answer::kNo;
        std::size_t bytes = 0;  // kMore: bytes needed; kYes of check_resync(): the place
    };

    struct WalkResult {
        std::size_t sound = 0;
        std::size_t need = 0;     // bytes needed behind those
        bool damaged = false;     // the bytes behind are no record, or one in doubt
        std::size_t suspect = 0;  // length of the one in doubt
    };
    // Walk from record to record. One begins at the front.
    virtual WalkResult walk(ByteSpan bytes, bool ended) = 0;

    // Check if records continue here, or a little behind. within: inside a record in doubt.
    virtual ResyncCheck check_resync(ByteSpan bytes, std::size_t at, bool within, bool ended) = 0;
    // Accept that place: the next walk() begins there.
    virtual void resync(ByteSpan bytes, std::size_t at) = 0;

  private:
    Step search(ByteSpan bytes, bool ended);

    bool searching_ = false;
    std::size_t suspect_ = 0;   // length of the record in doubt at the front
    std::size_t searched_ = 0;  // places from the front that were rejected
};

}  // namespace unecho::capture
