// SPDX-License-Identifier: BSD-3-Clause
// pcapng, little-endian, one section: an interface description when its first packet comes, and
// enhanced packet blocks (draft-ietf-opsawg-pcapng, sections 4.1 to 4.3).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capture/formats.h"

namespace unecho::capture {
namespace {

constexpr std::uint16_t kEthernet = 1;
constexpr std::uint16_t kOptionEnd = 0;
constexpr std::uint16_t kOptionName = 2;
constexpr std::uint16_t kOptionResolution = 9;
constexpr std::uint32_t kInterfaceBlock = 1;
constexpr std::uint32_t kPacketBlock = 6;
constexpr std::uint32_t kNotUsed = std::numeric_limits<std::uint32_t>::max();

struct SectionHeader {
    std::uint32_t type = 0x0a0d0d0a;
    std::uint32_t total = 28;
    std::uint32_t order = 0x1a2b3c4d;
    std::uint16_t major = 1;
    std::uint16_t minor = 0;
    std::uint32_t length[2] = {0xffffffff, 0xffffffff};  // not told
    std::uint32_t total_again = 28;
};
static_assert(sizeof(SectionHeader) == 28);

struct PacketHeader {
    std::uint32_t type;
    std::uint32_t total;
    std::uint32_t interface;
    std::uint32_t time_high;
    std::uint32_t time_low;
    std::uint32_t length;
    std::uint32_t wire_length;
};
static_assert(sizeof(PacketHeader) == 28);

constexpr std::size_t padded(std::size_t length) {
    return (length + 3) & ~std::size_t{3};
}

template <typename Number>
void append(std::string& text, Number value) {
    char raw[sizeof(value)];
    std::memcpy(raw, &value, sizeof(value));
    text.append(raw, sizeof(raw));
}

void append_option(std::string& text, std::uint16_t code, std::string_view value) {
    append(text, code);
    append(text, static_cast<std::uint16_t>(value.size()));
    text += value;
    text.append(padded(value.size()) - value.size(), '\0');
}

std::string interface_block(const Interface& interface) {
    std::string body;
    append(body, interface.link_type);
    append(body, std::uint16_t{0});
    append(body, interface.snap_length);
    if (!interface.name.empty()) {
        constexpr std::size_t kLongest = std::numeric_limits<std::uint16_t>::max();
        append_option(body, kOptionName, std::string_view(interface.name).substr(0, kLongest));
    }
    append_option(body, kOptionResolution, needs_nanoseconds(interface) ? "\x09" : "\x06");
    append_option(body, kOptionEnd, "");
    std::string block;
    const auto total = static_cast<std::uint32_t>(body.size() + 3 * sizeof(std::uint32_t));
    append(block, kInterfaceBlock);
    append(block, total);
    block += body;
    append(block, total);
    return block;
}

class PcapngWriter final : public Writer {
  public:
    explicit PcapngWriter(Sink sink) : sink_(std::move(sink)) {}

    Status write(std::span<const Record> records, std::span<const std::uint64_t> keep,
                 std::span<const Interface> interfaces) override;
    Status close() override;
    [[nodiscard]] std::uint64_t bytes() const override { return sink_.bytes(); }
    [[nodiscard]] std::vector<Warning> warnings() const override { return {}; }

  private:
    // An interface of the source, as it is here.
    struct Used {
        std::uint32_t id = kNotUsed;
        std::uint32_t unit = 1;  // of its times, in nanoseconds
    };

    Status start();
    Status describe(const Interface& interface, Used& used);
    bool put(const Record& record, const Used& used);

    Sink sink_;
    bool started_ = false;
    std::optional<Interface> first_;
    std::vector<Used> used_;  // by number in the source
    std::uint32_t next_id_ = 0;
};

Status PcapngWriter::start() {
    started_ = true;
    return sink_.put(bytes_of(SectionHeader{}));
}

Status PcapngWriter::describe(const Interface& interface, Used& used) {
    if (!started_) {
        if (const Status begun = start(); !begun) {
            return begun;
        }
    }
    used.id = next_id_++;
    used.unit = needs_nanoseconds(interface) ? 1 : kMicrosecond;
    const std::string block = interface_block(interface);
    return sink_.put(std::as_bytes(std::span(block.data(), block.size())));
}

bool PcapngWriter::put(const Record& record, const Used& used) {
    const std::size_t body = padded(record.length);
    const std::size_t total = sizeof(PacketHeader) + body + sizeof(std::uint32_t);
    const std::uint64_t time = used.unit == 1 ? record.time : record.time / kMicrosecond;
    const auto total32 = static_cast<std::uint32_t>(total);
    const PacketHeader header{kPacketBlock,
                              total32,
                              used.id,
                              static_cast<std::uint32_t>(time >> 32U),
                              static_cast<std::uint32_t>(time),
                              record.length,
                              record.wire_length};
    if (std::byte* to = sink_.room(total); to != nullptr) [[likely]] {
        std::memcpy(to, &header, sizeof(header));
        to += sizeof(header);
        if (record.length != 0) {
            std::memcpy(to, record.data, record.length);
        }
        std::memset(to + record.length, 0, body - record.length);
        std::memcpy(to + body, &total32, sizeof(total32));
        sink_.took(total);
        return true;
    }
    const std::uint32_t zero = 0;
    return sink_.put(bytes_of(header)) &&
           sink_.put(std::as_bytes(std::span(record.data, record.length))) &&
           sink_.put(bytes_of(zero).first(body - record.length)) && sink_.put(bytes_of(total32));
}

Status PcapngWriter::write(std::span<const Record> records, std::span<const std::uint64_t> keep,
                           std::span<const Interface> interfaces) {
    if (!first_ && !interfaces.empty()) {
        first_ = interfaces.front();
    }
    if (used_.size() < interfaces.size()) {
        used_.resize(interfaces.size());
    }
    for_each_kept(records, keep, [&](const Record& record) {
        Used& used = used_[record.interface];
        if (used.id == kNotUsed) [[unlikely]] {
            if (!describe(interfaces[record.interface], used)) {
                return false;
            }
        }
        return put(record, used);
    });
    return sink_.pass_on();
}

Status PcapngWriter::close() {
    if (next_id_ == 0) {
        Interface ethernet;
        ethernet.link_type = kEthernet;
        Used used;
        if (const Status told = describe(first_.value_or(ethernet), used); !told) {
            return told;
        }
    }
    return sink_.close();
}

}  // namespace

std::unique_ptr<Writer> make_pcapng_writer(Sink sink) {
    return std::make_unique<PcapngWriter>(std::move(sink));
}

}  // namespace unecho::capture
