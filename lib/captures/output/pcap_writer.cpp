// SPDX-License-Identifier: BSD-3-Clause
// The writer of pcap: little-endian, microseconds or nanoseconds (draft-ietf-opsawg-pcap).
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/option_names.h"
#include "captures/formats/pcap_header.h"
#include "captures/link_types.h"
#include "captures/output/format_writers.h"

namespace unecho::capture {
namespace {

using namespace pcap;

constexpr std::uint32_t kNoInterface = std::numeric_limits<std::uint32_t>::max();

struct FileHeader {
    std::uint32_t magic;
    std::uint16_t major = 2;
    std::uint16_t minor = 4;
    std::uint32_t reserved[2] = {0, 0};
    std::uint32_t snap_length;
    std::uint32_t link_type;
};
static_assert(sizeof(FileHeader) == kFileHeader);

struct RecordHeader {
    std::uint32_t seconds;
    std::uint32_t fraction;
    std::uint32_t length;
    std::uint32_t wire_length;
};
static_assert(sizeof(RecordHeader) == kRecordHeader);

std::string packet_text(const Record& record, std::span<const Interface> interfaces) {
    const bool several = std::any_of(interfaces.begin(), interfaces.end(),
                                     [](const Interface& each) { return each.file != 0; });
    const std::uint32_t file = interfaces[record.interface].file;
    return fmt::format("packet {}{}", record.number,
                       several ? " of input " + std::to_string(file + 1) : "");
}

class PcapWriter final : public Writer {
  public:
    PcapWriter(BufferedOutput sink, FileFormat format)
        : sink_(std::move(sink)),
          unit_known_(format != FileFormat::kPcap),
          unit_(format == FileFormat::kNanosecondPcap ? 1 : kMicrosecond) {}

    Status write(std::span<const Record> records, std::span<const std::uint64_t> keep,
                 std::span<const Interface> interfaces, const BatchExtras& beside) override;
    Status begin(std::span<const Interface> interfaces) override;
    Status close() override;
    [[nodiscard]] std::uint64_t bytes() const override { return sink_.bytes(); }
    [[nodiscard]] std::vector<Warning> warnings() const override { return losses_.warnings(); }

  private:
    enum LossKind : std::uint8_t { kFarTime, kFineTime, kFrameCheck, kLosses };

    void look_at(std::span<const Interface> interfaces);
    Status use(const Record& record, std::span<const Interface> interfaces);
    Status start(std::uint16_t link_type);
    bool put(const Record& record);

    BufferedOutput sink_;
    bool started_ = false;
    std::size_t known_ = 0;  // interfaces seen by look_at()
    std::uint32_t snap_length_ = 0;
    std::uint32_t written_snap_length_ = 0;
    bool unit_known_;     // false: follows the interfaces up to the first record
    std::uint64_t unit_;  // of its times, in nanoseconds: 1000 or 1
    std::uint16_t link_type_ = kEthernetLink;
    std::uint16_t link_flags_ = 0;            // written above the link type
    std::uint32_t interface_ = kNoInterface;  // of the last record
    std::uint32_t file_ = 0;                  // of that interface
    LossWarnings<kLosses> losses_{
        {"time beyond 2106, the last year of pcap: written modulo 2^32 seconds",
         "time finer than the microseconds of the output: cut off",
         "frame check sequences of other lengths than those before: not told in the output"}};
};

// Find the finest unit and the largest snap length. The file's snap length is corrected at the end
// if it can be overwritten, because libpcap cuts off what is longer.
void PcapWriter::look_at(std::span<const Interface> interfaces) {
    if (!started_ && known_ == 0 && !interfaces.empty()) {
        link_type_ = interfaces.front().link_type;
        link_flags_ = interfaces.front().link_flags;
    }
    for (; known_ < interfaces.size(); ++known_) {
        const Interface& each = interfaces[known_];
        const std::uint32_t length = each.snap_length == 0 ? kMaxSnapLength : each.snap_length;
        snap_length_ = std::max(snap_length_, length);
        if (!started_ && !unit_known_ && needs_nanoseconds(each)) {
            unit_ = 1;
        }
        if (!started_ && each.link_flags != link_flags_) {
            link_flags_ = 0;
        }
    }
}

Status PcapWriter::start(std::uint16_t link_type) {
    started_ = true;
    link_type_ = link_type;
    FileHeader header;
    header.magic = unit_ == 1 ? kNanosecondMagic : kMicrosecondMagic;
    header.snap_length = snap_length_ == 0 ? kMaxSnapLength : snap_length_;
    header.link_type = std::uint32_t{link_flags_} << 16U | link_type;
    written_snap_length_ = header.snap_length;
    return sink_.put(bytes_of(header));
}

// Prepare for a record whose interface differs from the last one's.
Status PcapWriter::use(const Record& record, std::span<const Interface> interfaces) {
    const Interface& interface = interfaces[record.interface];
    if (!started_) {
        UNECHO_TRY(start(interface.link_type));
    }
    if (interface.link_type != link_type_) {
        return fail(Errc::kUnsupported,
                    fmt::format("{} has link type {}, those before it {}, and a pcap file takes "
                                "one: name the output .pcapng, or give {} pcapng",
                                packet_text(record, interfaces), interface.link_type, link_type_,
                                option::kShortFormat));
    }
    interface_ = record.interface;
    file_ = interface.file;
    if (interface.link_flags != link_flags_ && !losses_.has(kFrameCheck)) {
        losses_.note(kFrameCheck, file_, record.number);
    }
    return {};
}

bool PcapWriter::put(const Record& record) {
    const std::uint64_t seconds = record.time / kSecond;
    const std::uint64_t nanoseconds = record.time % kSecond;
    const std::uint64_t fraction = unit_ == 1 ? nanoseconds : nanoseconds / kMicrosecond;
    if (seconds > std::numeric_limits<std::uint32_t>::max()) [[unlikely]] {
        losses_.note(kFarTime, file_, record.number);
    }
    if (fraction * unit_ != nanoseconds) [[unlikely]] {
        losses_.note(kFineTime, file_, record.number);
    }
    const RecordHeader header{static_cast<std::uint32_t>(seconds),
                              static_cast<std::uint32_t>(fraction), record.length,
                              record.wire_length};
    const std::size_t total = sizeof(header) + record.length;
    if (std::byte* to = sink_.room(total); to != nullptr) [[likely]] {
        std::memcpy(to, &header, sizeof(header));
        if (record.length != 0) {
            std::memcpy(to + sizeof(header), record.data, record.length);
        }
        sink_.commit(total);
        sink_.end_packet();
        return true;
    }
    const bool done = sink_.put(bytes_of(header)) &&
                      sink_.put(std::as_bytes(std::span(record.data, record.length)));
    sink_.end_packet();
    return done;
}

Status PcapWriter::write(std::span<const Record> records, std::span<const std::uint64_t> keep,
                         std::span<const Interface> interfaces, const BatchExtras& /*beside*/) {
    look_at(interfaces);
    Status used;
    for_each_kept(records, keep, [&](const Record& record) {
        if (record.interface != interface_) [[unlikely]] {
            used = use(record, interfaces);
            if (!used) {
                return false;
            }
        }
        return put(record);
    });
    return used ? sink_.flush_for_reader() : used;
}

Status PcapWriter::begin(std::span<const Interface> interfaces) {
    look_at(interfaces);
    const Status begun = start(link_type_);
    return begun ? sink_.flush_for_reader() : begun;
}

Status PcapWriter::close() {
    if (!started_) {
        UNECHO_TRY(start(link_type_));
    }
    if (snap_length_ > written_snap_length_ && sink_.can_overwrite()) {
        UNECHO_TRY(sink_.overwrite(offsetof(FileHeader, snap_length), bytes_of(snap_length_)));
    }
    return sink_.close();
}

}  // namespace

std::unique_ptr<Writer> make_pcap_writer(BufferedOutput sink, FileFormat format) {
    return std::make_unique<PcapWriter>(std::move(sink), format);
}

}  // namespace unecho::capture
