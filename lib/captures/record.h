// SPDX-License-Identifier: BSD-3-Clause
// Interfaces, packets, and batches of packets. A batch owns the memory that its packets lie in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/units.h"

namespace unecho::capture {

// The pcapng block that describes an interface, if blocks are kept (source.h).
struct InterfaceDescription {
    std::string block;  // complete and unchanged
    bool big_endian = false;
    std::uint8_t resolution = 6;      // if_tsresol
    std::int64_t offset_seconds = 0;  // if_tsoffset
};

// An interface that captured packets. A pcap file has one, a pcapng file as many as its sections
// declare. They are numbered over all inputs of a source, in the order in which they are met.
struct Interface {
    std::uint16_t link_type = 0;      // LINKTYPE_ number of pcap
    std::uint16_t link_flags = 0;     // a pcap's bits above it: length of the check sequence
    std::uint32_t snap_length = 0;    // 0: unlimited
    Nanoseconds tick = kMicrosecond;  // unit of its timestamps in whole nanoseconds, at least 1
    std::uint32_t file = 0;           // index of the input
    // if_name of pcapng, at most 256 bytes, made printable; empty if there is none.
    std::string name = {};
    // Null if the file is no pcapng, or blocks are not kept.
    std::shared_ptr<const InterfaceDescription> description = {};
};

// A packet as captured. Its bytes belong to its batch.
struct Record {
    Nanoseconds time = 0;  // since 1970, rounded down, clamped to 64 bits
    const std::uint8_t* data = nullptr;
    std::uint32_t length = 0;       // captured bytes
    std::uint32_t wire_length = 0;  // bytes on the wire as the capture states them, never changed
    std::uint32_t interface = 0;
    // If blocks are kept: bytes of the packet's block before the data (0: it has no block), and the
    // block's byte order. The block's options follow the data.
    std::uint8_t header = 0;
    bool big_endian = false;
    // Number in its own file, from 1, as in Wireshark, which also numbers journal entries and
    // custom blocks of pcapng.
    std::uint64_t number = 0;
};

// A pcapng block that is no packet, if blocks are kept (source.h). Its batch owns the bytes.
struct Block {
    static constexpr std::uint32_t kNoInterface = ~std::uint32_t{0};

    const std::uint8_t* data = nullptr;
    std::uint32_t size = 0;
    std::uint32_t type = 0;
    std::uint32_t before = 0;                // index of the record behind it, or number of records
    std::uint32_t interface = kNoInterface;  // described by it, or with these statistics
    std::uint32_t file = 0;
    bool big_endian = false;
    bool merged = false;  // with other inputs: the sections of all become one
    bool gap = false;     // not a block: packets were left out here (selected_source.h)
};

using Bytes = std::vector<std::byte>;

// Up to kMaxBatch records in the order of their source, the memory that they lie in, and the blocks
// between them. May be passed to another thread.
struct Batch {
    std::vector<Record> records;
    std::vector<Block> blocks;
    std::vector<std::shared_ptr<const Bytes>> memory;
    // The number of each record among all packets of the source, from 1, if a selection
    // (selected_source.h) left some out; else empty.
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

// A defect of a capture that was dealt with. Equal ones of a file are one, with the first packet.
struct Warning {
    std::uint32_t file = 0;
    std::uint64_t number = 0;  // first packet it was met at, from 1; 0: before any
    std::uint64_t times = 1;
    std::string text;
    // Packets of the input are missing because of it, or may be altered: exit status 1.
    bool incomplete = false;
};

}  // namespace unecho::capture
