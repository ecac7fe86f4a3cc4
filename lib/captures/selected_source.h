// SPDX-License-Identifier: BSD-3-Clause
// A part of a source: the packets of a time range, those that an expression matches.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "captures/source.h"

namespace unecho::capture {

struct Selection {
    std::optional<Nanoseconds> start{};   // packets of this time and later
    std::optional<Nanoseconds> stop{};    // packets before
    std::optional<std::string> filter{};  // of pcap-filter(7)

    [[nodiscard]] bool all() const { return !start && !stop && !filter; }
};

// Blocks all stay. left_out: counts the others; to be read when the source has ended.
// Errc::kConfig: the expression is none, or not for a link type of the source; of interfaces that
// come later, next() says so.
Result<std::unique_ptr<Source>> select(std::unique_ptr<Source> source, const Selection& selection,
                                       std::shared_ptr<std::uint64_t> left_out);

}  // namespace unecho::capture
