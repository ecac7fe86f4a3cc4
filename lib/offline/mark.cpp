// SPDX-License-Identifier: BSD-3-Clause
#include "offline/mark.h"

#include <algorithm>
#include <iterator>

#include "base/units.h"
#include "base/utf8.h"
#include "capture/pcapng_blocks.h"

namespace unecho::offline {
namespace {

constexpr std::size_t kMostSteps = 1U << 16U;

// "57 us", as people write it; editcap looks at no time, so an age may be negative.
std::string age_text(std::int64_t age) {
    const auto size = static_cast<Nanoseconds>(age);
    std::string text = format_duration(age < 0 ? -size : size);
    text.insert(text.find_first_not_of("0123456789."), " ");
    return age < 0 ? "-" + text : text;
}

}  // namespace

void FrameNumbers::add(std::span<const capture::Block> blocks, std::uint64_t first_number) {
    for (const capture::Block& block : blocks) {
        if (!capture::pcapng::is_numbered(block.type)) {
            continue;
        }
        const std::uint64_t from = first_number + block.before;
        if (steps_.empty() || steps_.back().from != from) {
            steps_.push_back({from, steps_.empty() ? 0 : steps_.back().shift});
        }
        ++steps_.back().shift;
        if (steps_.size() > kMostSteps) {
            steps_.pop_front();
            forgot_ = true;
        }
    }
}

std::optional<std::uint64_t> FrameNumbers::of(std::uint64_t number) const {
    const auto next =
        std::upper_bound(steps_.begin(), steps_.end(), number,
                         [](std::uint64_t value, const Step& step) { return value < step.from; });
    if (next == steps_.begin()) {
        return forgot_ ? std::nullopt : std::optional(number);
    }
    return number + std::prev(next)->shift;
}

std::string mark_text(const EchoPair& copy, std::span<const std::string> inputs,
                      const FrameNumbers& numbers) {
    auto original = copy.known ? std::optional(copy.original) : std::nullopt;
    if (copy.known && inputs.size() > 1) {
        original = numbers.of(copy.original);
    }
    if (!original) {
        return "echo";
    }
    std::string text = "echo of packet " + std::to_string(*original);
    if (inputs.size() > 1) {
        text += " of the merged input, from " + escaped(inputs[copy.original_file]);
    }
    return text + ", " + age_text(copy.age);
}

std::vector<capture::Comment> marks_of(std::span<const EchoPair> copies,
                                       std::span<const std::string> inputs,
                                       const FrameNumbers& numbers) {
    std::vector<capture::Comment> out;
    for (const EchoPair& copy : copies) {
        out.push_back({.record = copy.record, .text = mark_text(copy, inputs, numbers)});
    }
    return out;
}

}  // namespace unecho::offline
