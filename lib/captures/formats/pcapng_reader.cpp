// SPDX-License-Identifier: BSD-3-Clause
// The reader of pcapng (draft-ietf-opsawg-pcapng). Byte order and interfaces are a section's own.
#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include "base/humanize.h"
#include "base/int128.h"
#include "base/utf8.h"
#include "captures/formats/format_reader.h"
#include "captures/formats/pcapng_blocks.h"

namespace unecho::capture {
namespace {

using namespace pcapng;

constexpr std::array kWithoutPackets{kNamesBlock,   kStatisticsBlock, kJournalBlock,
                                     kSecretsBlock, kCustomBlock,     kPrivateBlock};

// Blocks that a reader of the written capture would miss. Not statistics, which every file has.
struct Missed {
    std::uint32_t type;
    std::string_view text;
};
constexpr std::array kMissed{
    Missed{kNamesBlock, "names of addresses (a block of pcapng) are not kept"},
    Missed{kSecretsBlock, "decryption secrets (a block of pcapng) are not kept"},
    Missed{kCustomBlock, "custom blocks of pcapng are not kept"}};
constexpr std::string_view kLostOptions =
    "comments, flags or other options of packets are not kept";

constexpr std::size_t kSmallestSection = 16;  // with its version

constexpr std::size_t kMaxName = 256;
// Bound of distinct descriptions of interfaces, names included: some thousands. With all that
// readers and writers keep for each, it stays within what --memory reserves for an input.
constexpr std::size_t kMaxInterfaceBytes = 512U << 10;

// Timestamps by if_tsresol and if_tsoffset: units of a power of 10 or 2 of a second.
class BlockClock {
  public:
    BlockClock(std::uint8_t resolution, std::int64_t offset_seconds)
        : binary_((resolution & 0x80) != 0),
          exponent_(resolution & 0x7F),
          offset_seconds_(offset_seconds) {
        if (!binary_ && exponent_ <= kNanoDigits) {
            factor_ = power_of_10(kNanoDigits - exponent_);
        }
    }

    // Return the unit in nanoseconds, at least 1.
    [[nodiscard]] Nanoseconds tick() const {
        if (factor_ != 0) {
            return factor_;
        }
        const unsigned shift = std::min(exponent_, 63U);
        return binary_ ? std::max<Nanoseconds>(kSecond >> shift, 1) : 1;
    }

    // Return false if the time does not fit; `time` is then the nearest that does.
    bool convert(std::uint64_t units, Nanoseconds& time) const {
        if (factor_ != 0 && offset_seconds_ == 0 && !__builtin_mul_overflow(units, factor_, &time))
            [[likely]] {
            return true;
        }
        const int128 exact = static_cast<int128>(since_offset(units)) +
                             static_cast<int128>(offset_seconds_) * kSecond;
        const int128 highest = std::numeric_limits<Nanoseconds>::max();
        time = static_cast<Nanoseconds>(std::clamp<int128>(exact, 0, highest));
        return exact >= 0 && exact <= highest;
    }

  private:
    static constexpr unsigned kNanoDigits = 9;

    [[nodiscard]] uint128 since_offset(std::uint64_t units) const {
        if (factor_ != 0) {
            return static_cast<uint128>(units) * factor_;
        }
        if (binary_) {
            return static_cast<uint128>(units) * kSecond >> exponent_;
        }
        constexpr unsigned kMostDigits = 19;
        const unsigned digits = exponent_ - kNanoDigits;
        return digits > kMostDigits ? 0 : units / power_of_10(digits);
    }

    bool binary_;
    unsigned exponent_;
    std::int64_t offset_seconds_;
    std::uint64_t factor_ = 0;  // nanoseconds of a unit, if a power of 10; else 0
};

// Return "pcapng of version 2.0, ..." if a section header's version is unknown; empty if it is
// known, or cut off. Version 1.2 was written for 1.0 with more blocks.
std::string unknown_version(std::span<const std::uint8_t> header) {
    if (header.size() < kSmallestSection) {
        return {};
    }
    const std::uint8_t* const at = header.data();
    const bool big = load<std::uint32_t, std::endian::big>(at + kBlockHeader) == kByteOrderMagic;
    // Against the rules, the stated length may leave no room for a version.
    if (number_at<std::uint32_t>(at + kBlockHeader, big) != kByteOrderMagic ||
        number_at<std::uint32_t>(at + 4, big) < kSmallestSection + sizeof(std::uint32_t)) {
        return {};
    }
    const auto major = number_at<std::uint16_t>(at + 12, big);
    const auto minor = number_at<std::uint16_t>(at + 14, big);
    if (major == 1 && (minor == 0 || minor == 2)) {
        return {};
    }
    return fmt::format("pcapng of version {}.{}, which is not known (1.0 and 1.2 are)", major,
                       minor);
}

struct BlockView {
    std::uint32_t type;
    const std::uint8_t* body;
    std::size_t length;  // of the body
    std::size_t size;    // of the block with padding
};

// Options of an interface block.
struct InterfaceOptions {
    std::string name;
    std::uint8_t resolution = 6;  // if_tsresol: microseconds
    std::int64_t offset_seconds = 0;
};

template <std::endian kOrder>
InterfaceOptions interface_options(const BlockView& block) {
    InterfaceOptions out;
    for (std::size_t at = kInterfaceFixed; at + kOptionHeader <= block.length;) {
        const auto code = load<std::uint16_t, kOrder>(block.body + at);
        const std::size_t length = load<std::uint16_t, kOrder>(block.body + at + 2);
        const std::uint8_t* const value = block.body + at + kOptionHeader;
        if (code == kOptionEnd || at + kOptionHeader + length > block.length) {
            break;
        }
        if (code == kOptionName) {
            const std::string_view name(reinterpret_cast<const char*>(value),
                                        std::min(length, kMaxName));
            out.name = printable(name.substr(0, name.find('\0')));
        } else if (code == kOptionResolution && length >= 1) {
            out.resolution = value[0];
        } else if (code == kOptionOffset && length == sizeof(out.offset_seconds)) {
            out.offset_seconds = static_cast<std::int64_t>(load<std::uint64_t, kOrder>(value));
        }
        at += kOptionHeader + length + padding(length);
    }
    return out;
}

class PcapngReader final : public FormatReader {
  public:
    explicit PcapngReader(WarningList& notes) : FormatReader(notes) {}

    [[nodiscard]] std::size_t header_bytes() const override { return 0; }
    // Check the first section header, and do not take it.
    Status parse_header(std::span<const std::uint8_t> bytes) override {
        const std::string unknown = unknown_version(bytes);
        return unknown.empty() ? Status() : fail(Errc::kUnsupported, unknown);
    }

    ParseProgress take(std::span<const std::uint8_t> bytes, Batch& batch) override {
        std::size_t done = 0;
        for (;;) {
            const auto rest = bytes.subspan(done);
            ParseProgress taken = order_ == std::endian::little
                                      ? take_blocks<std::endian::little>(rest, batch)
                                      : take_blocks<std::endian::big>(rest, batch);
            done += taken.bytes;
            if (taken.need == 0 && !taken.ended && !full(batch)) {
                taken = take_section(bytes.subspan(done), batch);
                done += taken.bytes;
            }
            if (taken.need != 0 || taken.ended || full(batch)) {
                taken.bytes = done;
                return taken;
            }
        }
    }

    [[nodiscard]] TruncatedTail describe_tail(std::span<const std::uint8_t> rest) const override {
        constexpr std::uint32_t kUsual = 1U << 20;
        if (rest.size() < kBlockHeader) {
            return {"block header cut short"};
        }
        const auto size = number_at<std::uint32_t>(rest.data() + 4, order_ == std::endian::big);
        const auto type = load<std::uint32_t, std::endian::native>(rest.data());
        return {"block cut short", size, size > kUsual && type != kSectionHeader};
    }

  private:
    // Take blocks up to a section header.
    template <std::endian kOrder>
    ParseProgress take_blocks(std::span<const std::uint8_t> bytes, Batch& batch);
    ParseProgress take_section(std::span<const std::uint8_t> bytes, Batch& batch);

    // Return false if what follows cannot be parsed; end_ says why.
    template <std::endian kOrder>
    bool take_block(const BlockView& block, Batch& batch);
    template <std::endian kOrder>
    bool take_interface(const BlockView& block, Batch& batch);
    bool add_interface(Interface interface);
    template <std::endian kOrder>
    bool take_packet(const BlockView& block, Batch& batch);
    template <std::endian kOrder>
    bool take_simple_packet(const BlockView& block, Batch& batch);

    // Set the time of the packet that was counted last.
    void take_time(const BlockClock& clock, std::uint64_t units) {
        if (!clock.convert(units, last_time_)) [[unlikely]] {
            notes_.add(packets_,
                       last_time_ == 0
                           ? "time before 1970 cannot be held: ages among such packets count as 0"
                           : "time after 2554 cannot be held: ages among such packets count as 0");
        }
    }

    bool refuse(std::string_view why, bool damage = true) {
        end_ = {std::string(why), damage};
        return false;
    }
    [[nodiscard]] bool full(const Batch& batch) const {
        return batch.records.size() + batch.blocks.size() >= limit_;
    }
    void keep(const BlockView& block, std::uint32_t interface, Batch& batch) const;
    void note_skipped(std::uint32_t type);
    void note_lost(std::uint64_t number, std::string_view what);

    std::endian order_ = std::endian::little;
    std::vector<std::uint32_t> section_;  // index of each of the section's interfaces
    std::vector<BlockClock> clocks_;      // of the section's interfaces
    // The interfaces by place in their section and description: the name, or the whole block if
    // blocks are kept, because its other options are written too. The same one in a later section,
    // as in pcapng files put one behind the other, is the same interface.
    std::map<std::tuple<std::size_t, std::uint16_t, std::uint32_t, Nanoseconds, std::string>,
             std::uint32_t>
        known_;
    std::size_t known_bytes_ = 0;
    Nanoseconds last_time_ = 0;
    std::vector<std::uint32_t> skipped_;  // unknown types reported already
};

template <std::endian kOrder>
ParseProgress PcapngReader::take_blocks(std::span<const std::uint8_t> bytes, Batch& batch) {
    ParseProgress out;
    while (!full(batch)) {
        const std::uint8_t* const at = bytes.data() + out.bytes;
        const std::size_t left = bytes.size() - out.bytes;
        if (left < kBlockHeader) {
            out.need = kBlockHeader;
            break;
        }
        const auto type = load<std::uint32_t, kOrder>(at);
        if (type == kSectionHeader) {
            break;
        }
        const std::size_t total = load<std::uint32_t, kOrder>(at + 4);
        if (total < kBlockFrame || total > kMaxRecord) {
            refuse(fmt::format("block of {} bytes", format_count(total)));
            out.ended = true;
            break;
        }
        const std::size_t size = total + padding(total);
        if (left < size) {
            out.need = size;
            break;
        }
        if (!take_block<kOrder>({type, at + kBlockHeader, total - kBlockFrame, size}, batch)) {
            out.ended = true;
            break;
        }
        out.bytes += size;
    }
    return out;
}

ParseProgress PcapngReader::take_section(std::span<const std::uint8_t> bytes, Batch& batch) {
    if (bytes.size() < kUpToMagic) {
        return {.need = kUpToMagic};
    }
    const std::uint8_t* const at = bytes.data();
    std::size_t total = 0;
    std::endian order = std::endian::little;
    if (load<std::uint32_t, std::endian::little>(at + kBlockHeader) == kByteOrderMagic) {
        total = load<std::uint32_t, std::endian::little>(at + 4);
    } else if (load<std::uint32_t, std::endian::big>(at + kBlockHeader) == kByteOrderMagic) {
        total = load<std::uint32_t, std::endian::big>(at + 4);
        order = std::endian::big;
    } else {
        return {.ended = !refuse("bad byte-order magic")};
    }
    if (total > kMaxRecord) {
        return {.ended = !refuse(fmt::format("block of {} bytes", format_count(total)))};
    }
    const std::size_t size = std::max(total, kSmallestSection) + padding(total);
    if (bytes.size() < size) {
        return {.need = size};
    }
    if (const std::string unknown = unknown_version(bytes); !unknown.empty()) {
        return {.ended = !refuse("section of " + unknown, false)};
    }
    order_ = order;
    section_.clear();
    clocks_.clear();
    keep({kSectionHeader, at + kBlockHeader, 0, size}, Block::kNoInterface, batch);
    return {.bytes = size};
}

template <std::endian kOrder>
bool PcapngReader::take_block(const BlockView& block, Batch& batch) {
    switch (block.type) {
        case kEnhancedPacket:
        case kObsoletePacket:
            return take_packet<kOrder>(block, batch);
        case kSimplePacket:
            return take_simple_packet<kOrder>(block, batch);
        case kInterfaceBlock:
            return take_interface<kOrder>(block, batch);
        default:
            break;
    }
    std::uint32_t interface = Block::kNoInterface;
    if (block.type == kStatisticsBlock && block.length >= sizeof(interface)) {
        const auto place = load<std::uint32_t, kOrder>(block.body);
        interface = place < section_.size() ? section_[place] : interface;
    }
    keep(block, interface, batch);
    note_skipped(block.type);
    packets_ += is_numbered(block.type) ? 1 : 0;
    return true;
}

void PcapngReader::keep(const BlockView& block, std::uint32_t interface, Batch& batch) const {
    if (keep_blocks_) {
        batch.blocks.push_back({.data = block.body - kBlockHeader,
                                .size = static_cast<std::uint32_t>(block.size),
                                .type = block.type,
                                .before = static_cast<std::uint32_t>(batch.records.size()),
                                .interface = interface,
                                .big_endian = order_ == std::endian::big});
    }
}

template <std::endian kOrder>
bool PcapngReader::take_interface(const BlockView& block, Batch& batch) {
    if (block.length < kInterfaceFixed) {
        return refuse("interface block too short");
    }
    InterfaceOptions options = interface_options<kOrder>(block);
    const BlockClock clock(options.resolution, options.offset_seconds);
    Interface out;
    out.name = std::move(options.name);
    out.link_type = load<std::uint16_t, kOrder>(block.body);
    out.snap_length = load<std::uint32_t, kOrder>(block.body + 4);
    out.tick = clock.tick();
    if (keep_blocks_) {
        const auto* const whole = reinterpret_cast<const char*>(block.body - kBlockHeader);
        out.description =
            std::make_shared<InterfaceDescription>(InterfaceDescription{{whole, block.size},
                                                                        kOrder == std::endian::big,
                                                                        options.resolution,
                                                                        options.offset_seconds});
    }
    if (!add_interface(std::move(out))) {
        return false;
    }
    clocks_.push_back(clock);
    keep(block, section_.back(), batch);
    return true;
}

bool PcapngReader::add_interface(Interface interface) {
    const auto fresh = static_cast<std::uint32_t>(interfaces_.size());
    const std::string& description =
        interface.description ? interface.description->block : interface.name;
    const auto [known, is_new] = known_.try_emplace(
        {section_.size(), interface.link_type, interface.snap_length, interface.tick, description},
        fresh);
    if (is_new) {
        known_bytes_ += sizeof(Interface) + description.size();
        if (known_bytes_ > kMaxInterfaceBytes) {
            return refuse(
                fmt::format("more than {} interfaces, whose descriptions would take more than {}",
                            format_count(fresh), format_size(kMaxInterfaceBytes)),
                false);
        }
        interfaces_.push_back(std::move(interface));
    }
    section_.push_back(known->second);
    return true;
}

template <std::endian kOrder>
bool PcapngReader::take_packet(const BlockView& block, Batch& batch) {
    const bool enhanced = block.type == kEnhancedPacket;
    if (block.length < kPacketFixed) {
        return refuse(enhanced ? "enhanced packet block too short" : "packet block too short");
    }
    const std::uint8_t* const body = block.body;
    // The obsolete block has 16 bits for the interface, followed by 16 bits of drops.
    const std::uint32_t interface =
        enhanced ? load<std::uint32_t, kOrder>(body) : load<std::uint16_t, kOrder>(body);
    const auto length = load<std::uint32_t, kOrder>(body + 12);
    if (interface >= clocks_.size()) {
        return refuse("packet of an unknown interface");
    }
    if (length > block.length - kPacketFixed) {
        return refuse("packet longer than its block");
    }
    const std::uint64_t units = std::uint64_t{load<std::uint32_t, kOrder>(body + 4)} << 32 |
                                load<std::uint32_t, kOrder>(body + 8);
    ++packets_;
    take_time(clocks_[interface], units);
    const std::size_t options = kPacketFixed + length + padding(length);
    if (block.length >= options + kOptionHeader &&
        load<std::uint16_t, kOrder>(body + options) != kOptionEnd) [[unlikely]] {
        note_lost(packets_, kLostOptions);
    }
    constexpr auto kHeader = static_cast<std::uint8_t>(kBlockHeader + kPacketFixed);
    batch.records.push_back({.time = last_time_,
                             .data = body + kPacketFixed,
                             .length = length,
                             .wire_length = load<std::uint32_t, kOrder>(body + 16),
                             .interface = section_[interface],
                             .header = keep_blocks_ ? kHeader : std::uint8_t{0},
                             .big_endian = kOrder == std::endian::big,
                             .number = packets_});
    return true;
}

// Take a packet of the section's first interface. It has no time, and gets that of the last packet.
template <std::endian kOrder>
bool PcapngReader::take_simple_packet(const BlockView& block, Batch& batch) {
    if (block.length < kSimpleFixed || clocks_.empty()) {
        return refuse("bad simple packet block");
    }
    const auto wire_length = load<std::uint32_t, kOrder>(block.body);
    const std::uint32_t snap = interfaces_[section_.front()].snap_length;
    const std::size_t meant = snap != 0 ? std::min(wire_length, snap) : wire_length;
    constexpr auto kHeader = static_cast<std::uint8_t>(kBlockHeader + kSimpleFixed);
    batch.records.push_back(
        {.time = last_time_,
         .data = block.body + kSimpleFixed,
         .length = static_cast<std::uint32_t>(std::min(meant, block.length - kSimpleFixed)),
         .wire_length = wire_length,
         .interface = section_.front(),
         .header = keep_blocks_ ? kHeader : std::uint8_t{0},
         .big_endian = kOrder == std::endian::big,
         .number = ++packets_});
    return true;
}

void PcapngReader::note_lost(std::uint64_t number, std::string_view what) {
    const auto& known = losses_.list();
    if (std::none_of(known.begin(), known.end(),
                     [&](const Warning& one) { return one.text == what; })) {
        losses_.add(number, what);
    }
}

void PcapngReader::note_skipped(std::uint32_t type) {
    constexpr std::size_t kMaxTypes = 16;
    for (const Missed& missed : kMissed) {
        if (missed.type == type) {
            note_lost(0, missed.text);
        }
    }
    if (keep_blocks_ ||
        std::find(kWithoutPackets.begin(), kWithoutPackets.end(), type) != kWithoutPackets.end()) {
        return;
    }
    const bool known = std::find(skipped_.begin(), skipped_.end(), type) != skipped_.end();
    if (!known && skipped_.size() < kMaxTypes) {
        skipped_.push_back(type);
    } else if (!known) {
        notes_.add(packets_, "blocks of further unknown types skipped");
        return;
    }
    notes_.add(packets_, format_number("block of unknown type 0x%08x skipped", type));
}

}  // namespace

std::unique_ptr<FormatReader> pcapng_reader(std::span<const std::uint8_t> bytes,
                                            WarningList& notes) {
    if (bytes.size() < kMagicBytes ||
        load<std::uint32_t, std::endian::native>(bytes.data()) != kSectionHeader) {
        return nullptr;
    }
    return std::make_unique<PcapngReader>(notes);
}

}  // namespace unecho::capture
