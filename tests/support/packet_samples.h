// SPDX-License-Identifier: BSD-3-Clause
// One frame of each kind that the parser distinguishes: link types, transports, extension chains,
// fragments, wrong lengths, tunnels, frames without IP.
#pragma once

#include <string>
#include <vector>

#include "support/packet_builder.h"

namespace unecho::test {

struct PacketSample {
    std::string name;
    Bytes bytes;
};

const std::vector<PacketSample>& packet_samples();

}  // namespace unecho::test
