// SPDX-License-Identifier: BSD-3-Clause
// Members of a gzip file (RFC 1952), one after the other, from bytes as they come to where there is
// room; on whatever thread. Knows where in the file it is. Private to capture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <isa-l/igzip_lib.h>

#include "captures/formats/byte_stream.h"

namespace unecho::capture {

class Inflater {
  public:
    Inflater();
    Inflater(const Inflater&) = delete;
    Inflater& operator=(const Inflater&) = delete;

    // The next bytes, which end at that place of the file. Of those before at most one was left,
    // with which they begin.
    void take(std::span<const std::uint8_t> bytes, std::uint64_t end);
    void set_output(std::span<std::byte> room);

    enum class Stop : std::uint8_t { kOutputFull, kNeedsInput, kMemberEnd, kChecksum, kEnd };
    // Until there is no room or no input any more, a member has ended, also with a wrong checksum
    // that trouble() is to tell first, or nothing more comes. last: there is no input behind this.
    Stop run(bool last);
    // There is no more input: what is begun is cut short.
    void finish();

    // Given since there was room.
    [[nodiscard]] std::size_t given() const { return room_ - state_.avail_out; }
    // Of input, 0 or 1 once it wants more.
    [[nodiscard]] std::size_t left() const { return state_.avail_in; }
    [[nodiscard]] std::uint64_t position() const { return end_ - state_.avail_in; }
    // Before a member, or what there is in place of one, and nothing to tell of those before.
    [[nodiscard]] bool is_between() const { return part_ == Part::kBetween && !wrong_checksum_; }
    // Where the member begins of which the last byte given is.
    [[nodiscard]] std::uint64_t member() const { return member_; }
    // Whether the end was one of a member.
    [[nodiscard]] bool ended_between() const { return part_ == Part::kEnd && !ended_early_; }
    [[nodiscard]] bool ended_early() const { return ended_early_; }
    // As ByteStream::trouble(); that which ends all of it once all before it was given.
    std::optional<ByteStream::Defect> defect();
    [[nodiscard]] static ByteStream::Defect wrong_checksum() {
        return {.what = "checksum of compressed data wrong", .ends = false};
    }

  private:
    enum class Part : std::uint8_t { kBetween, kHeader, kData, kZeros, kEnd };

    // Goes on with what is there. False: it takes more input.
    bool step(bool last);
    bool step_between(bool last);
    bool step_header();
    bool step_data();
    bool step_zeros();
    void begin_again();

    void end(const char* why, bool incomplete = true);
    void end_early(const char* why, bool incomplete = true);
    // isal_inflate() holds back what it has decompressed when it finds damage.
    [[nodiscard]] std::uint32_t held() const {
        return static_cast<std::uint32_t>(state_.tmp_out_valid - state_.tmp_out_processed);
    }
    void drain();

    Part part_ = Part::kBetween;
    inflate_state state_{};
    // Kept from call to call: isal_inflate() forgets the flags of a header that comes in pieces.
    isal_gzip_header header_{};
    std::uint32_t room_ = 0;
    std::uint64_t end_ = 0;     // of the input, in the file
    std::uint64_t begins_ = 0;  // the member it is in
    std::uint64_t member_ = 0;
    bool wrong_checksum_ = false;  // not told yet
    std::optional<ByteStream::Defect> why_ended_;
    bool ended_early_ = false;
};

}  // namespace unecho::capture
