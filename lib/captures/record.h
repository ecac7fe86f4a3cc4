// SPDX-License-Identifier: BSD-3-Clause
// What a capture consists of: interfaces, and packets in batches that own the memory they lie in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/units.h"

namespace unecho::capture {

// The block of a pcapng that describes an interface, where blocks are kept (source.h).
struct InterfaceDescription {
    std::string block;  // whole, as it was
    bool big_endian = false;
    std::uint8_t resolution = 6;      // if_tsresol
    std::int64_t offset_seconds = 0;  // if_tsoffset
};

// Where packets were captured. A pcap file has one; a pcapng file has as many as its sections
// declare. Numbered over all inputs of a source, in the order in which they are met.
struct Interface {
    std::uint16_t link_type = 0;      // LINKTYPE_ number of pcap
    std::uint16_t link_flags = 0;     // bits above it in a pcap: length of frame check sequences
    std::uint32_t snap_length = 0;    // 0: not limited
    Nanoseconds tick = kMicrosecond;  // unit of its timestamps, whole nanoseconds, at least 1
    std::uint32_t file = 0;           // index of the input
    // if_name of pcapng, at most 256 bytes of readable UTF-8; else empty
    std::string name = {};
    // Null: no pcapng, or blocks are not kept.
    std::shared_ptr<const InterfaceDescription> description = {};
};

// A packet as captured. Its bytes belong to the batch it came in.
struct Record {
    Nanoseconds time = 0;  // since 1970, finer parts cut off; what does not fit 64 bits is clamped
    const std::uint8_t* data = nullptr;
    std::uint32_t length = 0;       // captured
    std::uint32_t wire_length = 0;  // as the capture says, never changed
    std::uint32_t interface = 0;
    // Where blocks are kept: how much of its block stands before the data, 0 if it has none, and
    // the order of the numbers there. Its options stand behind the data.
    std::uint8_t header = 0;
    bool big_endian = false;
    // In its own file, from 1, as Wireshark counts: journal entries and custom blocks of a pcapng
    // have numbers too.
    std::uint64_t number = 0;
};

// A block of a pcapng that is no packet, as it is in the file, where blocks are kept (source.h).
// Its bytes belong to the batch it came in.
struct Block {
    static constexpr std::uint32_t kNoInterface = ~std::uint32_t{0};

    const std::uint8_t* data = nullptr;
    std::uint32_t size = 0;
    std::uint32_t type = 0;
    std::uint32_t before = 0;  // the record of its batch that comes next; their number: none does
    std::uint32_t interface = kNoInterface;  // that it describes, or whose statistics it holds
    std::uint32_t file = 0;
    bool big_endian = false;
    bool merged = false;  // with other inputs: the sections of all become one
    bool gap = false;     // no block: packets that stood here are in no batch (selected_source.h)
};

using Bytes = std::vector<std::byte>;

// Up to kMaxBatch records, in the order of their source, what they lie in, and the blocks that
// stand between them. May be handed to another thread.
struct Batch {
    std::vector<Record> records;
    std::vector<Block> blocks;
    std::vector<std::shared_ptr<const Bytes>> memory;
    // Which packet of all each record was, from 1, where a selection (selected_source.h) left some
    // out. Empty: none was left out.
    std::vector<std::uint64_t> source_numbers;

    [[nodiscard]] bool empty() const { return records.empty() && blocks.empty(); }

    void clear() {
        records.clear();
        blocks.clear();
        memory.clear();
        source_numbers.clear();
    }
};

inline constexpr std::size_t kMaxBatch = 4096;

// Something in a capture that is not as it should be, and was dealt with. Equal ones of a file come
// as one, with the packet that was first.
struct Warning {
    std::uint32_t file = 0;
    std::uint64_t number = 0;  // of the packet at which it was met first, from 1; 0: none yet
    std::uint64_t times = 1;
    std::string text;
    // Packets of the input are missing because of it, or may not be as they were: exit status 1.
    bool incomplete = false;
};

}  // namespace unecho::capture
