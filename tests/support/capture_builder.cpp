// SPDX-License-Identifier: BSD-3-Clause
#include "support/capture_builder.h"

#include <algorithm>
#include <memory>

#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>

#include "captures/formats/capture_source.h"

namespace unecho::test {

ByteWriter& ByteWriter::number(std::uint64_t value, unsigned size) {
    for (unsigned i = 0; i < size; ++i) {
        const unsigned byte = order_ == std::endian::little ? i : size - 1 - i;
        bytes_.push_back(static_cast<std::uint8_t>(value >> 8 * byte));
    }
    return *this;
}

ByteWriter& ByteWriter::bytes(std::span<const std::uint8_t> more) {
    bytes_.insert(bytes_.end(), more.begin(), more.end());
    return *this;
}

ByteWriter& ByteWriter::zeros(std::size_t count) {
    bytes_.insert(bytes_.end(), count, 0);
    return *this;
}

CaptureBytes& operator+=(CaptureBytes& a, const CaptureBytes& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

CaptureBytes operator+(const CaptureBytes& a, const CaptureBytes& b) {
    CaptureBytes out = a;
    return out += b;
}

CaptureBytes sample_data(unsigned packet, std::size_t length) {
    CaptureBytes out(length);
    for (std::size_t i = 0; i < length; ++i) {
        out[i] = static_cast<std::uint8_t>(packet * 37 + i * 11 + 1);
    }
    return out;
}

std::uint32_t PcapSpec::magic() const {
    if (modified) {
        return 0xA1B2CD34;
    }
    return nanoseconds ? 0xA1B23C4D : 0xA1B2C3D4;
}

CaptureBytes pcap_header(const PcapSpec& spec) {
    return ByteWriter(spec.order)
        .u32(spec.magic())
        .u16(2)
        .u16(4)
        .zeros(8)
        .u32(spec.snap_length)
        .u32(spec.link_type)
        .done();
}

CaptureBytes pcap_record(const PcapSpec& spec, std::uint32_t seconds, std::uint32_t fraction,
                         std::span<const std::uint8_t> data, std::uint32_t wire_length) {
    ByteWriter out(spec.order);
    out.u32(seconds).u32(fraction).u32(static_cast<std::uint32_t>(data.size())).u32(wire_length);
    if (spec.modified) {
        out.u32(7).u16(8).zeros(2);  // interface index, protocol, packet type
    }
    return out.bytes(data).done();
}

CaptureBytes pcap_sample(const PcapSpec& spec, unsigned packets) {
    CaptureBytes out = pcap_header(spec);
    const std::uint32_t millisecond = spec.nanoseconds ? 1'000'000 : 1'000;
    for (unsigned i = 0; i < packets; ++i) {
        const CaptureBytes data = sample_data(i, i * 7 % 23);
        out += pcap_record(spec, 1000 + i / 1000, i % 1000 * millisecond, data,
                           static_cast<std::uint32_t>(data.size() + i));
    }
    return out;
}

PcapngBuilder& PcapngBuilder::raw(std::uint32_t type, std::uint32_t length,
                                  const CaptureBytes& rest) {
    starts_.push_back(bytes_.size());
    bytes_ += ByteWriter(order_).u32(type).u32(length).bytes(rest).done();
    return *this;
}

PcapngBuilder& PcapngBuilder::block(std::uint32_t type, const CaptureBytes& body) {
    const std::size_t padding = -body.size() % 4;
    const auto length = static_cast<std::uint32_t>(12 + body.size() + padding);
    return raw(type, length, ByteWriter(order_).bytes(body).zeros(padding).u32(length).done());
}

PcapngBuilder& PcapngBuilder::section(std::endian order) {
    order_ = order;
    return block(0x0A0D0D0A,
                 ByteWriter(order_).u32(0x1A2B3C4D).u16(1).u16(0).u64(UINT64_MAX).done());
}

PcapngBuilder& PcapngBuilder::interface(std::uint16_t link_type, std::uint32_t snap_length,
                                        const std::vector<Option>& options) {
    ByteWriter body(order_);
    body.u16(link_type).u16(0).u32(snap_length);
    for (const Option& option : options) {
        body.u16(option.code)
            .u16(static_cast<std::uint16_t>(option.value.size()))
            .bytes(option.value)
            .zeros(-option.value.size() % 4);
    }
    return block(1, body.done());
}

PcapngBuilder& PcapngBuilder::enhanced(std::uint32_t interface, std::uint64_t time,
                                       std::span<const std::uint8_t> data,
                                       std::uint32_t wire_length) {
    return block(6, ByteWriter(order_)
                        .u32(interface)
                        .u32(static_cast<std::uint32_t>(time >> 32))
                        .u32(static_cast<std::uint32_t>(time))
                        .u32(static_cast<std::uint32_t>(data.size()))
                        .u32(wire_length)
                        .bytes(data)
                        .done());
}

PcapngBuilder& PcapngBuilder::obsolete(std::uint16_t interface, std::uint64_t time,
                                       std::span<const std::uint8_t> data,
                                       std::uint32_t wire_length) {
    return block(2, ByteWriter(order_)
                        .u16(interface)
                        .u16(3)  // packets dropped
                        .u32(static_cast<std::uint32_t>(time >> 32))
                        .u32(static_cast<std::uint32_t>(time))
                        .u32(static_cast<std::uint32_t>(data.size()))
                        .u32(wire_length)
                        .bytes(data)
                        .done());
}

PcapngBuilder& PcapngBuilder::simple(std::span<const std::uint8_t> data,
                                     std::uint32_t wire_length) {
    return block(3, ByteWriter(order_).u32(wire_length).bytes(data).done());
}

CaptureBytes PcapngBuilder::seconds(std::int64_t value) const {
    return ByteWriter(order_).u64(static_cast<std::uint64_t>(value)).done();
}

std::vector<std::size_t> PcapngBuilder::borders() const {
    std::vector<std::size_t> out = starts_;
    out.push_back(bytes_.size());
    return out;
}

namespace {

CaptureBytes deflate(const CaptureBytes& bytes) {
    CaptureBytes input = bytes;
    CaptureBytes out(bytes.size() * 2 + 1024);
    isal_zstream stream;
    isal_deflate_init(&stream);
    stream.next_in = input.data();
    stream.avail_in = static_cast<std::uint32_t>(input.size());
    stream.next_out = out.data();
    stream.avail_out = static_cast<std::uint32_t>(out.size());
    stream.end_of_stream = 1;
    isal_deflate(&stream);
    out.resize(stream.total_out);
    return out;
}

CaptureBytes store(const CaptureBytes& bytes) {
    constexpr std::size_t kMost = 0xFFFF;
    ByteWriter out(std::endian::little);
    std::span<const std::uint8_t> left = bytes;
    do {
        const auto part = left.first(std::min(left.size(), kMost));
        left = left.subspan(part.size());
        const std::uint8_t last = left.empty() ? 1 : 0;
        const auto length = static_cast<std::uint16_t>(part.size());
        out.bytes({&last, 1}).u16(length).u16(static_cast<std::uint16_t>(~length)).bytes(part);
    } while (!left.empty());
    return out.done();
}

}  // namespace

CaptureBytes gzip(const CaptureBytes& bytes, const GzipSpec& spec) {
    constexpr std::uint8_t kAllFields = 2 | 4 | 8 | 16;  // header checksum, extra, name, comment
    ByteWriter head(std::endian::little);
    head.u16(0x8B1F).u16(static_cast<std::uint16_t>(8 | (spec.all_fields ? kAllFields << 8 : 0)));
    head.zeros(6);
    if (spec.all_fields) {
        head.u16(5).bytes(sample_data(1, 5)).bytes(CaptureBytes{'n', 'a', 'm', 'e', 0});
        head.bytes(CaptureBytes{'w', 'h', 'y', 0});
        const CaptureBytes& done = head.done();
        head.u16(static_cast<std::uint16_t>(crc32_gzip_refl(0, done.data(), done.size())));
    }
    return head.bytes(spec.stored ? store(bytes) : deflate(bytes))
        .u32(crc32_gzip_refl(0, bytes.data(), bytes.size()))
        .u32(static_cast<std::uint32_t>(bytes.size()))
        .done();
}

Result<std::size_t> MemoryStream::read(std::span<std::byte> to) {
    const std::size_t count = std::min({to.size(), piece_, bytes_.size() - at_});
    std::transform(bytes_.data() + at_, bytes_.data() + at_ + count, to.begin(),
                   [](std::uint8_t byte) { return std::byte{byte}; });
    at_ += count;
    return count;
}

ReadCapture read_all(capture::Source& source) {
    ReadCapture out;
    capture::Batch batch;
    for (;;) {
        const Result<bool> more = source.next(batch);
        if (!more) {
            out.error = more.error().context;
        }
        if (!more || !*more) {
            break;
        }
        for (const capture::Record& record : batch.records) {
            out.packets.push_back({.time = record.time,
                                   .wire_length = record.wire_length,
                                   .interface = record.interface,
                                   .number = record.number,
                                   .data = {record.data, record.data + record.length}});
        }
    }
    const capture::InterfaceView interfaces = source.interfaces();
    out.interfaces.assign(interfaces.begin(), interfaces.end());
    out.warnings = source.warnings();
    return out;
}

ReadCapture read_bytes(const CaptureBytes& bytes, std::size_t buffer_bytes, std::size_t piece) {
    auto source = capture::open_capture_source(std::make_unique<MemoryStream>(bytes, piece),
                                               "sample", buffer_bytes);
    if (!source) {
        ReadCapture out;
        out.error = source.error().context;
        return out;
    }
    return read_all(**source);
}

}  // namespace unecho::test
