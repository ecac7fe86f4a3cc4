// SPDX-License-Identifier: BSD-3-Clause
#include "captures/output/rotating_writer.h"

#include <array>
#include <climits>
#include <ctime>
#include <utility>
#include <vector>

#include "base/os/clock.h"
#include "captures/compression/compression.h"
#include "captures/output/batch_cursor.h"
#include "captures/output/output.h"

namespace unecho::capture {
namespace {

// Packets of an interval that has ended may still arrive for so long.
constexpr Nanoseconds kOnTheWay = kSecond;

std::string with_time(const std::string& path, Nanoseconds time) {
    const auto seconds = static_cast<std::time_t>(time / kSecond);
    std::tm parts{};
    std::array<char, PATH_MAX> text{};
    const bool good = ::localtime_r(&seconds, &parts) != nullptr &&
                      std::strftime(text.data(), text.size(), path.c_str(), &parts) != 0;
    return good ? text.data() : path;
}

std::string suffix_of_compression(const std::string& path) {
    for (const CompressionInfo& one : kCompressionTable) {
        if (has_suffix(path, one.suffix)) {
            return path.substr(path.size() - one.suffix.size());
        }
    }
    return "";
}

// Return tcpdump's number of digits: one for 10 files, two for 11.
std::size_t digits_of(std::uint64_t files) {
    std::size_t digits = 0;
    for (std::uint64_t last = files == 0 ? 0 : files - 1; last != 0; last /= 10) {
        ++digits;
    }
    return digits;
}

// Return the most bytes that a packet takes in a file.
std::uint64_t most_bytes_of(const Record& record) {
    constexpr std::uint64_t kAround = 64;
    return record.length + kAround;
}

class RotatingWriter final : public Writer {
  public:
    RotatingWriter(std::string path, const Rotation& rotation, OpenPart open, bool keeps_blocks,
                   Nanoseconds now, std::shared_ptr<RotationResult> end)
        : path_(std::move(path)),
          rotation_(rotation),
          open_(std::move(open)),
          end_(std::move(end)),
          began_(now / kSecond * kSecond),
          keeps_blocks_(keeps_blocks) {}

    Status begin(std::span<const Interface> interfaces) override;
    Status write(std::span<const Record> records, std::span<const std::uint64_t> keep,
                 std::span<const Interface> interfaces, const BatchExtras& beside) override;
    Status close() override { return part_ ? close_part() : Status(); }
    [[nodiscard]] std::uint64_t bytes() const override {
        return finished_bytes_ + (part_ ? part_->bytes() : 0);
    }
    [[nodiscard]] std::vector<Warning> warnings() const override {
        return merge_warnings(warnings_, part_.get());
    }
    [[nodiscard]] bool keeps_blocks() const override { return keeps_blocks_; }

  private:
    [[nodiscard]] bool is_last() const {
        return !rotation_.counted() && rotation_.files != 0 && intervals_ >= rotation_.files;
    }
    [[nodiscard]] Nanoseconds interval_end() const { return began_ + rotation_.interval; }
    [[nodiscard]] bool is_behind(Nanoseconds time) const {
        return rotation_.interval != 0 && time >= interval_end();
    }
    [[nodiscard]] bool is_full() const {
        return (rotation_.bytes != 0 && most_bytes_ > rotation_.bytes) ||
               (rotation_.packets != 0 && packets_ >= rotation_.packets);
    }
    Status before(BatchCursor& rest, std::size_t record);
    Status rotate_by_time(BatchCursor& rest, std::size_t record);
    Status rotate_by_size(BatchCursor& rest, std::size_t record);
    Status next(std::span<const Interface> interfaces);
    Status end(BatchCursor& rest, std::size_t record);
    Status close_part();

    std::string path_;
    Rotation rotation_;
    OpenPart open_;
    std::shared_ptr<RotationResult> end_;
    Nanoseconds began_;      // start of the interval
    Nanoseconds named_ = 0;  // the time in the current file's name
    std::uint64_t intervals_ = 1;
    std::uint64_t count_ = 0;  // files of the interval before the current one
    std::unique_ptr<Writer> part_;
    bool keeps_blocks_;
    std::uint64_t most_bytes_ = 0;  // upper bound of the current file's bytes
    std::uint64_t packets_ = 0;     // in the current file
    std::uint64_t finished_bytes_ = 0;
    std::vector<Warning> warnings_;  // of finished files
};

Status RotatingWriter::next(std::span<const Interface> interfaces) {
    UNECHO_TRY(close());
    auto opened = open_(rotated_name(path_, rotation_, named_, count_));
    UNECHO_TRY(opened);
    part_ = *std::move(opened);
    packets_ = 0;
    const Status begun = part_->begin(interfaces);
    most_bytes_ = part_->bytes();
    return begun;
}

Status RotatingWriter::begin(std::span<const Interface> interfaces) {
    named_ = began_;
    return next(interfaces);
}

Status RotatingWriter::close_part() {
    const Status closed = part_->close();
    finished_bytes_ += part_->bytes();
    warnings_ = merge_warnings(std::move(warnings_), part_.get());
    part_.reset();
    return closed;
}

Status RotatingWriter::rotate_by_time(BatchCursor& rest, std::size_t record) {
    const Nanoseconds time = rest.records()[record].time;
    began_ += (time - began_) / rotation_.interval * rotation_.interval;
    if (with_time(path_, time) == with_time(path_, named_)) {
        return {};
    }
    named_ = time;
    count_ = 0;
    ++intervals_;
    UNECHO_TRY(rest.write_until(*part_, record, rest.blocks().size()));
    return next(rest.interfaces());
}

// Rotate by the file's real size: most_bytes_ is only a bound, because of comments and padding.
Status RotatingWriter::rotate_by_size(BatchCursor& rest, std::size_t record) {
    UNECHO_TRY(rest.write_until(*part_, record, rest.blocks().size()));
    most_bytes_ = part_->bytes();
    if (!is_full()) {
        return {};
    }
    ++count_;
    count_ = rotation_.files != 0 ? count_ % rotation_.files : count_;
    return next(rest.interfaces());
}

Status RotatingWriter::end(BatchCursor& rest, std::size_t record) {
    end_->full = true;
    for (std::size_t i = record; i < rest.records().size(); ++i) {
        end_->after_last_file += rest.kept(i) ? 1 : 0;
    }
    return rest.write_until(*part_, record, rest.blocks().size());
}

// Prepare for a kept packet: rotate if it belongs into the next file.
Status RotatingWriter::before(BatchCursor& rest, std::size_t record) {
    if (is_behind(rest.records()[record].time)) {
        UNECHO_TRY(rotate_by_time(rest, record));
    }
    if (is_full()) {
        UNECHO_TRY(rotate_by_size(rest, record));
    }
    ++packets_;
    most_bytes_ += most_bytes_of(rest.records()[record]);
    return {};
}

Status RotatingWriter::write(std::span<const Record> records, std::span<const std::uint64_t> keep,
                             std::span<const Interface> interfaces, const BatchExtras& beside) {
    BatchCursor rest(records, keep, interfaces, beside);
    if (end_->full || (records.empty() && is_last() && unix_now() >= interval_end() + kOnTheWay)) {
        return end(rest, 0);
    }
    for (const Comment& one : beside.comments) {
        most_bytes_ += one.text.size();
    }
    for (std::size_t i = 0; i < records.size(); ++i) {
        if (is_last() && is_behind(records[i].time)) {
            return end(rest, i);
        }
        if (rest.kept(i)) {
            UNECHO_TRY(before(rest, i));
        }
    }
    return rest.write_until(*part_, records.size(), rest.blocks().size());
}

}  // namespace

std::string rotated_name(const std::string& path, const Rotation& rotation, Nanoseconds time,
                         std::uint64_t count) {
    const std::string name = rotation.interval != 0 ? with_time(path, time) : path;
    const std::size_t digits = rotation.counted() ? digits_of(rotation.files) : 0;
    if (count == 0 && digits == 0) {
        return name;
    }
    std::string number = std::to_string(count);
    number.insert(0, digits > number.size() ? digits - number.size() : 0, '0');
    const std::string suffix = suffix_of_compression(name);
    return name.substr(0, name.size() - suffix.size()) + number + suffix;
}

bool has_time_format(const std::string& path) {
    for (std::size_t at = path.find('%'); at != std::string::npos; at = path.find('%', at + 2)) {
        if (at + 1 < path.size() && path[at + 1] != '%') {
            return true;
        }
    }
    return false;
}

std::unique_ptr<Writer> make_rotating_writer(const std::string& path, const Rotation& rotation,
                                             OpenPart open, bool keeps_blocks, Nanoseconds now,
                                             std::shared_ptr<RotationResult> end) {
    return std::make_unique<RotatingWriter>(path, rotation, std::move(open), keeps_blocks, now,
                                            std::move(end));
}

}  // namespace unecho::capture
