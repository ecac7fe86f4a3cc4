// SPDX-License-Identifier: BSD-3-Clause
// The writer of pcapng (draft-ietf-opsawg-pcapng). One pcapng whose blocks are kept is written
// block by block as it is, with its sections and byte orders. All else becomes one little-endian
// section of enhanced packet blocks, with each interface described before its first packet.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "captures/formats/pcapng_blocks.h"
#include "captures/link_types.h"
#include "captures/output/format_writers.h"

namespace unecho::capture {
namespace {

using namespace pcapng;

constexpr std::uint32_t kNotUsed = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t kSimpleHeader = kBlockHeader + kSimpleFixed;

// Position of a section's length in its header, and the value of an unknown length.
constexpr std::size_t kLengthAt = 16;
constexpr std::uint64_t kLengthNotTold = std::numeric_limits<std::uint64_t>::max();

struct PacketHeader {
    std::uint32_t type;
    std::uint32_t total;
    std::uint32_t interface;
    std::uint32_t time_high;
    std::uint32_t time_low;
    std::uint32_t length;
    std::uint32_t wire_length;
};
static_assert(sizeof(PacketHeader) == kBlockHeader + kPacketFixed);

std::string_view text_of(ByteSpan bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::span<const std::byte> bytes_in(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

std::string section_body(std::string_view version, std::string_view options) {
    std::string body;
    append_number(body, kByteOrderMagic);
    body += version;
    append_number(body, kLengthNotTold);
    return body.append(options);
}

std::string interface_block(const Interface& interface) {
    std::string body;
    append_number(body, interface.link_type);
    append_number(body, std::uint16_t{0});
    append_number(body, interface.snap_length);
    if (interface.description != nullptr) {
        const InterfaceDescription& known = *interface.description;
        const Block block{.data = reinterpret_cast<const std::uint8_t*>(known.block.data()),
                          .size = static_cast<std::uint32_t>(known.block.size()),
                          .type = kInterfaceBlock};
        body += convert_options(options_of(block), kInterfaceBlock, known.big_endian, false);
        return make_block(kInterfaceBlock, body, false);
    }
    if (!interface.name.empty()) {
        constexpr std::size_t kLongest = std::numeric_limits<std::uint16_t>::max();
        append_option(body, kOptionName, std::string_view(interface.name).substr(0, kLongest));
    }
    append_option(body, kOptionResolution, needs_nanoseconds(interface) ? "\x09" : "\x06");
    append_option(body, kOptionEnd, "");
    return make_block(kInterfaceBlock, body, false);
}

class PcapngWriter final : public Writer {
  public:
    explicit PcapngWriter(BufferedOutput sink) : sink_(std::move(sink)) {}

    Status write(std::span<const Record> records, std::span<const std::uint64_t> keep,
                 std::span<const Interface> interfaces, const BatchExtras& beside) override;
    Status begin(std::span<const Interface> interfaces) override;
    Status close() override;
    [[nodiscard]] std::uint64_t bytes() const override { return sink_.bytes(); }
    [[nodiscard]] std::vector<Warning> warnings() const override { return losses_.warnings(); }
    [[nodiscard]] bool keeps_blocks() const override { return true; }

  private:
    // An interface of the source, as written to the output.
    struct Used {
        std::uint32_t id = kNotUsed;
        std::uint32_t unit = 1;  // of its times, in nanoseconds
    };
    enum LossKind : std::uint8_t { kStatistics, kPrivate, kForeign, kSections, kLosses };

    Status start();
    Status describe(const Interface& interface, Used& used);
    // Write a packet that has neither block nor comment: the fast path.
    bool put_plain(const Record& record, std::span<const Interface> interfaces);
    bool put_record(const Record& record, std::string_view comment,
                    std::span<const Interface> interfaces);
    bool put(PacketHeader header, const Record& record, std::string_view options, bool big_endian);

    // For one pcapng that is written as it is.
    bool put_same(const Record& record, std::string_view comment,
                  std::span<const Interface> interfaces);
    bool put_same(const Block& block);
    void begin_section(const Block& block);
    Status end_section();

    // For several inputs that become one section.
    bool put_merged(const Record& record, std::string_view comment,
                    std::span<const Interface> interfaces);
    bool put_merged(const Block& block, std::span<const Interface> interfaces);
    bool put_block(const Block& block, std::span<const Interface> interfaces);
    void note_gap() { changed_ = dropped_ = section_changed_ = true; }
    bool put_header(const Block& block);
    bool put_statistics(const Block& block, std::span<const Interface> interfaces);

    bool use(std::uint32_t interface, std::span<const Interface> interfaces);
    bool put_text(std::string_view text) { return sink_.put(bytes_in(text)).has_value(); }

    BufferedOutput sink_;
    bool started_ = false;
    bool same_ = false;     // one pcapng is written as it is
    bool changed_ = false;  // something of the input was left out or added
    bool dropped_ = false;  // a packet of the section was not written
    std::string section_options_;
    std::uint64_t section_at_ = 0;  // position in the output
    std::uint64_t section_header_ = 0;
    std::uint64_t section_length_ = kLengthNotTold;  // as the input states it
    bool section_big_ = false;
    bool section_changed_ = false;
    std::optional<Interface> first_;
    std::vector<Used> used_;  // by number in the source
    std::uint32_t next_id_ = 0;
    LossWarnings<kLosses> losses_{
        {"interface statistics are left out: packets of their section are not in the output",
         "custom blocks or options that are not for a changed file are left out",
         "blocks of unknown types, or that only their owner can put into another byte order, are "
         "left out: the inputs become one section",
         "options of section headers (hardware, OS, application, comments) are left out: the "
         "inputs become one section, with those of the first"}};
};

Status PcapngWriter::start() {
    constexpr std::string_view kVersion("\1\0\0\0", 4);
    started_ = true;
    return sink_.put(
        bytes_in(make_block(kSectionHeader, section_body(kVersion, section_options_), false)));
}

Status PcapngWriter::describe(const Interface& interface, Used& used) {
    if (!started_) {
        UNECHO_TRY(start());
    }
    used.id = next_id_++;
    used.unit = needs_nanoseconds(interface) ? 1 : kMicrosecond;
    return sink_.put(bytes_in(interface_block(interface)));
}

bool PcapngWriter::use(std::uint32_t interface, std::span<const Interface> interfaces) {
    Used& used = used_[interface];
    return used.id != kNotUsed || describe(interfaces[interface], used).has_value();
}

bool PcapngWriter::put(PacketHeader header, const Record& record, std::string_view options,
                       bool big_endian) {
    const std::size_t body = record.length + padding(record.length);
    const std::size_t total = sizeof(header) + body + options.size() + sizeof(std::uint32_t);
    const std::uint32_t told = to_byte_order(static_cast<std::uint32_t>(total), big_endian);
    header.total = told;
    if (std::byte* to = sink_.room(total); to != nullptr) [[likely]] {
        std::memcpy(to, &header, sizeof(header));
        to += sizeof(header);
        if (record.length != 0) {
            std::memcpy(to, record.data, record.length);
        }
        std::memset(to + record.length, 0, body - record.length);
        to += body;
        if (!options.empty()) {
            std::memcpy(to, options.data(), options.size());
        }
        std::memcpy(to + options.size(), &told, sizeof(told));
        sink_.commit(total);
        return true;
    }
    const std::uint32_t zero = 0;
    return sink_.put(bytes_of(header)) &&
           sink_.put(std::as_bytes(std::span(record.data, record.length))) &&
           sink_.put(bytes_of(zero).first(body - record.length)) && sink_.put(bytes_in(options)) &&
           sink_.put(bytes_of(told));
}

PacketHeader header_of(const Record& record, std::uint32_t interface, std::uint64_t time,
                       bool big_endian) {
    return {to_byte_order(kEnhancedPacket, big_endian),
            0,
            to_byte_order(interface, big_endian),
            to_byte_order(static_cast<std::uint32_t>(time >> 32U), big_endian),
            to_byte_order(static_cast<std::uint32_t>(time), big_endian),
            to_byte_order(record.length, big_endian),
            to_byte_order(record.wire_length, big_endian)};
}

std::string comment_option(std::string_view comment, bool big_endian) {
    std::string out;
    if (!comment.empty()) {
        append_option(out, kOptionComment, comment, big_endian);
    }
    return out;
}

bool PcapngWriter::put_plain(const Record& record, std::span<const Interface> interfaces) {
    if (used_[record.interface].id == kNotUsed) [[unlikely]] {
        if (!use(record.interface, interfaces)) {
            return false;
        }
    }
    const Used& used = used_[record.interface];
    const std::uint64_t time = used.unit == 1 ? record.time : record.time / kMicrosecond;
    return put(header_of(record, used.id, time, false), record, {}, false);
}

bool PcapngWriter::put_record(const Record& record, std::string_view comment,
                              std::span<const Interface> interfaces) {
    changed_ = changed_ || !comment.empty();
    section_changed_ = section_changed_ || !comment.empty();
    return same_ ? put_same(record, comment, interfaces) : put_merged(record, comment, interfaces);
}

// With a comment, a simple packet becomes an enhanced one, of the section's first interface.
bool PcapngWriter::put_same(const Record& record, std::string_view comment,
                            std::span<const Interface> interfaces) {
    const bool big = record.big_endian;
    const ByteSpan options = options_of(record);
    const bool stripped = changed_ && has_private(options, big);
    if (stripped) {
        losses_.note(kPrivate, interfaces[record.interface].file);
        section_changed_ = true;
    }
    if (comment.empty() && !stripped) {
        return sink_.put(std::as_bytes(block_of(record))).has_value();
    }
    PacketHeader header{};
    if (record.header == kSimpleHeader) {
        const auto& known = interfaces[record.interface].description;
        header = header_of(record, 0, to_interface_ticks(record.time, *known), big);
    } else {
        std::memcpy(&header, block_of(record).data(), sizeof(header));
    }
    return put(header, record,
               convert_options(options, to_byte_order(header.type, big), big, big,
                               comment_option(comment, big)),
               big);
}

bool PcapngWriter::put_same(const Block& block) {
    if (block.type == kSectionHeader) {
        if (!end_section()) {
            return false;
        }
        begin_section(block);
    }
    const bool stale = block.type == kStatisticsBlock && dropped_;
    const ByteSpan options = options_of(block);
    if (stale || (changed_ && block.type == kPrivateBlock)) {
        losses_.note(stale ? kStatistics : kPrivate, block.file);
        changed_ = section_changed_ = true;
        return true;
    }
    const ByteSpan whole(block.data, block.size);
    const bool not_told =
        block.type == kSectionHeader && section_length_ != kLengthNotTold && !sink_.can_overwrite();
    const bool stripped = changed_ && has_private(options, block.big_endian);
    if (!not_told && !stripped) {
        return put_text(text_of(whole));
    }
    std::string body(text_of(whole.subspan(kBlockHeader)));
    body.resize(block.size - kBlockFrame);
    if (stripped) {
        losses_.note(kPrivate, block.file);
        section_changed_ = true;
        body.resize(static_cast<std::size_t>(options.data() - block.data) - kBlockHeader);
        body += convert_options(options, block.type, block.big_endian, block.big_endian);
    }
    if (not_told) {
        section_length_ = kLengthNotTold;
        body.replace(kLengthAt - kBlockHeader, sizeof(kLengthNotTold), sizeof(kLengthNotTold),
                     '\xff');
    }
    const std::string written = make_block(block.type, body, block.big_endian);
    section_header_ = block.type == kSectionHeader ? written.size() : section_header_;
    return put_text(written);
}

void PcapngWriter::begin_section(const Block& block) {
    section_at_ = sink_.bytes();
    section_header_ = block.size;
    section_big_ = block.big_endian;
    section_length_ = block.size >= kBlockHeader + kSectionFixed
                          ? number_at<std::uint64_t>(block.data + kLengthAt, block.big_endian)
                          : kLengthNotTold;
    dropped_ = false;
    section_changed_ = false;
}

// Correct the length of a changed section, if the input stated one.
Status PcapngWriter::end_section() {
    if (section_length_ == kLengthNotTold || !section_changed_) {
        return {};
    }
    const std::uint64_t length =
        to_byte_order(sink_.bytes() - section_at_ - section_header_, section_big_);
    section_length_ = kLengthNotTold;
    return sink_.overwrite(section_at_ + kLengthAt, bytes_of(length));
}

bool PcapngWriter::put_merged(const Record& record, std::string_view comment,
                              std::span<const Interface> interfaces) {
    if (!use(record.interface, interfaces)) {
        return false;
    }
    const Interface& interface = interfaces[record.interface];
    const Used& used = used_[record.interface];
    std::uint64_t time = used.unit == 1 ? record.time : record.time / kMicrosecond;
    std::string first = comment_option(comment, false);
    if (record.header == 0 || interface.description == nullptr) {
        return put(header_of(record, used.id, time, false), record,
                   convert_options({}, 0, false, false, first), false);
    }
    const std::uint8_t* const block = block_of(record).data();
    const bool big = record.big_endian;
    if (record.header == kSimpleHeader) {
        time = to_interface_ticks(record.time, *interface.description);
    } else {
        time = std::uint64_t{number_at<std::uint32_t>(block + 12, big)} << 32U |
               number_at<std::uint32_t>(block + 16, big);
    }
    const auto type = number_at<std::uint32_t>(block, big);
    if (type == kObsoletePacket) {
        constexpr std::uint16_t kUnknown = 0xFFFF;
        const auto drops = number_at<std::uint16_t>(block + 10, big);
        if (drops != kUnknown) {
            std::string count;
            append_number(count, std::uint64_t{drops});
            append_option(first, kOptionDrops, count);
        }
    }
    const ByteSpan options = options_of(record);
    if (!options.empty() && has_private(options, big)) {
        losses_.note(kPrivate, interface.file);
    }
    return put(header_of(record, used.id, time, false), record,
               convert_options(options, type, big, false, first), false);
}

// The first section header begins the output.
bool PcapngWriter::put_header(const Block& block) {
    const std::string options =
        convert_options(options_of(block), kSectionHeader, block.big_endian, false);
    if (!started_) {
        section_options_ = options;
        return start().has_value();
    }
    if (!options.empty() && options != section_options_) {
        losses_.note(kSections, block.file);
    }
    return true;
}

bool PcapngWriter::put_statistics(const Block& block, std::span<const Interface> interfaces) {
    if (dropped_ || block.interface == Block::kNoInterface ||
        block.size < kBlockFrame + kStatisticsFixed) {
        losses_.note(kStatistics, block.file);
        return true;
    }
    if (!use(block.interface, interfaces)) {
        return false;
    }
    std::string body;
    append_number(body, used_[block.interface].id);
    for (const std::size_t half : {std::size_t{12}, std::size_t{16}}) {
        append_number(body, number_at<std::uint32_t>(block.data + half, block.big_endian));
    }
    body += convert_options(options_of(block), kStatisticsBlock, block.big_endian, false);
    return put_text(make_block(kStatisticsBlock, body, false));
}

bool PcapngWriter::put_merged(const Block& block, std::span<const Interface> interfaces) {
    switch (block.type) {
        case kSectionHeader:
            return put_header(block);
        case kInterfaceBlock:
            return use(block.interface, interfaces);
        case kStatisticsBlock:
            return put_statistics(block, interfaces);
        case kPrivateBlock:
            losses_.note(kPrivate, block.file);
            return true;
        default:
            break;
    }
    if (!started_ && !start()) {
        return false;
    }
    if (block.type == kCustomBlock && !block.big_endian) {
        return put_text(text_of(ByteSpan(block.data, block.size)));
    }
    const std::string body = little_endian_body(block);
    if (body.empty()) {
        losses_.note(kForeign, block.file);
        return true;
    }
    return put_text(make_block(block.type, body, false));
}

bool PcapngWriter::put_block(const Block& block, std::span<const Interface> interfaces) {
    if (block.gap) {
        note_gap();
        return true;
    }
    return same_ ? put_same(block) : put_merged(block, interfaces);
}

Status PcapngWriter::begin(std::span<const Interface> interfaces) {
    used_.resize(interfaces.size());
    for (std::uint32_t i = 0; i < interfaces.size(); ++i) {
        if (!use(i, interfaces)) {
            return sink_.status();
        }
    }
    return sink_.flush_for_reader();
}

Status PcapngWriter::write(std::span<const Record> records, std::span<const std::uint64_t> keep,
                           std::span<const Interface> interfaces, const BatchExtras& beside) {
    constexpr std::size_t kBits = 64;
    if (!first_ && !interfaces.empty()) {
        first_ = interfaces.front();
    }
    if (used_.size() < interfaces.size()) {
        used_.resize(interfaces.size());
    }
    const auto real = std::find_if(beside.blocks.begin(), beside.blocks.end(),
                                   [](const Block& one) { return !one.gap; });
    same_ = same_ || (!started_ && real != beside.blocks.end() && !real->merged);
    started_ = started_ || same_;
    auto block = beside.blocks.begin();
    auto comment = beside.comments.begin();
    bool good = true;
    for (std::size_t i = 0; good; ++i) {
        for (; good && block != beside.blocks.end() && block->before <= i; ++block) {
            good = put_block(*block, interfaces);
        }
        if (i == records.size()) {
            break;
        }
        std::string_view text;
        if (comment != beside.comments.end() && comment->record == i) {
            text = (comment++)->text;
        }
        if ((keep[i / kBits] >> i % kBits & 1U) == 0) {
            note_gap();
        } else if (good) {
            good = records[i].header == 0 && text.empty()
                       ? put_plain(records[i], interfaces)
                       : put_record(records[i], text, interfaces);
            sink_.end_packet();
        }
    }
    return good ? sink_.flush_for_reader() : sink_.status();
}

Status PcapngWriter::close() {
    if (same_) {
        const Status ended = end_section();
        return ended ? sink_.close() : ended;
    }
    if (next_id_ == 0) {
        Interface ethernet;
        ethernet.link_type = kEthernetLink;
        Used used;
        UNECHO_TRY(describe(first_.value_or(ethernet), used));
    }
    return sink_.close();
}

}  // namespace

std::unique_ptr<Writer> make_pcapng_writer(BufferedOutput sink) {
    return std::make_unique<PcapngWriter>(std::move(sink));
}

}  // namespace unecho::capture
