// SPDX-License-Identifier: BSD-3-Clause
// An appliance in one thread, on simulated time: the product's workers, rings, filters, timers,
// segments, reloads and counters; what is made up are the devices, the traffic, and who runs when.
// All of it follows from a seed. After each step every packet buffer is in one place, every packet
// has one fate, and an exact oracle says which fates were allowed.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device.h"

namespace unecho::test {

enum class Fault : std::uint8_t {
    kLateTurns,      // the control thread wakes late, by up to a generation or so
    kVeryLateTurns,  // by windows
    kSlowWorker,     // a worker's rounds take long now and then: rings fill
    kAwayWorker,     // a worker is away for longer than the window
    kTxFull,         // a device refuses packets
    kNoBuffers,      // nothing is received, for want of buffers
    kClockJump,      // the clock of all steps forward, as that of a machine that was stopped
    kLinkFlap,
    kReload,
    kSnapshot,
    kEarlyStop,  // at any step, and without time to drain
    kOverload,   // ten times the planned rate
    kRestart,    // the process ends amid traffic, and another one goes on with what it kept
    kRepeats,  // no fault: packets without an ID, sent again; and configurations of the union rule
};
inline constexpr auto kFaultNames =
    std::to_array<std::string_view>({"late-turns", "very-late-turns", "slow-worker", "away-worker",
                                     "tx-full", "no-buffers", "clock-jump", "link-flap", "reload",
                                     "snapshot", "early-stop", "overload", "restart", "repeats"});
inline constexpr std::uint32_t kAllFaults = (1U << kFaultNames.size()) - 1;

struct Scenario {
    std::uint64_t seed = 0;
    std::uint32_t packets = 3000;       // that come in all
    std::uint32_t faults = kAllFaults;  // of which the seed chooses
};

// What one or many simulations came to.
struct Tally {
    std::uint64_t seeds = 0;
    std::uint64_t steps = 0;
    std::uint64_t packets = 0;  // received
    std::uint64_t echoes = 0;   // taken for ones
    std::uint64_t musts = 0;    // copies inside the achieved window
    std::uint64_t doubts = 0;   // of those, forwarded as doubt
    std::uint64_t news = 0;     // packets that are no echo
    std::uint64_t false_drops = 0;
    double false_drops_allowed = 0;         // by the bound, in the mean
    std::uint64_t unidentified = 0;         // packets that the union rule decided
    std::uint64_t unidentified_judged = 0;  // of which it is known how it had to
    std::uint64_t repeats_kept = 0;         // of those, forwarded: new, or sent again
    std::uint64_t overloads = 0;
    std::uint64_t lost = 0;
    std::uint64_t turns = 0;  // of generations
    std::uint64_t reloads = 0;
    std::uint64_t snapshots = 0;
    std::uint64_t restarts = 0;
    std::uint64_t gone_on = 0;  // of those; with what was kept

    void add(const Tally& other);
};

// Where the processes that this one simulates keep what they know: in memory, as [state] wants it.
// It is removed at a world's end.
std::string state_folder(int process);

// Throws what is wrong, one line.
Tally simulate(const Scenario& scenario, std::vector<std::unique_ptr<Device>>& devices,
               const PacketNumber& number);

// False: more than the bound allows by any chance worth naming.
bool within_bound(const Tally& tally);

}  // namespace unecho::test
