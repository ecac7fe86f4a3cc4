// SPDX-License-Identifier: BSD-3-Clause
#include "captures/formats/capture_source.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/humanize.h"
#include "base/option_names.h"
#include "captures/compression/decompress_stream.h"
#include "captures/compression/gzip_stream.h"
#include "captures/formats/buffer_pool.h"
#include "captures/formats/file_signature.h"
#include "captures/formats/format_reader.h"
#include "captures/formats/recovery.h"
#include "captures/warning_list.h"

namespace unecho::capture {
namespace {

std::string formats_allowed() {
    return "allowed: " + capture_format_names() + ", also compressed with gzip, zstd or lz4";
}

// The memory that an input has taken from the budget.
class MemoryReservation {
  public:
    explicit MemoryReservation(std::shared_ptr<MemoryBudget> budget) : budget_(std::move(budget)) {
        if (budget_) {
            budget_->count_in();
        }
    }
    ~MemoryReservation() {
        if (budget_) {
            budget_->give_back(bytes_ + large_);
            budget_->count_out();
        }
    }
    MemoryReservation(const MemoryReservation&) = delete;
    MemoryReservation& operator=(const MemoryReservation&) = delete;

    // Grow to so many bytes in all; never shrink.
    Status grow_to(std::uint64_t bytes, const std::string& name) {
        if (!budget_ || bytes <= bytes_) {
            return {};
        }
        if (!budget_->take(bytes - bytes_)) {
            return tl::unexpected(budget_->refusal(name, bytes - bytes_));
        }
        bytes_ = bytes;
        return {};
    }

    // Also account for a buffer larger than a piece, while it exists, and for the one copied to it.
    Status hold_large(std::uint64_t bytes, std::uint64_t record, const std::string& name) {
        if (!budget_) {
            return {};
        }
        budget_->give_back(std::exchange(large_, 0));
        if (budget_->take(bytes)) {
            large_ = bytes;
            return {};
        }
        return budget_->fits_now(bytes) ? Status()
                                        : tl::unexpected(budget_->refusal_of_record(name, record));
    }

  private:
    std::shared_ptr<MemoryBudget> budget_;
    std::uint64_t bytes_ = 0;
    std::uint64_t large_ = 0;
};

// Bytes go from the stream straight into the buffer that batches share. Those between begin_ and
// end_ were read and not delivered. More are read behind end_ while there is room, so that a slow
// pipe does not take a buffer for each read.
class CaptureSource final : public Source {
  public:
    CaptureSource(std::unique_ptr<ByteStream> stream, std::string name, ReadResources room)
        : stream_(std::move(stream)),
          name_(std::move(name)),
          pieces_(std::move(room.pieces)),
          claim_(std::move(room.budget)),
          inflaters_(std::move(room.inflate_pool)),
          recover_(room.recover) {}

    // Read until the format is known.
    Status begin();

    Result<bool> next(Batch& batch) override;

    [[nodiscard]] InterfaceView interfaces() const override { return reader_->interfaces(); }
    [[nodiscard]] FileFormat format() const override { return format_->written; }
    [[nodiscard]] Progress progress() const override { return {stream_->taken(), stream_->size()}; }
    [[nodiscard]] std::vector<Warning> warnings() const override { return notes_.list(); }
    [[nodiscard]] std::vector<Warning> losses() const override {
        return nothing_lost_ ? std::vector<Warning>() : reader_->losses().list();
    }
    void keep_blocks(bool nothing_lost) override {
        reader_->keep_blocks();
        nothing_lost_ = nothing_lost;
    }

  private:
    [[nodiscard]] std::span<const std::uint8_t> unread() const {
        const auto* const data = reinterpret_cast<const std::uint8_t*>(buffer_->data());
        return {data + begin_, end_ - begin_};
    }

    // Remove bytes from the front of unread().
    void take_off(std::size_t bytes) {
        begin_ += bytes;
        offset_ += bytes;
    }
    // Take records from the sound bytes.
    ParseProgress take(Batch& batch);
    void close_gap();

    // Return what --recover would do behind damage, for the end of a warning, or why it does not;
    // empty: it is at work.
    [[nodiscard]] std::string on_recovery() const;
    // Make the reader, unless the bytes begin no capture.
    void find_format();
    // Put the decompressor before a compressed stream. Return false if it is not compressed.
    bool decompress();
    // Bound of a batch's records: they take no more memory than the piece that they lie in.
    [[nodiscard]] std::size_t most_records() const {
        constexpr std::size_t kFewest = 64;
        return std::clamp(pieces_->size() / sizeof(Record), kFewest, kMaxBatch);
    }
    std::string why_too_short();

    // Return false if there are not so many.
    Result<bool> read_until(std::size_t bytes);
    // Read at least one byte. Return false at the end. need: size that unread() must reach.
    Result<bool> read_more(std::size_t need);
    Status make_room(std::size_t need);
    void end_of_stream();
    void note_end();
    [[nodiscard]] std::string left_unread() const;
    void warn_of_defects();
    void note(const ByteStream::Defect& defect);
    void note_times(std::span<const Record> records);

    std::unique_ptr<ByteStream> stream_;
    std::string name_;
    std::shared_ptr<BufferPool> pieces_;
    MemoryReservation claim_;
    std::shared_ptr<InflatePool> inflaters_;
    std::shared_ptr<Bytes> buffer_;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    WarningList notes_;
    std::vector<ByteStream::Defect> defects_;  // of the bytes read last, reported behind them
    std::unique_ptr<FormatReader> reader_;
    const CaptureFormat* format_ = nullptr;  // set by begin()
    Nanoseconds latest_ = 0;
    bool ended_ = false;
    bool nothing_lost_ = false;

    std::uint64_t offset_ = 0;  // position of begin_ in the capture
    bool recover_;
    std::unique_ptr<Recovery> recovery_;
    bool no_more_ = false;       // no byte follows end_
    std::size_t sound_ = 0;      // bytes of records from begin_
    std::size_t skip_ = 0;       // bytes to skip behind these
    std::uint64_t gap_ = 0;      // bytes skipped just before begin_
    std::uint64_t gaps_ = 0;     // number of gaps before that one
    std::uint64_t skipped_ = 0;  // bytes in all gaps
};

Status CaptureSource::begin() {
    const auto no_capture = [&](const std::string& what) {
        return fail(Errc::kUnsupported, fmt::format("{}: {}; {}", name_, what, formats_allowed()));
    };
    UNECHO_TRY(claim_.grow_to(bytes_of_input(pieces_->size()), name_));
    buffer_ = pieces_->take(pieces_->size());
    Result<bool> whole = read_until(kMagicBytes);
    if (whole && decompress()) {
        begin_ = end_ = 0;
        whole = read_until(kMagicBytes);
    }
    if (whole && *whole) {
        find_format();
        if (!reader_) {
            return no_capture("no capture: " + describe_first_bytes(unread()));
        }
        whole = read_until(kVersionBytes);
        whole = whole ? read_until(reader_->header_bytes()) : whole;
    }
    UNECHO_TRY(whole);
    if (!*whole) {
        return no_capture(why_too_short());
    }
    reader_->limit(most_records());
    if (const Status known = reader_->parse_header(unread()); !known) {
        return no_capture(known.error().context);
    }
    if (recover_ && format_->recover != nullptr) {
        recovery_ = format_->recover(unread().first(reader_->header_bytes()));
    }
    take_off(reader_->header_bytes());
    return {};
}

void CaptureSource::find_format() {
    for (const CaptureFormat& format : capture_formats()) {
        if (reader_ = format.read(unread(), notes_); reader_) {
            format_ = &format;
            return;
        }
    }
}

bool CaptureSource::decompress() {
    const std::span<const std::uint8_t> first = unread();
    switch (detect_compression(first)) {
        case Compression::kNone:
            return false;
        case Compression::kGzip:
            stream_ = make_gzip_stream(std::move(stream_), first, pieces_->size(), inflaters_);
            break;
        case Compression::kZstd:
            stream_ = make_zstd_stream(std::move(stream_), first, pieces_->size());
            break;
        case Compression::kLz4:
            stream_ = make_lz4_stream(std::move(stream_), first, pieces_->size());
            break;
    }
    return true;
}

void CaptureSource::warn_of_defects() {
    for (const ByteStream::Defect& defect : defects_) {
        note(defect);
    }
    defects_.clear();
}

void CaptureSource::note(const ByteStream::Defect& defect) {
    const bool left = reader_ && defect.incomplete && defect.ends &&
                      stream_->member().value_or(stream_->taken()) != stream_->size();
    notes_.add(reader_ ? reader_->packets() : 0,
               left ? defect.what + ": " + left_unread() : defect.what, defect.incomplete);
}

std::string CaptureSource::why_too_short() {
    warn_of_defects();
    if (!notes_.list().empty()) {
        return notes_.list().front().text;
    }
    return unread().empty() ? "empty" : fmt::format("too short, {} bytes", unread().size());
}

Result<bool> CaptureSource::next(Batch& batch) {
    batch.clear();
    batch.records.reserve(most_records());
    while (!ended_) {
        const ParseProgress taken = take(batch);
        take_off(taken.bytes);
        ended_ = taken.ended;
        if (ended_) {
            note_end();
        }
        if (!batch.empty()) {
            batch.memory.push_back(buffer_);
            note_times(batch.records);
            return true;
        }
        if (ended_) {
            break;
        }
        if (recovery_ && taken.bytes != 0) {
            continue;
        }
        const Result<bool> more = no_more_ ? false : read_more(taken.need);
        if (!more) {
            ended_ = true;
            return tl::unexpected(more.error());
        }
        if (*more) {
            continue;
        }
        if (!recovery_ || std::exchange(no_more_, true)) {
            end_of_stream();
        }
    }
    return false;
}

ParseProgress CaptureSource::take(Batch& batch) {
    if (!recovery_) {
        return reader_->take(unread(), batch);
    }
    if (sound_ == 0 && skip_ == 0) {
        const Recovery::Step step = recovery_->look(unread(), no_more_);
        sound_ = step.sound;
        skip_ = step.skip;
        if (sound_ == 0 && skip_ == 0) {
            return {.need = step.need};
        }
    }
    if (sound_ == 0) {
        gap_ += skip_;
        return {.bytes = std::exchange(skip_, 0)};
    }
    close_gap();
    ParseProgress taken = reader_->take(unread().first(sound_), batch);
    if (taken.bytes == 0 && !taken.ended && batch.empty()) {  // it needs more than is sound
        taken.bytes = sound_;
        gap_ += sound_;
    }
    sound_ -= taken.bytes;
    taken.need = 0;
    return taken;
}

// Report a gap that has ended. If there are many, only the first ones are reported one by one.
void CaptureSource::close_gap() {
    constexpr std::uint64_t kTold = 16;
    if (gap_ == 0) {
        return;
    }
    skipped_ += gap_;
    if (gaps_++ < kTold) {
        notes_.add(reader_->packets() + 1,
                   fmt::format("damaged: {} bytes skipped at byte {}", format_count(gap_),
                               format_count(offset_ - gap_)),
                   true);
    }
    gap_ = 0;
}

Result<bool> CaptureSource::read_until(std::size_t bytes) {
    while (unread().size() < bytes) {
        const Result<bool> more = read_more(bytes);
        if (!more || !*more) {
            return more;
        }
    }
    return true;
}

Result<bool> CaptureSource::read_more(std::size_t need) {
    warn_of_defects();
    UNECHO_TRY(make_room(need));
    const Result<std::size_t> got = stream_->read({buffer_->data() + end_, buffer_->size() - end_});
    while (std::optional<ByteStream::Defect> defect = stream_->defect()) {
        if (defect->in_front) {
            note(*defect);
        } else {
            defects_.push_back(std::move(*defect));
        }
    }
    UNECHO_TRY(got);
    const std::uint64_t whole = bytes_of_input(pieces_->size()) + stream_->memory();
    UNECHO_TRY(claim_.grow_to(whole, name_));
    end_ += *got;
    return *got != 0;
}

// Leave a buffer before its end if little more would fit. Grow the buffer of a large record while
// the record arrives, so that a wrong length costs no memory.
Status CaptureSource::make_room(std::size_t need) {
    constexpr std::size_t kLittle = 16;  // a sixteenth of a buffer
    const std::size_t unread_bytes = end_ - begin_;
    const std::size_t missing = need > unread_bytes ? need - unread_bytes : 1;
    const std::size_t room = buffer_->size() - end_;
    if (begin_ == 0 && room > 0) {
        return {};
    }
    if (buffer_->size() == pieces_->size() && room >= missing &&
        room >= pieces_->size() / kLittle) {
        return {};
    }
    const std::size_t wanted =
        std::max(std::min(need, 2 * std::max(unread_bytes, pieces_->size() / 2)), unread_bytes + 1);
    const auto if_large = [this](std::size_t bytes) { return bytes > pieces_->size() ? bytes : 0; };
    const std::size_t large = if_large(wanted) + if_large(buffer_->size());
    UNECHO_TRY(claim_.hold_large(large, need, name_));
    std::shared_ptr<Bytes> fresh = pieces_->take(wanted);
    std::memcpy(fresh->data(), buffer_->data() + begin_, unread_bytes);
    buffer_ = std::move(fresh);
    begin_ = 0;
    end_ = unread_bytes;
    return {};
}

// Say how many bytes are not read: of the capture, or if it is compressed, of the file.
std::string CaptureSource::left_unread() const {
    const std::uint64_t size = stream_->size();
    if (size == 0) {
        return "what follows in the pipe is not read";
    }
    const bool compressed = stream_->is_compressed();
    const std::optional<std::uint64_t> member = stream_->member();
    const std::uint64_t taken = compressed ? member.value_or(stream_->taken()) : offset_;
    const std::uint64_t left = size - std::min(size, taken);
    if (left == 0) {
        return "what follows is not read";
    }
    const std::string share =
        format_number("%.1f %%", 100 * static_cast<double>(left) / static_cast<double>(size));
    return fmt::format("{}{} of {}{} bytes ({}) are not read",
                       member       ? "at most "
                       : compressed ? "at least "
                                    : "",
                       format_count(left), format_count(size), compressed ? " compressed" : "",
                       share);
}

void CaptureSource::note_end() {
    const FormatReader::StopReason& end = reader_->end();
    notes_.add(reader_->packets() + 1,
               end.why + " at byte " + format_count(offset_) +
                   (stream_->is_compressed() ? ", decompressed" : "") + ": " + left_unread() +
                   (end.damage ? on_recovery() : "") +
                   (end.damage && !recover_ && !end.remedy.empty() ? ", or " + end.remedy : ""),
               true);
}

std::string CaptureSource::on_recovery() const {
    if (format_->recover == nullptr) {
        return recover_
                   ? fmt::format("; {} does not search {} files", option::kRecover, format_->name)
                   : "";
    }
    return recover_ ? "" : fmt::format("; {} looks for what goes on behind it", option::kRecover);
}

void CaptureSource::end_of_stream() {
    ended_ = true;
    warn_of_defects();
    close_gap();
    if (gaps_ > 1) {
        notes_.add(reader_->packets(),
                   fmt::format("damaged in {} places: {} bytes skipped in all", format_count(gaps_),
                               format_count(skipped_)),
                   true);
    }
    if (begin_ == end_ || stream_->ended_early()) {
        return;
    }
    const FormatReader::TruncatedTail describe_tail = reader_->describe_tail(unread());
    if (!describe_tail.too_large) {
        notes_.add(reader_->packets() + 1, describe_tail.what);
        return;
    }
    notes_.add(reader_->packets() + 1,
               fmt::format("{}: it has {} bytes at byte {}, and {} are there{}", describe_tail.what,
                           format_count(describe_tail.size), format_count(offset_),
                           format_count(unread().size()), on_recovery()),
               true);
}

void CaptureSource::note_times(std::span<const Record> records) {
    constexpr Nanoseconds kFar = kSecond;  // a longer step back is an epoch: base/packet_clock.h
    Nanoseconds latest = latest_;
    for (const Record& record : records) {
        if (record.time < latest) [[unlikely]] {
            notes_.add(record.number, "time steps back");
            latest = latest - record.time > kFar ? record.time : latest;
        }
        latest = std::max(latest, record.time);
    }
    latest_ = latest;
}

}  // namespace

Result<std::unique_ptr<Source>> open_capture_source(std::unique_ptr<ByteStream> stream,
                                                    const std::string& name, ReadResources room) {
    auto input = std::make_unique<CaptureSource>(std::move(stream), name, std::move(room));
    UNECHO_TRY(input->begin());
    return input;
}

Result<std::unique_ptr<Source>> open_capture_source(std::unique_ptr<ByteStream> stream,
                                                    const std::string& name,
                                                    std::size_t buffer_bytes, bool recover) {
    return open_capture_source(
        std::move(stream), name,
        {std::make_shared<BufferPool>(buffer_bytes), nullptr, recover, nullptr});
}

}  // namespace unecho::capture
