// SPDX-License-Identifier: BSD-3-Clause
// A burst of frames that is parsed and digested.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "dedup/pipeline/burst.h"
#include "dedup/pipeline/stages.h"
#include "filters/hash/secret.h"
#include "packets/keys/key_spec.h"
#include "packets/tunnels/tunnels.h"
#include "support/packet_builder.h"

namespace unecho::test {

struct MadeBurst {
    explicit MadeBurst(std::vector<Bytes> made, const packet::KeySpec& key = {})
        : frames(std::move(made)) {
        for (const Bytes& bytes : frames) {
            burst.frames[burst.count] = {bytes.data(), static_cast<std::uint32_t>(bytes.size())};
            burst.lengths[burst.count++] = static_cast<std::uint32_t>(bytes.size());
        }
        parse(burst, key);
        digest(burst, key, hash::secret_from_seed(1));
    }
    MadeBurst(const MadeBurst&) = delete;
    MadeBurst& operator=(const MadeBurst&) = delete;

    std::vector<Bytes> frames;
    pipeline::Burst burst;
};

inline packet::KeySpec with_all_tunnels(packet::KeySpec key) {
    packet::EncapsulationSet all;
    for (const auto& info : packet::kEncapsulations) {
        all.add(info.encapsulation);
    }
    key.tunnels = packet::Tunnels(all);
    key.tenant = packet::Tenant::kMatch;
    return key;
}

}  // namespace unecho::test
