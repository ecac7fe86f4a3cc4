// SPDX-License-Identifier: BSD-3-Clause
// Divides a rate over appliances side by side, behind a switch that spreads flows by a hash.
//
// A flow is never divided, so shares are unequal. Assume flows that have at most the share h of the
// packets each, and a hash as good as random. Then the load of one of N machines is a sum of
// independent parts with the mean 1/N and a variance of at most h/N. By Bernstein's inequality it
// is above (1 + m)/N with a chance of at most exp(-m^2 / (2 N h (1 + m/3))). heaviest_flow() is the
// h for which N times that is kImbalanceChance.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace unecho::engines {

inline constexpr std::uint64_t kMaxMachines = 1024;
// The same margin that `unecho analyze` adds to a measured rate.
inline constexpr double kMachineMargin = 0.5;
inline constexpr double kImbalanceChance = 1e-3;

struct Machines {
    std::uint64_t count = 1;

    // Return the margin; one machine is behind no hash and needs none.
    [[nodiscard]] double margin() const { return count == 1 ? 0 : kMachineMargin; }
    // Return the rate that each machine is sized for, of so many packets per second in all; and
    // back.
    [[nodiscard]] double share(double rate) const;
    [[nodiscard]] double whole(double share) const;
    // Return the largest flow, as a share of all packets, with which no machine gets more than it
    // is sized for, except with kImbalanceChance.
    [[nodiscard]] double heaviest_flow() const;
};

// rate: of all machines; 0: as much as the memory of each takes.
std::string to_text(const Machines& machines, double rate);
nlohmann::ordered_json to_json(const Machines& machines, double rate);

}  // namespace unecho::engines
