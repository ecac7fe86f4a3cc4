// SPDX-License-Identifier: BSD-3-Clause
// Packets of a capture for tests: frames of eight bytes, each made from a number.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "captures/record.h"

namespace unecho::dedup {

class Packets {
  public:
    // Frames are equal iff their `content` is.
    void add(Nanoseconds time, std::uint64_t content, std::uint32_t interface = 0) {
        frames_.push_back(std::make_unique<std::uint64_t>(content));
        capture::Record record;
        record.time = time;
        record.data = reinterpret_cast<const std::uint8_t*>(frames_.back().get());
        record.length = sizeof(content);
        record.wire_length = sizeof(content);
        record.interface = interface;
        record.number = records_.size() + 1;
        records_.push_back(record);
    }

    [[nodiscard]] const std::vector<capture::Record>& records() const { return records_; }

  private:
    std::vector<std::unique_ptr<std::uint64_t>> frames_;
    std::vector<capture::Record> records_;
};

inline capture::Interface interface_of(std::uint16_t link_type, std::uint32_t file = 0) {
    capture::Interface out;
    out.link_type = link_type;
    out.file = file;
    return out;
}

}  // namespace unecho::dedup
