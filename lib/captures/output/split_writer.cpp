// SPDX-License-Identifier: BSD-3-Clause
#include "captures/output/split_writer.h"

#include <array>
#include <ctime>
#include <optional>
#include <utility>
#include <vector>

#include "base/humanize.h"
#include "captures/file_name.h"
#include "captures/output/batch_cursor.h"
#include "captures/output/split_preamble.h"

namespace unecho::capture {
namespace {

std::string local_time(Nanoseconds time) {
    const auto seconds = static_cast<std::time_t>(time / kSecond);
    std::tm parts{};
    std::array<char, 32> text{};
    if (::localtime_r(&seconds, &parts) == nullptr ||
        std::strftime(text.data(), text.size(), "%Y%m%d%H%M%S", &parts) == 0) {
        return std::to_string(seconds);
    }
    return text.data();
}

class SplitWriter final : public Writer {
  public:
    SplitWriter(std::string path, const Split& split, OpenPart open, bool keeps_blocks)
        : path_(std::move(path)),
          parts_(split_name(path_)),
          split_(split),
          open_(std::move(open)),
          keeps_blocks_(keeps_blocks) {}

    Status write(std::span<const Record> records, std::span<const std::uint64_t> keep,
                 std::span<const Interface> interfaces, const BatchExtras& beside) override;
    Status close() override;
    [[nodiscard]] std::uint64_t bytes() const override {
        return finished_bytes_ + (part_ ? part_->bytes() : 0);
    }
    [[nodiscard]] std::vector<Warning> warnings() const override;
    [[nodiscard]] bool keeps_blocks() const override { return keeps_blocks_; }

  private:
    [[nodiscard]] std::string name_of(Nanoseconds time) const;
    // Return true if a packet of this time begins a file.
    bool begins(Nanoseconds time);
    Status open_part(const std::string& path, std::span<const Interface> interfaces);
    Status next_part(BatchCursor& rest, std::size_t record, std::size_t block);
    Status close_part();

    std::string path_;
    NameParts parts_;
    Split split_;
    OpenPart open_;
    bool keeps_blocks_;
    SplitPreamble blocks_;
    std::vector<Interface> interfaces_;  // until there is a file
    std::unique_ptr<Writer> part_;
    std::uint64_t files_ = 0;
    std::uint64_t packets_ = 0;                // in the file
    std::optional<Nanoseconds> interval_end_;  // set by the first packet
    std::uint64_t finished_bytes_ = 0;
    std::vector<Warning> warnings_;  // of finished files
};

std::string SplitWriter::name_of(Nanoseconds time) const {
    return parts_.stem + format_number("_%05llu_", static_cast<unsigned long long>(files_)) +
           local_time(time) + parts_.suffix;
}

bool SplitWriter::begins(Nanoseconds time) {
    if (!part_) {
        interval_end_ = time + split_.interval;
        return true;
    }
    if (split_.packets != 0) {
        return packets_ == split_.packets;
    }
    if (time <= *interval_end_) {
        return false;
    }
    const Nanoseconds over = time - *interval_end_;
    *interval_end_ += (over + split_.interval - 1) / split_.interval * split_.interval;
    return true;
}

Status SplitWriter::open_part(const std::string& path, std::span<const Interface> interfaces) {
    auto opened = open_(path);
    UNECHO_TRY(opened);
    part_ = *std::move(opened);
    packets_ = 0;
    const std::vector<Block> first = blocks_.begin(files_++ == 0);
    return part_->write({}, {}, interfaces, {first, {}});
}

Status SplitWriter::close_part() {
    const Status closed = part_->close();
    finished_bytes_ += part_->bytes();
    warnings_ = merge_warnings(std::move(warnings_), part_.get());
    part_.reset();
    return closed;
}

Status SplitWriter::next_part(BatchCursor& rest, std::size_t record, std::size_t block) {
    if (part_) {
        UNECHO_TRY(rest.write_until(*part_, record, block));
        UNECHO_TRY(close_part());
    }
    rest.skip(record, block);
    return open_part(name_of(rest.records()[record].time), rest.interfaces());
}

Status SplitWriter::write(std::span<const Record> records, std::span<const std::uint64_t> keep,
                          std::span<const Interface> interfaces, const BatchExtras& beside) {
    const std::span<const Block> blocks = keeps_blocks_ ? beside.blocks : std::span<const Block>();
    BatchCursor rest(records, keep, interfaces, {blocks, beside.comments});
    std::size_t block = 0;
    for (std::size_t i = 0;; ++i) {
        for (; block < blocks.size() && blocks[block].before <= i; ++block) {
            blocks_.add(blocks[block], part_ != nullptr);
        }
        if (i == records.size()) {
            break;
        }
        const bool kept = rest.kept(i);
        if (kept && begins(records[i].time)) {
            UNECHO_TRY(next_part(rest, i, block));
        }
        if (keeps_blocks_) {
            blocks_.add_packet(part_ != nullptr, kept);
        }
        packets_ += kept ? 1 : 0;
    }
    if (part_) {
        return rest.write_until(*part_, records.size(), block);
    }
    if (interfaces_.size() < interfaces.size()) {
        interfaces_.assign(interfaces.begin(), interfaces.end());
    }
    return {};
}

Status SplitWriter::close() {
    if (!part_) {
        UNECHO_TRY(open_part(path_, interfaces_));
    }
    return close_part();
}

std::vector<Warning> SplitWriter::warnings() const {
    std::vector<Warning> all = merge_warnings(warnings_, part_.get());
    for (Warning& warning : blocks_.warnings()) {
        all.push_back(std::move(warning));
    }
    return all;
}

}  // namespace

std::unique_ptr<Writer> make_split_writer(const std::string& path, const Split& split,
                                          OpenPart open, bool keeps_blocks) {
    return std::make_unique<SplitWriter>(path, split, std::move(open), keeps_blocks);
}

}  // namespace unecho::capture
