// SPDX-License-Identifier: BSD-3-Clause
// Builds capture files for tests byte by byte as their formats define them, in either byte order,
// and reads them back into copies.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "captures/formats/byte_stream.h"
#include "captures/source.h"

namespace unecho::test {

using CaptureBytes = std::vector<std::uint8_t>;

// Appends numbers in one byte order.
class ByteWriter {
  public:
    explicit ByteWriter(std::endian order) : order_(order) {}

    ByteWriter& u16(std::uint16_t value) { return number(value, 2); }
    ByteWriter& u32(std::uint32_t value) { return number(value, 4); }
    ByteWriter& u64(std::uint64_t value) { return number(value, 8); }
    ByteWriter& bytes(std::span<const std::uint8_t> more);
    ByteWriter& zeros(std::size_t count);

    [[nodiscard]] const CaptureBytes& done() const { return bytes_; }

  private:
    ByteWriter& number(std::uint64_t value, unsigned size);

    std::endian order_;
    CaptureBytes bytes_;
};

struct PcapSpec {
    std::endian order = std::endian::little;
    bool nanoseconds = false;
    bool modified = false;
    std::uint32_t snap_length = 262'144;
    std::uint32_t link_type = 1;  // also holds the bits above the link type

    [[nodiscard]] std::uint32_t magic() const;
};

CaptureBytes pcap_header(const PcapSpec& spec);
CaptureBytes pcap_record(const PcapSpec& spec, std::uint32_t seconds, std::uint32_t fraction,
                         std::span<const std::uint8_t> data, std::uint32_t wire_length);

// Return a pcap of packets of unequal lengths, one of them empty, 1 ms apart.
CaptureBytes pcap_sample(const PcapSpec& spec, unsigned packets);

// Builds a pcapng block by block.
class PcapngBuilder {
  public:
    explicit PcapngBuilder(std::endian order = std::endian::little) : order_(order) {}

    // Begin a section; its byte order may differ from that of the section before.
    PcapngBuilder& section(std::endian order);
    PcapngBuilder& section() { return section(order_); }

    struct Option {
        std::uint16_t code;
        CaptureBytes value;
    };
    PcapngBuilder& interface(std::uint16_t link_type, std::uint32_t snap_length,
                             const std::vector<Option>& options = {});
    PcapngBuilder& enhanced(std::uint32_t interface, std::uint64_t time,
                            std::span<const std::uint8_t> data, std::uint32_t wire_length);
    PcapngBuilder& obsolete(std::uint16_t interface, std::uint64_t time,
                            std::span<const std::uint8_t> data, std::uint32_t wire_length);
    PcapngBuilder& simple(std::span<const std::uint8_t> data, std::uint32_t wire_length);
    // Append a block of any type; the body is padded.
    PcapngBuilder& block(std::uint32_t type, const CaptureBytes& body);
    // Append a block of any type that states this length, unchecked and unpadded.
    PcapngBuilder& raw(std::uint32_t type, std::uint32_t length, const CaptureBytes& rest);

    // Return the value in the byte order of the current section, for options.
    [[nodiscard]] CaptureBytes seconds(std::int64_t value) const;

    [[nodiscard]] const CaptureBytes& done() const { return bytes_; }
    // Return the offset at which each block begins, and the end.
    [[nodiscard]] std::vector<std::size_t> borders() const;

  private:
    std::endian order_;
    CaptureBytes bytes_;
    std::vector<std::size_t> starts_;
};

CaptureBytes& operator+=(CaptureBytes& a, const CaptureBytes& b);
CaptureBytes operator+(const CaptureBytes& a, const CaptureBytes& b);

// Return bytes that differ from packet to packet.
CaptureBytes sample_data(unsigned packet, std::size_t length);

// One gzip member. all_fields: name, comment, extra field, header checksum. stored: uncompressed.
struct GzipSpec {
    bool all_fields = false;
    bool stored = false;
};
CaptureBytes gzip(const CaptureBytes& bytes, const GzipSpec& spec = {});

// Returns at most `piece` bytes a read, as a pipe may.
class MemoryStream final : public capture::ByteStream {
  public:
    explicit MemoryStream(CaptureBytes bytes, std::size_t piece = SIZE_MAX)
        : bytes_(std::move(bytes)), piece_(piece) {}

    Result<std::size_t> read(std::span<std::byte> to) override;
    [[nodiscard]] bool ready() const override { return piece_ == SIZE_MAX; }
    [[nodiscard]] std::uint64_t taken() const override { return at_; }
    [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }

  private:
    CaptureBytes bytes_;
    std::size_t piece_;
    std::size_t at_ = 0;
};

struct ReadPacket {
    Nanoseconds time = 0;
    std::uint32_t wire_length = 0;
    std::uint32_t interface = 0;
    std::uint64_t number = 0;
    CaptureBytes data;

    bool operator==(const ReadPacket&) const = default;
};

struct ReadCapture {
    std::vector<ReadPacket> packets;
    std::vector<capture::Interface> interfaces;
    std::vector<capture::Warning> warnings;
    std::string error;  // why reading ended
};

ReadCapture read_all(capture::Source& source);

// Read a capture to its end. If it cannot be opened, `error` is the message of open().
ReadCapture read_bytes(const CaptureBytes& bytes, std::size_t buffer_bytes = 1U << 20,
                       std::size_t piece = SIZE_MAX);

}  // namespace unecho::test
