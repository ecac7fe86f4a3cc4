// SPDX-License-Identifier: BSD-3-Clause
// A decompressor of the members of a gzip file (RFC 1952), one after the other, which may move from
// thread to thread. It knows its position in the file. Private to captures.
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

    // Set the next input: it begins with left() bytes of the last, and ends at that position.
    void take(std::span<const std::uint8_t> bytes, std::uint64_t end);
    void set_output(std::span<std::byte> room);

    enum class Stop : std::uint8_t { kOutputFull, kNeedsInput, kMemberEnd, kChecksum, kEnd };
    // Inflate until output is full, input is used up, a member has ended, or nothing more comes.
    // kChecksum: a checksum was wrong; call defect() first. last: no input follows.
    Stop run(bool last);
    // Declare the end of input: an unfinished member is cut short.
    void finish();

    // Bytes given since set_output().
    [[nodiscard]] std::size_t given() const { return room_ - state_.avail_out; }
    // Bytes of input left: 0 or 1 once more is wanted.
    [[nodiscard]] std::size_t left() const { return state_.avail_in; }
    [[nodiscard]] std::uint64_t position() const { return end_ - state_.avail_in; }
    // Return true before a member or what is in its place, if no defect is left to report.
    [[nodiscard]] bool is_between() const { return part_ == Part::kBetween && !wrong_checksum_; }
    // Return where the member of the last byte given begins.
    [[nodiscard]] std::uint64_t member() const { return member_; }
    // Return true if the stream ended at the end of a member.
    [[nodiscard]] bool ended_between() const { return part_ == Part::kEnd && !ended_early_; }
    [[nodiscard]] bool ended_early() const { return ended_early_; }
    // Report as ByteStream::defect() does. A defect that ends the stream comes after all output.
    std::optional<ByteStream::Defect> defect();
    [[nodiscard]] static ByteStream::Defect wrong_checksum() {
        return {.what = "checksum of compressed data wrong", .ends = false};
    }

  private:
    enum class Part : std::uint8_t { kBetween, kHeader, kData, kZeros, kEnd };

    // Continue with the input at hand. Return false if more is needed.
    bool step(bool last);
    bool step_between(bool last);
    bool step_header();
    bool step_data();
    bool step_zeros();
    void begin_again();

    void end(const char* why, bool incomplete = true);
    void end_early(const char* why, bool incomplete = true);
    // Bytes that isal_inflate() has decompressed and holds back because it found damage.
    [[nodiscard]] std::uint32_t held() const {
        return static_cast<std::uint32_t>(state_.tmp_out_valid - state_.tmp_out_processed);
    }
    void drain();

    Part part_ = Part::kBetween;
    inflate_state state_{};
    // Kept from call to call: isal_inflate() forgets the flags of a header that comes in pieces.
    isal_gzip_header header_{};
    std::uint32_t room_ = 0;
    std::uint64_t end_ = 0;     // where the input ends in the file
    std::uint64_t begins_ = 0;  // where the current member begins
    std::uint64_t member_ = 0;
    bool wrong_checksum_ = false;  // not reported yet
    std::optional<ByteStream::Defect> why_ended_;
    bool ended_early_ = false;
};

}  // namespace unecho::capture
