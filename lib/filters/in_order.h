// SPDX-License-Identifier: BSD-3-Clause
// Answer a burst as a sequence: prefetch all digests, then test and insert them one by one. The
// answers are exactly those of the digests in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/assert.h"
#include "filters/confidence_filter.h"
#include "filters/filter.h"
#include "filters/hash/digest.h"

namespace unecho::filter {

// Return the answers; bit i belongs to digests[i].
template <typename Filter>
[[nodiscard]] inline std::uint64_t test_in_order(Filter& filter,
                                                 std::span<const Digest> digests) noexcept {
    UNECHO_ASSERT(digests.size() <= kMaxBurst);
    for (const Digest digest : digests) {
        filter.prefetch(digest);
    }
    std::uint64_t echoes = 0;
    for (std::size_t i = 0; i < digests.size(); ++i) {
        echoes |= std::uint64_t{filter.test_and_insert(digests[i])} << i;
    }
    return echoes;
}

template <typename Filter>
[[nodiscard]] inline Answers test_in_order(Filter& filter, std::span<const Digest> digests,
                                           ChanceLimits limits) noexcept {
    UNECHO_ASSERT(digests.size() <= kMaxBurst);
    for (const Digest digest : digests) {
        filter.prefetch(digest);
    }
    Answers answers;
    for (std::size_t i = 0; i < digests.size(); ++i) {
        const Answer answer = filter.test_and_insert(digests[i], limits.at(i));
        answers.echoes |= std::uint64_t{answer == Answer::kEcho} << i;
        answers.doubts |= std::uint64_t{answer == Answer::kDoubt} << i;
    }
    return answers;
}

}  // namespace unecho::filter
