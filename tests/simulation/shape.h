// SPDX-License-Identifier: BSD-3-Clause
// The configuration of a simulated appliance; reloads change a part of it.
#pragma once

#include <cstdint>
#include <string>

#include "base/ids.h"
#include "base/units.h"
#include "chance.h"

namespace unecho::test {

constexpr PortIndex kTool = 2;
constexpr PortIndex kSpare = 3;

struct Shape {
    unsigned workers = 1;
    unsigned tx_queues = 1;
    unsigned burst = 32;
    unsigned ring_size = 256;
    const char* engine = "line";
    const char* on_full = "shrink";  // for engines that estimate the chance of an accidental match
    Nanoseconds window = kMillisecond;
    std::uint64_t rate = 100'000;
    const char* bound = "1e-3";
    bool diverts = false;  // echoes of route r are diverted to another port
    bool second = false;   // port b has its own route
    bool diverts_second = false;
    Nanoseconds retry = 0;
    bool compares_frames = false;  // frames without IP have keys
    bool grouped = false;          // ports a and b are one point of observation
    const char* tags = "ignore";   // "point" only while repeats are kept
    bool keeps_repeats = true;
    const char* point = "link";
    Nanoseconds same_port = 0;
    unsigned views = 2;
    const char* second_looks = "doubled";
    const char* unidentified = "1";

    static Shape by(Chance& chance);
    // Return a changed shape for a reload.
    [[nodiscard]] Shape another(Chance& chance) const;
    // Vary the settings of the union rule; other_repeats() returns a changed copy for a reload.
    void vary_repeats(Chance& chance);
    [[nodiscard]] Shape other_repeats(Chance& chance) const;
    // Return the configuration text.
    [[nodiscard]] std::string text() const;
};

}  // namespace unecho::test
