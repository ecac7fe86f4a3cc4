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
    SplitWriter(std::string path, const Split& split, OpenPart open)
        : path_(std::move(path)),
          parts_(split_name(path_)),
          split_(split),
          open_(std::move(open)) {}

    Status write(std::span<const Record> records, std::span<const std::uint64_t> keep,
                 std::span<const Interface> interfaces, const Beside& beside) override;
    Status close() override;
    [[nodiscard]] std::uint64_t bytes() const override {
        return finished_bytes_ + (part_ ? part_->bytes() : 0);
    }
    [[nodiscard]] std::vector<Warning> warnings() const override;

  private:
    [[nodiscard]] std::string name_of(Nanoseconds time) const;
    // Whether a packet of this time begins a file.
    bool begins(Nanoseconds time);
    Status open_part(const std::string& path);
    Status close_part();

    std::string path_;
    NameParts parts_;
    Split split_;
    OpenPart open_;
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

Status SplitWriter::open_part(const std::string& path) {
    auto opened = open_(path);
    if (!opened) {
        return tl::unexpected(opened.error());
    }
    part_ = *std::move(opened);
    packets_ = 0;
    ++files_;
    return {};
}

Status SplitWriter::close_part() {
    const Status closed = part_->close();
    finished_bytes_ += part_->bytes();
    warnings_ = warnings();
    part_.reset();
    return closed;
}

Status SplitWriter::write(std::span<const Record> records, std::span<const std::uint64_t> keep,
                          std::span<const Interface> interfaces, const Beside& /*beside*/) {
    std::vector<std::uint64_t> mine(keep.size());  // of the file
    const auto pass_on = [&] {
        const Status written = part_ ? part_->write(records, mine, interfaces) : Status();
        std::fill(mine.begin(), mine.end(), 0);
        return written;
    };
    for (std::size_t i = 0; i < records.size(); ++i) {
        if ((keep[i / kBits] >> i % kBits & 1U) == 0) {
            continue;
        }
        const bool next = begins(records[i].time);
        if (next && part_) {
            Status done = pass_on();
            done = done ? close_part() : done;
            if (!done) {
                return done;
            }
        }
        if (next) {
            if (const Status opened = open_part(name_of(records[i].time)); !opened) {
                return opened;
            }
        }
        mine[i / kBits] |= std::uint64_t{1} << i % kBits;
        ++packets_;
    }
    return pass_on();
}

Status SplitWriter::close() {
    if (!part_) {
        if (const Status opened = open_part(path_); !opened) {
            return opened;
        }
    }
    return close_part();
}

// Those of all files, equal ones as one.
std::vector<Warning> SplitWriter::warnings() const {
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

}  // namespace

std::unique_ptr<Writer> split_writer(const std::string& path, const Split& split, OpenPart open) {
    return std::make_unique<SplitWriter>(path, split, std::move(open));
}

}  // namespace unecho::capture
