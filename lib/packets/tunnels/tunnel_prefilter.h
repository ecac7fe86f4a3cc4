// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "packets/parse.h"
#include "packets/tunnels/tunnels.h"

namespace unecho::packet {

// Finds the packets of a burst that may hold another packet. It compares header fields of many
// packets at once as vectors, so that packets without a tunnel cost little.
class TunnelPrefilter {
  public:
    explicit TunnelPrefilter(const NextHeaders& next) : next_(next) {}

    // Return the mask of those of the first `count` packets that have one of the fields.
    [[nodiscard]] std::uint64_t with_signs(const Tunnels::PrefilterFields& prefilter_fields,
                                           std::size_t count) const noexcept {
        std::uint64_t out = 0;
        for (std::size_t at = 0; at < count; at += sizeof(Bytes)) {
            out |= (with_protocols(prefilter_fields, at) | with_ports(prefilter_fields, at)) << at;
        }
        return out;
    }

  private:
    using Bytes [[gnu::vector_size(32)]] = std::uint8_t;
    using Words [[gnu::vector_size(32)]] = std::uint16_t;
    using Doubles [[gnu::vector_size(32)]] = std::uint32_t;

    // Compare 32 packets.
    [[nodiscard]] std::uint64_t with_protocols(const Tunnels::PrefilterFields& prefilter_fields,
                                               std::size_t at) const noexcept {
        Bytes own;
        std::memcpy(&own, next_.protocols.data() + at, sizeof own);
        Bytes found{};
        for (unsigned i = 0; i < prefilter_fields.protocol_count; ++i) {
            found |= reinterpret_cast<Bytes>(own == prefilter_fields.protocols[i]);
        }
        return nonzero(found);
    }

    [[nodiscard]] std::uint64_t with_ports(const Tunnels::PrefilterFields& prefilter_fields,
                                           std::size_t at) const noexcept {
        Words own[4];
        Words found[4] = {};
        std::memcpy(own, next_.ports.data() + at, sizeof own);
        for (unsigned i = 0; i < prefilter_fields.destination_count; ++i) {
            for (unsigned k = 0; k < 4; ++k) {
                found[k] |= reinterpret_cast<Words>(own[k] == prefilter_fields.destinations[i]);
            }
        }
        for (auto& four : found) {  // ignore source ports
            four = reinterpret_cast<Words>(reinterpret_cast<Doubles>(four) & 0xFFFF'0000);
        }
        for (unsigned i = 0; i < prefilter_fields.either_count; ++i) {
            for (unsigned k = 0; k < 4; ++k) {
                found[k] |= reinterpret_cast<Words>(own[k] == prefilter_fields.either[i]);
            }
        }
        if (is_zero(found[0] | found[1] | found[2] | found[3])) {
            return 0;
        }
        std::uint64_t out = 0;
        for (unsigned k = 0; k < 4; ++k) {
            out |= nonzero(reinterpret_cast<Doubles>(found[k])) << (8 * k);
        }
        return out;
    }

    template <typename Lanes>
    static bool is_zero(const Lanes& lanes) noexcept {
        std::array<std::uint64_t, sizeof(Lanes) / sizeof(std::uint64_t)> words;
        std::memcpy(words.data(), &lanes, sizeof words);
        return (words[0] | words[1] | words[2] | words[3]) == 0;
    }
    // Return a bit for each vector element that is not 0. Usually all are 0.
    template <typename Lanes>
    static std::uint64_t nonzero(const Lanes& lanes) noexcept {
        if (is_zero(lanes)) {
            return 0;
        }
        std::uint64_t out = 0;
        for (unsigned i = 0; i < sizeof(Lanes) / sizeof lanes[0]; ++i) {
            out |= std::uint64_t{lanes[i] != 0} << i;
        }
        return out;
    }

    const NextHeaders& next_;
};

}  // namespace unecho::packet
