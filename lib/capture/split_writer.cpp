// SPDX-License-Identifier: BSD-3-Clause
#include "capture/split_writer.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <optional>
#include <utility>
#include <vector>

#include "capture/file_name.h"
#include "capture/part_blocks.h"

namespace unecho::capture {
namespace {

constexpr std::size_t kBits = 64;

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
                 std::span<const Interface> interfaces, const Beside& beside) override;
    Status close() override;
    [[nodiscard]] std::uint64_t bytes() const override {
        return finished_bytes_ + (part_ ? part_->bytes() : 0);
    }
    [[nodiscard]] std::vector<Warning> warnings() const override;
    [[nodiscard]] bool keeps_blocks() const override { return keeps_blocks_; }

  private:
    // A batch, and how much of it the parts have got.
    struct Rest {
        std::span<const Record> records;
        std::span<const std::uint64_t> keep;
        std::span<const Interface> interfaces;
        Beside beside;
        std::size_t record = 0;
        std::size_t block = 0;
        std::size_t comment = 0;
    };

    [[nodiscard]] std::string name_of(Nanoseconds time) const;
    // Whether a packet of this time begins a file.
    bool begins(Nanoseconds time);
    Status open_part(const std::string& path, std::span<const Interface> interfaces);
    // The batch up to a record and a block, into the open part.
    Status pass_on(Rest& rest, std::size_t record, std::size_t block);
    Status next_part(Rest& rest, std::size_t record, std::size_t block);
    Status close_part();
    // Equal ones as one.
    [[nodiscard]] std::vector<Warning> of_parts() const;

    std::string path_;
    NameParts parts_;
    Split split_;
    OpenPart open_;
    bool keeps_blocks_;
    PartBlocks blocks_;
    std::vector<Interface> interfaces_;  // where there is no part yet
    std::unique_ptr<Writer> part_;
    std::uint64_t files_ = 0;
    std::uint64_t packets_ = 0;                // of the file
    std::optional<Nanoseconds> interval_end_;  // from the first packet on
    std::uint64_t finished_bytes_ = 0;
    std::vector<Warning> warnings_;  // of finished files
};

std::string SplitWriter::name_of(Nanoseconds time) const {
    std::array<char, 24> number{};
    std::snprintf(number.data(), number.size(), "_%05llu_",
                  static_cast<unsigned long long>(files_));
    return parts_.stem + number.data() + local_time(time) + parts_.suffix;
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
    if (!opened) {
        return tl::unexpected(opened.error());
    }
    part_ = *std::move(opened);
    packets_ = 0;
    const std::vector<Block> first = blocks_.begin(files_++ == 0);
    return part_->write({}, {}, interfaces, {first, {}});
}

Status SplitWriter::close_part() {
    const Status closed = part_->close();
    finished_bytes_ += part_->bytes();
    warnings_ = of_parts();
    part_.reset();
    return closed;
}

Status SplitWriter::pass_on(Rest& rest, std::size_t record, std::size_t block) {
    const std::size_t first = std::exchange(rest.record, record);
    const std::size_t first_block = std::exchange(rest.block, block);
    if (first == 0 && first_block == 0 && record == rest.records.size()) {
        return part_->write(rest.records, rest.keep, rest.interfaces, rest.beside);
    }
    std::vector<std::uint64_t> keep((record - first + kBits - 1) / kBits);
    for (std::size_t i = first; i < record; ++i) {
        keep[(i - first) / kBits] |= (rest.keep[i / kBits] >> i % kBits & 1U)
                                     << (i - first) % kBits;
    }
    std::vector<Block> blocks;
    for (const Block& one : rest.beside.blocks.subspan(first_block, block - first_block)) {
        blocks.push_back(one);
        blocks.back().before -= static_cast<std::uint32_t>(first);
    }
    std::vector<Comment> comments;
    for (const std::span<const Comment> all = rest.beside.comments;
         rest.comment < all.size() && all[rest.comment].record < record; ++rest.comment) {
        comments.push_back({all[rest.comment].record - first, all[rest.comment].text});
    }
    return part_->write(rest.records.subspan(first, record - first), keep, rest.interfaces,
                        {blocks, comments});
}

Status SplitWriter::next_part(Rest& rest, std::size_t record, std::size_t block) {
    if (part_) {
        Status done = pass_on(rest, record, block);
        done = done ? close_part() : done;
        if (!done) {
            return done;
        }
    }
    rest.record = record;
    rest.block = block;
    return open_part(name_of(rest.records[record].time), rest.interfaces);
}

Status SplitWriter::write(std::span<const Record> records, std::span<const std::uint64_t> keep,
                          std::span<const Interface> interfaces, const Beside& beside) {
    Rest rest{records, keep, interfaces, beside};
    rest.beside.blocks = keeps_blocks_ ? beside.blocks : std::span<const Block>();
    const std::span<const Block> blocks = rest.beside.blocks;
    std::size_t block = 0;
    for (std::size_t i = 0;; ++i) {
        for (; block < blocks.size() && blocks[block].before <= i; ++block) {
            blocks_.add(blocks[block], part_ != nullptr);
        }
        if (i == records.size()) {
            break;
        }
        const bool kept = (keep[i / kBits] >> i % kBits & 1U) != 0;
        if (kept && begins(records[i].time)) {
            if (const Status opened = next_part(rest, i, block); !opened) {
                return opened;
            }
        }
        if (keeps_blocks_) {
            blocks_.add_packet(part_ != nullptr, kept);
        }
        packets_ += kept ? 1 : 0;
    }
    if (part_) {
        return pass_on(rest, records.size(), block);
    }
    if (interfaces_.size() < interfaces.size()) {
        interfaces_.assign(interfaces.begin(), interfaces.end());
    }
    return {};
}

Status SplitWriter::close() {
    if (!part_) {
        if (const Status opened = open_part(path_, interfaces_); !opened) {
            return opened;
        }
    }
    return close_part();
}

std::vector<Warning> SplitWriter::of_parts() const {
    std::vector<Warning> all = warnings_;
    for (Warning& warning : part_ ? part_->warnings() : std::vector<Warning>()) {
        const auto known = std::find_if(all.begin(), all.end(), [&](const Warning& one) {
            return one.text == warning.text && one.file == warning.file;
        });
        if (known == all.end()) {
            all.push_back(std::move(warning));
        } else {
            known->times += warning.times;
        }
    }
    return all;
}

std::vector<Warning> SplitWriter::warnings() const {
    std::vector<Warning> all = of_parts();
    for (Warning& warning : blocks_.warnings()) {
        all.push_back(std::move(warning));
    }
    return all;
}

}  // namespace

std::unique_ptr<Writer> split_writer(const std::string& path, const Split& split, OpenPart open,
                                     bool keeps_blocks) {
    return std::make_unique<SplitWriter>(path, split, std::move(open), keeps_blocks);
}

}  // namespace unecho::capture
