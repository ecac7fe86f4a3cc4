// SPDX-License-Identifier: BSD-3-Clause
// A batch written piece by piece, to one writer after the other. Private to captures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "captures/output/writer.h"

namespace unecho::capture {

class BatchCursor {
  public:
    BatchCursor(std::span<const Record> records, std::span<const std::uint64_t> keep,
                std::span<const Interface> interfaces, const BatchExtras& beside)
        : records_(records), keep_(keep), interfaces_(interfaces), beside_(beside) {}

    // Write everything before this record and this block.
    Status write_until(Writer& to, std::size_t record, std::size_t block);
    void skip(std::size_t record, std::size_t block);

    [[nodiscard]] bool kept(std::size_t record) const {
        return (keep_[record / kBits] >> record % kBits & 1U) != 0;
    }
    [[nodiscard]] std::span<const Record> records() const { return records_; }
    [[nodiscard]] std::span<const Interface> interfaces() const { return interfaces_; }
    [[nodiscard]] std::span<const Block> blocks() const { return beside_.blocks; }

  private:
    static constexpr std::size_t kBits = 64;

    std::span<const Record> records_;
    std::span<const std::uint64_t> keep_;
    std::span<const Interface> interfaces_;
    BatchExtras beside_;
    std::size_t record_ = 0;
    std::size_t block_ = 0;
    std::size_t comment_ = 0;
};

// Merge the warnings of earlier files and of a writer (null: none); equal ones become one.
[[nodiscard]] std::vector<Warning> merge_warnings(std::vector<Warning> before, const Writer* part);

}  // namespace unecho::capture
