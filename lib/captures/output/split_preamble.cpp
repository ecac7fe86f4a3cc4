// SPDX-License-Identifier: BSD-3-Clause
#include "captures/output/split_preamble.h"

#include <utility>

#include "captures/formats/pcapng_blocks.h"

namespace unecho::capture {

using namespace pcapng;

void SplitPreamble::add(const Block& block, bool open) {
    if (block.gap) {
        add_packet(open, false);
        return;
    }
    if (open && std::exchange(singles_, false)) {
        forget_singles();
    }
    if (block.type == kSectionHeader && !block.merged) {
        begin_section(open);
    }
    const bool repeated = is_repeated(block);
    if (repeated || !open) {
        store(block, repeated);
    }
}

void SplitPreamble::add_packet(bool open, bool written) {
    packets_ = true;
    if (!open && !written && (stored_.empty() || !stored_.back().block.gap)) {
        bytes_ += sizeof(Stored);
        stored_.push_back({.block = {.gap = true}, .bytes = {}});
    }
}

// Blocks of earlier sections are in the open part, or wait for the first one.
void SplitPreamble::begin_section(bool open) {
    packets_ = false;
    if (!open && bytes_ > kMostBytes) {
        beyond_.times += stored_.size();
    }
    if (open || bytes_ > kMostBytes) {
        stored_.clear();
        bytes_ = 0;
    }
    for (Stored& one : stored_) {
        one.repeated = false;
    }
}

void SplitPreamble::forget_singles() {
    std::erase_if(stored_, [&](const Stored& one) {
        bytes_ -= one.repeated ? 0 : sizeof(Stored) + one.bytes.size();
        return !one.repeated;
    });
}

// Merged inputs become one section: repeat their first header, and each interface once.
bool SplitPreamble::is_repeated(const Block& block) {
    switch (block.type) {
        case kSectionHeader:
            return !block.merged || !std::exchange(merged_header_, true);
        case kInterfaceBlock:
            return !block.merged || (block.interface != Block::kNoInterface &&
                                     known_.insert(block.interface).second);
        case kNamesBlock:
        case kSecretsBlock:
            return true;
        default:
            return false;
    }
}

// Headers and interfaces are never left out, because packets name their interface by its index.
void SplitPreamble::store(const Block& block, bool repeated) {
    const bool needed = repeated && (block.type == kSectionHeader || block.type == kInterfaceBlock);
    const std::size_t size = sizeof(Stored) + block.size;
    if (!needed && bytes_ + size > kMostBytes) {
        beyond_.file = beyond_.times++ == 0 ? block.file : beyond_.file;
        return;
    }
    bytes_ += size;
    stored_.push_back({.block = block,
                       .bytes = {reinterpret_cast<const char*>(block.data), block.size},
                       .repeated = repeated});
}

std::vector<Block> SplitPreamble::begin(bool first) {
    if (!first && std::exchange(singles_, false)) {
        forget_singles();
    }
    std::vector<Block> out;
    const auto put_gap = [&](bool there) {
        if (!first && there) {
            out.push_back({.gap = true});
        }
    };
    put_gap(true);
    for (const Stored& one : stored_) {
        out.push_back(one.block);
        out.back().data = reinterpret_cast<const std::uint8_t*>(one.bytes.data());
        out.back().before = 0;
        put_gap(packets_ && one.block.type == kSectionHeader);
    }
    return out;
}

std::vector<Warning> SplitPreamble::warnings() const {
    return beyond_.times != 0 ? std::vector{beyond_} : std::vector<Warning>();
}

}  // namespace unecho::capture
