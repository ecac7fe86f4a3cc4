// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/shared_flows/layout.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/core.h>

#include "base/humanize.h"
#include "base/int128.h"

namespace unecho::shared_flows {
namespace {

// Uses of the secret's key stream, by the third word of the nonce.
constexpr std::uint32_t kOfDigests = 1;
constexpr std::uint32_t kOfPlaces = 2;
constexpr std::uint32_t kOfName = 3;

constexpr unsigned kMinWidth = 3;
constexpr unsigned kMaxWidth = 8;

// Comparisons of a flow as planned: with all live generations of a page.
constexpr double kCompared = static_cast<double>(kPageFlows) * (kGenerations + 1);

unsigned crc16(std::string_view bytes) {
    unsigned crc = 0;
    for (const char byte : bytes) {
        crc ^= static_cast<unsigned>(static_cast<unsigned char>(byte)) << 8;
        for (int bit = 0; bit < 8; ++bit) {
            crc = (crc & 0x8000U) != 0 ? (crc << 1 ^ 0x1021U) & 0xffffU : crc << 1;
        }
    }
    return crc;
}

std::string hex(std::uint64_t value) {
    return format_number("%016llx", static_cast<unsigned long long>(value));
}

std::uint64_t word_of(const hash::ChachaBlock& block, unsigned i) {
    return block[2 * i] | std::uint64_t{block[2 * i + 1]} << 32;
}

}  // namespace

unsigned slot_of(std::string_view key) {
    if (const std::size_t open = key.find('{'); open != std::string_view::npos) {
        const std::size_t close = key.find('}', open + 1);
        if (close != std::string_view::npos && close != open + 1) {
            key = key.substr(open + 1, close - open - 1);
        }
    }
    return crc16(key) % kSlots;
}

Result<Layout> Layout::make(const LayoutSpec& spec, const hash::ChachaKey& secret) {
    if (spec.window < kMinWindow) {
        return fail(Errc::kInvalidArgument, fmt::format("a window of {}; allowed: 1s or longer",
                                                        format_duration(spec.window)));
    }
    if (!(spec.bound > 0) || spec.flows == 0) {
        return fail(Errc::kInvalidArgument, "no flows, or no bound");
    }
    return Layout(spec, secret);
}

Layout::Layout(const LayoutSpec& spec, const hash::ChachaKey& secret)
    : spec_(spec), secret_(secret), span_ms_(spec.window / kMillisecond) {
    span_ms_ = (span_ms_ + kGenerations - 1) / kGenerations;
    const std::uint64_t in_generation = (spec.flows + kGenerations - 1) / kGenerations;
    const std::uint64_t needed = (in_generation + kPageFlows - 1) / kPageFlows;
    pages_ = (std::max<std::uint64_t>(needed, 1) + kTags - 1) / kTags * kTags;
    width_ = kMinWidth;
    while (width_ < kMaxWidth &&
           std::ldexp(kCompared, -8 * static_cast<int>(width_)) > spec.bound) {
        ++width_;
    }
    // The number after a tag's own is the first that puts it into its share of the slots.
    for (unsigned i = 0; i < kTags; ++i) {
        for (unsigned n = 0;; ++n) {
            std::string tag =
                "unecho:{" + spec.name + "/" + std::to_string(i) + "." + std::to_string(n) + "}";
            const unsigned slot = slot_of(tag);
            if (slot * kTags / kSlots == i) {
                tags_.push_back(std::move(tag));
                slots_.push_back(slot);
                break;
            }
        }
    }
    // Sites compare it, also of other versions: it keeps its bytes.
    text_ = fmt::format("version 1, window {}, flows {}, width {}, policy {}, key {}, secret {}",
                        duration_literal(spec.window), spec.flows, width_,
                        spec.refresh ? "refresh" : "fixed", spec.key,
                        hex(word_of(hash::chacha20_block(secret_, 0, {0, 0, kOfName}), 0)));
}

PagePosition Layout::place_of(Digest digest) const noexcept {
    const hash::ChachaBlock block = hash::chacha20_block(
        secret_, 0,
        {static_cast<std::uint32_t>(digest), static_cast<std::uint32_t>(digest >> 32), kOfPlaces});
    PagePosition place;
    place.page = static_cast<std::uint32_t>(uint128{word_of(block, 0)} * pages_ >> 64);
    place.tag = place.page % kTags;
    const std::uint64_t print = word_of(block, 1);
    std::memcpy(place.print.data(), &print, sizeof print);
    return place;
}

double Layout::chance(std::uint64_t compared) const {
    return std::ldexp(static_cast<double>(compared), -8 * static_cast<int>(width_));
}

std::uint64_t Layout::planned_bytes() const {
    return (spec_.flows + spec_.flows / kGenerations) * width_;
}

hash::Secret digest_secret(const hash::ChachaKey& secret) noexcept {
    return hash::secret_from_key(secret, {0, 0, kOfDigests});
}

}  // namespace unecho::shared_flows
