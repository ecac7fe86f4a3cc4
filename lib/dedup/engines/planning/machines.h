// SPDX-License-Identifier: BSD-3-Clause
// How a rate divides over appliances side by side, behind a switch that gives each flow to one of
// them by a hash.
//
// A flow is never divided, so shares are unequal. With flows that have at most the share h of the
// packets each, and a hash that is as good as random, the load of one of N machines is a sum of
// independent parts with the mean 1/N and a variance of at most h/N. By Bernstein's inequality it
// is above (1 + m)/N with a chance of at most exp(-m^2 / (2 N h (1 + m/3))). heaviest_flow() is the
// h for which N times that is kImbalanceChance.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace unecho::engines {

inline constexpr std::uint64_t kMaxMachines = 1024;
// As much as `unecho analyze` puts on a measured rate.
inline constexpr double kMachineMargin = 0.5;
inline constexpr double kImbalanceChance = 1e-3;

struct Machines {
    std::uint64_t count = 1;

    // Of one machine, which none is behind a hash alone.
    [[nodiscard]] double margin() const { return count == 1 ? 0 : kMachineMargin; }
    // Of so many packets per second in all, those that each is sized for; and back.
    [[nodiscard]] double share(double rate) const;
    [[nodiscard]] double whole(double share) const;
    // As a share of all packets, up to which no machine gets more than it is sized for, but for the
    // chance.
    [[nodiscard]] double heaviest_flow() const;
};

// rate: of all machines; 0: as much as the memory of each takes.
std::string to_text(const Machines& machines, double rate);
nlohmann::ordered_json to_json(const Machines& machines, double rate);

}  // namespace unecho::engines
