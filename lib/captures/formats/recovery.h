// SPDX-License-Identifier: BSD-3-Clause
// Where the records of a damaged capture go on. Private to capture. Stands between the bytes and
// their format (format_reader.h), which sees what is sound alone.
//
// pcap: the header behind a record must fit: captured length at most the snap length (and 256 KiB),
// at most the length on the wire, which is 1 to 256 KiB, fraction below a second, time within a day
// of the last. Else the record itself is in doubt, for its length may be what is wrong: the next
// place after its first byte is sought from which kChain headers in a row fit, or fewer that end
// with the file. A header that is odd in something, as captures of some programs are throughout,
// passes if kOddChain in a row are no odder and none that fits is near, and so does one with a time
// far from the last. pcapng: a block is sound by its length, which stands behind it again, and by
// what must hold for its type. The next place sought is one where a block of a known type is and
// the header of another, or the end, behind it. Interfaces that are described behind damage are not
// taken, as their number is not known, up to the next section; nor are their packets.
//
// One pass: no byte is tried twice as a beginning, and a try reads at most kOddChain headers. It
// looks ahead kOddChain records of at most 256 KiB, of usual ones some kilobytes; a record of a
// pcap is held until the header behind it is there.
//
// Among random bytes a header of a pcap in microseconds fits with 2^-40 (captured length 2^-14,
// fraction 2^-12, time 2^-14), in nanoseconds with 2^-30; kChain of them with 2^-160 and 2^-120. A
// block of pcapng fits with 2^-74 (type 2^-28, length 2^-14, that behind it 2^-32). What cannot be
// told from a record is one: of a capture that was sent over the captured network within a day, in
// a packet that is damaged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace unecho::capture {

class Recovery {
  public:
    static constexpr unsigned kChain = 4;
    static constexpr unsigned kOddChain = 16;

    using ByteSpan = std::span<const std::uint8_t>;

    struct Step {
        std::size_t sound = 0;  // bytes from the front that are records
        std::size_t skip = 0;   // behind these, that are none
        std::size_t need = 0;   // if both are 0: how many there must be to say more
    };

    virtual ~Recovery() = default;
    Recovery(const Recovery&) = delete;
    Recovery& operator=(const Recovery&) = delete;

    // ended: nothing follows the bytes; what is needed then is a record that is cut. What was said
    // to be sound or to be skipped is not among the bytes of the next call.
    Step look(ByteSpan bytes, bool ended);

  protected:
    Recovery() = default;

    enum class Answer : std::uint8_t { kNo, kYes, kMore };
    struct ResyncCheck {
        Answer answer = Answer::kNo;
        std::size_t bytes = 0;  // kMore: from the front, to say more; kYes of resumes(): where
    };

    struct WalkResult {
        std::size_t sound = 0;
        std::size_t need = 0;     // of the bytes behind those
        bool damaged = false;     // these are no record, or one in doubt
        std::size_t suspect = 0;  // bytes of the one in doubt
    };
    // Walks from record to record, from the front, where one begins.
    virtual WalkResult walk(ByteSpan bytes, bool ended) = 0;

    // Whether records go on at this place, or a little behind it. within: one in doubt.
    virtual ResyncCheck check_resync(ByteSpan bytes, std::size_t at, bool within, bool ended) = 0;
    // They do: the next walk() begins there.
    virtual void resync(ByteSpan bytes, std::size_t at) = 0;

  private:
    Step search(ByteSpan bytes, bool ended);

    bool searching_ = false;
    std::size_t suspect_ = 0;   // bytes at the front that are a record in doubt
    std::size_t searched_ = 0;  // places from the front that are none
};

// header: what stands before the records of a pcap, or the beginning of a pcapng.
std::unique_ptr<Recovery> recovery_of(Recovery::ByteSpan header);
std::unique_ptr<Recovery> pcap_recovery(Recovery::ByteSpan header);
std::unique_ptr<Recovery> pcapng_recovery();

}  // namespace unecho::capture
