// SPDX-License-Identifier: BSD-3-Clause
#include "captures/output/batch_cursor.h"

#include <algorithm>
#include <utility>

namespace unecho::capture {

void BatchCursor::skip(std::size_t record, std::size_t block) {
    record_ = record;
    block_ = block;
    const std::span<const Comment> comments = beside_.comments;
    while (comment_ < comments.size() && comments[comment_].record < record) {
        ++comment_;
    }
}

Status BatchCursor::write_until(Writer& to, std::size_t record, std::size_t block) {
    const std::size_t first = record_;
    const std::size_t first_block = block_;
    const std::size_t first_comment = comment_;
    skip(record, block);
    if (first == 0 && first_block == 0 && record == records_.size()) {
        return to.write(records_, keep_, interfaces_, beside_);
    }
    std::vector<std::uint64_t> keep((record - first + kBits - 1) / kBits);
    for (std::size_t i = first; i < record; ++i) {
        keep[(i - first) / kBits] |= std::uint64_t{kept(i)} << (i - first) % kBits;
    }
    std::vector<Block> blocks;
    for (const Block& one : beside_.blocks.subspan(first_block, block - first_block)) {
        blocks.push_back(one);
        blocks.back().before -= static_cast<std::uint32_t>(first);
    }
    std::vector<Comment> comments;
    for (const Comment& one : beside_.comments.subspan(first_comment, comment_ - first_comment)) {
        comments.push_back({one.record - first, one.text});
    }
    return to.write(records_.subspan(first, record - first), keep, interfaces_, {blocks, comments});
}

std::vector<Warning> merge_warnings(std::vector<Warning> before, const Writer* part) {
    for (Warning& warning : part != nullptr ? part->warnings() : std::vector<Warning>()) {
        const auto known = std::find_if(before.begin(), before.end(), [&](const Warning& one) {
            return one.text == warning.text && one.file == warning.file;
        });
        if (known == before.end()) {
            before.push_back(std::move(warning));
        } else {
            known->times += warning.times;
        }
    }
    return before;
}

}  // namespace unecho::capture
