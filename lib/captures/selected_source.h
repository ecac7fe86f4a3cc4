// SPDX-License-Identifier: BSD-3-Clause
// A part of a source: the packets of a time range that match an expression.
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
    std::optional<Nanoseconds> stop{};    // packets before this time
    std::optional<std::string> filter{};  // an expression of pcap-filter(7)

    [[nodiscard]] bool all() const { return !start && !stop && !filter; }
};

// Select packets of a source; all blocks stay. left_out: counts the other packets; read it when the
// source has ended. Errc::kConfig: the expression is invalid, or not valid for a link type of the
// source. For interfaces described later, next() returns that error.
Result<std::unique_ptr<Source>> select(std::unique_ptr<Source> source, const Selection& selection,
                                       std::shared_ptr<std::uint64_t> left_out);

}  // namespace unecho::capture
