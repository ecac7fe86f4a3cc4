// SPDX-License-Identifier: BSD-3-Clause
#include "support/capture_builder.h"

#include <algorithm>
#include <memory>

#include "capture/input.h"

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

CaptureBytes operator+(const CaptureBytes& a, const CaptureBytes& b) {
    CaptureBytes out = a;
    out.insert(out.end(), b.begin(), b.end());
    return out;
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
        out = out + pcap_record(spec, 1000 + i / 1000, i % 1000 * millisecond, data,
                                static_cast<std::uint32_t>(data.size() + i));
    }
    return out;
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
    out.interfaces = source.interfaces();
    out.warnings = source.warnings();
    return out;
}

ReadCapture read_bytes(const CaptureBytes& bytes, std::size_t buffer_bytes, std::size_t piece) {
    auto source =
        capture::open_input(std::make_unique<MemoryStream>(bytes, piece), "sample", buffer_bytes);
    if (!source) {
        ReadCapture out;
        out.error = source.error().context;
        return out;
    }
    return read_all(**source);
}

}  // namespace unecho::test
