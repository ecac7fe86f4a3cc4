// SPDX-License-Identifier: BSD-3-Clause
#include "world.h"

#include <cmath>

#include "life.h"

namespace unecho::test {

std::string state_folder(int process) {
    return "/dev/shm/unecho-simulate-" + std::to_string(process);
}

void Tally::add(const Tally& other) {
    seeds += other.seeds;
    steps += other.steps;
    packets += other.packets;
    echoes += other.echoes;
    musts += other.musts;
    doubts += other.doubts;
    news += other.news;
    false_drops += other.false_drops;
    false_drops_allowed += other.false_drops_allowed;
    unidentified += other.unidentified;
    unidentified_judged += other.unidentified_judged;
    repeats_kept += other.repeats_kept;
    overloads += other.overloads;
    lost += other.lost;
    turns += other.turns;
    reloads += other.reloads;
    snapshots += other.snapshots;
    restarts += other.restarts;
    gone_on += other.gone_on;
}

bool within_bound(const Tally& tally) {
    const double mean = tally.false_drops_allowed;
    return static_cast<double>(tally.false_drops) <= mean + 6 * std::sqrt(mean) + 6;
}

Tally simulate(const Scenario& scenario, std::vector<std::unique_ptr<Device>>& devices,
               const PacketNumber& number) {
    World world(scenario, devices, number);
    Tally tally = world.run();
    if (!within_bound(tally)) {
        wrong(std::to_string(tally.false_drops) + " false drops, where the bound allows " +
              std::to_string(tally.false_drops_allowed) + " in the mean");
    }
    return tally;
}

}  // namespace unecho::test
