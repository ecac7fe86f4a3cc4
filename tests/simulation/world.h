// SPDX-License-Identifier: BSD-3-Clause
// An appliance in one thread, on simulated time. Workers, rings, filters, timers, segments, reloads
// and counters are the product's; devices, traffic and scheduling are simulated. A seed determines
// all of it. After each step every packet buffer is in one place and every packet has one
// disposition, and an exact oracle says which dispositions were allowed.
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
    kLateTurns,      // the control thread wakes late, by up to about a generation
    kVeryLateTurns,  // by several windows
    kSlowWorker,     // a worker's rounds sometimes take long, so that rings fill
    kAwayWorker,     // a worker is away for longer than the window
    kTxFull,         // a device refuses packets
    kNoBuffers,      // nothing is received, because no buffer is free
    kClockJump,      // the clock of all threads steps forward, as on a suspended machine
    kLinkFlap,
    kReload,
    kSnapshot,
    kEarlyStop,  // at any step, without time to drain
    kOverload,   // ten times the planned rate
    kRestart,    // the process ends amid traffic; a successor resumes its saved state
    kRepeats,    // no fault: repeats of packets without an ID, and varied union rules
};
inline constexpr auto kFaultNames =
    std::to_array<std::string_view>({"late-turns", "very-late-turns", "slow-worker", "away-worker",
                                     "tx-full", "no-buffers", "clock-jump", "link-flap", "reload",
                                     "snapshot", "early-stop", "overload", "restart", "repeats"});
inline constexpr std::uint32_t kAllFaults = (1U << kFaultNames.size()) - 1;

struct Scenario {
    std::uint64_t seed = 0;
    std::uint32_t packets = 3000;       // in all
    std::uint32_t faults = kAllFaults;  // the seed chooses among these
};

// Sums over one or several simulations.
struct Tally {
    std::uint64_t seeds = 0;
    std::uint64_t steps = 0;
    std::uint64_t packets = 0;  // received
    std::uint64_t echoes = 0;   // packets decided as echoes
    std::uint64_t musts = 0;    // copies inside the achieved window
    std::uint64_t doubts = 0;   // of these, forwarded as doubt
    std::uint64_t news = 0;     // packets that are no echo
    std::uint64_t false_drops = 0;
    double false_drops_allowed = 0;         // expected under the bound
    std::uint64_t unidentified = 0;         // packets that the union rule decided
    std::uint64_t unidentified_judged = 0;  // of these, with one answer allowed by the oracle
    std::uint64_t repeats_kept = 0;         // of these, forwarded: new, or sent again
    std::uint64_t overloads = 0;
    std::uint64_t lost = 0;
    std::uint64_t turns = 0;  // of generations
    std::uint64_t reloads = 0;
    std::uint64_t snapshots = 0;
    std::uint64_t restarts = 0;
    std::uint64_t gone_on = 0;  // restarts that resumed saved filters

    void add(const Tally& other);
};

// Return the folder in which a simulated process keeps its state ([state] dir), in memory. The
// World removes it at its end.
std::string state_folder(int process);

// Throws an error of one line.
Tally simulate(const Scenario& scenario, std::vector<std::unique_ptr<Device>>& devices,
               const PacketNumber& number);

// Return false if there are more false drops than the bound allows by any plausible chance.
bool within_bound(const Tally& tally);

}  // namespace unecho::test
