// SPDX-License-Identifier: BSD-3-Clause
// What a simulated appliance is like: its configuration, of which reloads change a part.
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
    const char* on_full = "shrink";  // of engines that judge
    Nanoseconds window = kMillisecond;
    std::uint64_t rate = 100'000;
    const char* bound = "1e-3";
    bool diverts = false;  // echoes of route r, to another port
    bool second = false;   // port b has a route of its own,
    bool diverts_second = false;
    Nanoseconds retry = 0;
    bool compares_frames = false;  // those without IP
    bool grouped = false;          // ports a and b are one point of observation
    const char* tags = "ignore";   // "point" only while repeats are kept
    bool keeps_repeats = true;
    const char* point = "link";
    Nanoseconds same_port = 0;
    unsigned views = 2;
    const char* second_looks = "doubled";
    const char* unidentified = "1";

    static Shape by(Chance& chance);
    // What a reload makes of it.
    [[nodiscard]] Shape another(Chance& chance) const;
    // The same of what the union rule goes by.
    void vary_repeats(Chance& chance);
    [[nodiscard]] Shape other_repeats(Chance& chance) const;
    // Of the configuration.
    [[nodiscard]] std::string text() const;
};

}  // namespace unecho::test
