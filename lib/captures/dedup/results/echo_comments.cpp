// SPDX-License-Identifier: BSD-3-Clause
#include "captures/dedup/results/echo_comments.h"

#include <fmt/core.h>

#include "base/units.h"
#include "base/utf8.h"
#include "captures/formats/pcapng_blocks.h"

namespace unecho::dedup {
namespace {

// Return "57 us". editcap -D ignores time, so an age may be negative.
std::string age_text(std::int64_t age) {
    const auto size = static_cast<Nanoseconds>(age);
    return age < 0 ? "-" + format_duration(-size) : format_duration(size);
}

}  // namespace

void count_numbered_blocks(std::span<const capture::Block> blocks, std::uint64_t first_number,
                           PacketNumberMap& numbers) {
    for (const capture::Block& block : blocks) {
        if (capture::pcapng::is_numbered(block.type)) {
            numbers.add_gap_before(first_number + block.before);
        }
    }
}

std::string echo_comment_text(const EchoPair& echo, std::span<const std::string> inputs,
                              const PacketNumberMap& numbers) {
    auto original = echo.known ? std::optional(echo.original) : std::nullopt;
    if (echo.known && inputs.size() > 1) {
        original = numbers.of(echo.original);
    }
    if (!original) {
        return "echo";
    }
    std::string text = "echo of packet " + std::to_string(*original);
    if (inputs.size() > 1) {
        text += " of the merged input, from " + escaped(inputs[echo.original_file]);
    }
    return fmt::format("{}, {}", text, age_text(echo.age));
}

std::vector<capture::Comment> echo_comments(std::span<const EchoPair> echoes,
                                            std::span<const std::string> inputs,
                                            const PacketNumberMap& numbers) {
    std::vector<capture::Comment> out;
    for (const EchoPair& echo : echoes) {
        out.push_back({.record = echo.record, .text = echo_comment_text(echo, inputs, numbers)});
    }
    return out;
}

}  // namespace unecho::dedup
