// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>

#include "captures/formats/format_reader.h"
#include "captures/formats/pcapng_blocks.h"
#include "captures/formats/recovery.h"

namespace unecho::capture {
namespace {

using namespace pcapng;

constexpr std::uint32_t kLongestSought = 1U << 20;

constexpr std::array kKnownBlocks{kInterfaceBlock,  kObsoletePacket, kSimplePacket, kNamesBlock,
                                  kStatisticsBlock, kEnhancedPacket, kJournalBlock, kSecretsBlock,
                                  kCustomBlock,     kPrivateBlock,   kSectionHeader};

bool is_known(std::uint32_t type) {
    return std::find(kKnownBlocks.begin(), kKnownBlocks.end(), type) != kKnownBlocks.end();
}

class PcapngRecovery final : public Recovery {
  protected:
    WalkResult walk(ByteSpan bytes, bool ended) override;
    ResyncCheck check_resync(ByteSpan bytes, std::size_t at, bool within, bool ended) override;
    void resync(ByteSpan bytes, std::size_t at) override {
        behind_damage_ = number_at<std::uint32_t>(bytes.data() + at, false) != kSectionHeader;
    }

  private:
    struct Block {
        std::uint32_t type = 0;
        std::uint32_t total = 0;  // as the block states
        bool big_endian = false;
        std::size_t size = 0;  // with padding
    };
    // Parse a block's first bytes, at least kUpToMagic. If size is 0, it is no block.
    [[nodiscard]] Block begun(ByteSpan bytes, std::size_t at) const;
    // Return true if the block has what its type requires, as far as there are bytes.
    [[nodiscard]] bool holds(const Block& block, ByteSpan rest) const;
    // Check if a block begins there, with its length repeated behind it.
    [[nodiscard]] ResyncCheck is_framed(ByteSpan bytes, std::size_t at, bool ended) const;
    // Also accept a block whose repeated length is wrong, as some programs write it. Another block
    // must follow, and none with correct lengths may lie within: else the length in front is wrong.
    [[nodiscard]] ResyncCheck follows(ByteSpan bytes, std::size_t at, bool ended) const;
    void pass(const Block& block);

    bool big_endian_ = false;
    std::uint32_t interfaces_ = 0;  // of the section
    bool behind_damage_ = false;    // in the section
};

PcapngRecovery::Block PcapngRecovery::begun(ByteSpan bytes, std::size_t at) const {
    constexpr std::uint32_t kSmallestSection = kBlockFrame + kSectionFixed;
    const std::uint8_t* const from = bytes.data() + at;
    Block out{.type = number_at<std::uint32_t>(from, big_endian_), .big_endian = big_endian_};
    std::uint32_t least = kBlockFrame;
    if (out.type == kSectionHeader) {
        out.big_endian = number_at<std::uint32_t>(from + kBlockHeader, true) == kByteOrderMagic;
        if (!out.big_endian &&
            number_at<std::uint32_t>(from + kBlockHeader, false) != kByteOrderMagic) {
            return out;
        }
        least = kSmallestSection;
    }
    out.total = number_at<std::uint32_t>(from + 4, out.big_endian);
    if (out.total >= least && out.total <= kMaxRecord) {
        out.size = out.total + padding(out.total);
    }
    return out;
}

bool PcapngRecovery::holds(const Block& block, ByteSpan rest) const {
    const std::size_t body = block.total - kBlockFrame;
    switch (block.type) {
        case kInterfaceBlock:
            return body >= kInterfaceFixed && !behind_damage_;
        case kSimplePacket:
            return body >= kSimpleFixed && interfaces_ != 0;
        case kEnhancedPacket:
        case kObsoletePacket:
            break;
        default:
            return true;
    }
    if (body < kPacketFixed || rest.size() < kBlockHeader + kPacketFixed) {
        return body >= kPacketFixed;
    }
    const std::uint8_t* const at = rest.data() + kBlockHeader;
    const std::uint32_t interface = block.type == kEnhancedPacket
                                        ? number_at<std::uint32_t>(at, block.big_endian)
                                        : number_at<std::uint16_t>(at, block.big_endian);
    return interface < interfaces_ &&
           number_at<std::uint32_t>(at + 12, block.big_endian) <= body - kPacketFixed;
}

Recovery::ResyncCheck PcapngRecovery::is_framed(ByteSpan bytes, std::size_t at, bool ended) const {
    const auto missing = [&](std::size_t size) {
        return ended ? ResyncCheck{Answer::kNo} : ResyncCheck{Answer::kMore, at + size};
    };
    const ByteSpan rest = bytes.subspan(at);
    if (rest.size() < kUpToMagic) {
        return missing(kUpToMagic);
    }
    const Block block = begun(bytes, at);
    if (block.size == 0 || !holds(block, rest)) {
        return {Answer::kNo};
    }
    if (rest.size() < block.size) {
        return missing(block.size);
    }
    const std::uint8_t* const behind = rest.data() + block.size - sizeof(std::uint32_t);
    const bool same = number_at<std::uint32_t>(behind, block.big_endian) == block.total;
    return {same ? Answer::kYes : Answer::kNo, 0};
}

Recovery::ResyncCheck PcapngRecovery::follows(ByteSpan bytes, std::size_t at, bool ended) const {
    ResyncCheck judged = is_framed(bytes, at, ended);
    if (judged.answer != Answer::kNo || bytes.size() < at + kUpToMagic) {
        return judged;
    }
    const Block block = begun(bytes, at);
    const std::size_t next = at + block.size;
    if (block.size == 0 || !holds(block, bytes.subspan(at)) || bytes.size() < next) {
        return judged;
    }
    for (std::size_t within = at + kBlockFrame; within < next; within += sizeof(std::uint32_t)) {
        if (is_framed(bytes, within, ended).answer == Answer::kYes) {
            return judged;
        }
    }
    if (bytes.size() == next && ended) {
        return {Answer::kYes};
    }
    return is_framed(bytes, next, ended);
}

void PcapngRecovery::pass(const Block& block) {
    if (block.type == kSectionHeader) {
        big_endian_ = block.big_endian;
        interfaces_ = 0;
        behind_damage_ = false;
    } else if (block.type == kInterfaceBlock) {
        ++interfaces_;
    }
}

Recovery::WalkResult PcapngRecovery::walk(ByteSpan bytes, bool ended) {
    std::size_t at = 0;
    for (;;) {
        if (bytes.size() < at + kUpToMagic) {
            return {.sound = at, .need = kUpToMagic};
        }
        const ResyncCheck judged = follows(bytes, at, ended);
        if (judged.answer == Answer::kMore) {
            return {.sound = at, .need = judged.bytes - at};
        }
        const Block block = begun(bytes, at);
        if (judged.answer == Answer::kNo) {
            const bool cut =
                ended && block.size > bytes.size() - at && holds(block, bytes.subspan(at));
            return {.sound = at, .damaged = true, .suspect = cut ? block.size : 0};
        }
        pass(block);
        at += block.size;
    }
}

Recovery::ResyncCheck PcapngRecovery::check_resync(ByteSpan bytes, std::size_t at, bool /*within*/,
                                                   bool ended) {
    if (bytes.size() < at + kUpToMagic) {
        return ended ? ResyncCheck{Answer::kNo} : ResyncCheck{Answer::kMore, at + kUpToMagic};
    }
    const Block block = begun(bytes, at);
    if (block.size == 0 || block.total % 4 != 0 || block.total > kLongestSought ||
        !is_known(block.type)) {
        return {Answer::kNo};
    }
    const ResyncCheck judged = is_framed(bytes, at, ended);
    if (judged.answer != Answer::kYes) {
        return judged;
    }
    const std::size_t next = at + block.size;
    if (bytes.size() < next + kBlockHeader) {
        return ended ? ResyncCheck{Answer::kYes, at}
                     : ResyncCheck{Answer::kMore, next + kBlockHeader};
    }
    const std::uint8_t* const behind = bytes.data() + next;
    const auto total = number_at<std::uint32_t>(behind + 4, block.big_endian);
    const bool section = number_at<std::uint32_t>(behind, false) == kSectionHeader;
    const bool fits = is_known(number_at<std::uint32_t>(behind, block.big_endian)) &&
                      total % 4 == 0 && total >= kBlockFrame && total <= kMaxRecord;
    return {section || fits ? Answer::kYes : Answer::kNo, at};
}

}  // namespace

std::unique_ptr<Recovery> pcapng_recovery(Recovery::ByteSpan /*header*/) {
    return std::make_unique<PcapngRecovery>();
}

}  // namespace unecho::capture
