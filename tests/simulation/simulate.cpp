// SPDX-License-Identifier: BSD-3-Clause
// simulate [--seed N] [--seeds N] [--seconds N] [--packets N] [--faults A,B,...]
// Runs one world for each seed from N on, for a number of seeds or seconds. A child process runs
// them, so that a crash does not lose the seed. A failing seed is run again with ever fewer packets
// and faults; the smallest failing run is printed as a command.
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "appliance/eal/lcores.h"
#include "appliance/eal/ports/mempool.h"
#include "appliance/eal/session.h"
#include "appliance/plan/machine.h"
#include "eal/mbufs.h"
#include "world.h"

namespace unecho::test {
namespace {

eal::Mempool& pool() {
    static eal::Mempool instance;
    return instance;
}

// The report of a child process, in shared memory so that it outlives a crash.
struct Said {
    std::uint64_t seed = 0;
    bool failed = false;
    Tally tally;
    std::array<char, 400> what{};
};

struct Options {
    Scenario scenario;
    std::uint64_t seeds = 1;
    double seconds = 0;  // 0: run `seeds` seeds
    bool shrink = true;
};

void say(Said& said, const std::string& what) {
    said.failed = true;
    std::snprintf(said.what.data(), said.what.size(), "%s", what.c_str());
}

void run_seeds(const Options& options, Said& said) {
    const auto begun = std::chrono::steady_clock::now();
    const auto elapsed = [&] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    };
    const PacketNumber number;
    std::vector<std::unique_ptr<Device>> devices;
    for (unsigned i = 0; i < 4; ++i) {
        devices.push_back(std::make_unique<Device>(i));
    }
    Scenario scenario = options.scenario;
    for (std::uint64_t i = 0; options.seconds > 0 ? elapsed() < options.seconds : i < options.seeds;
         ++i) {
        scenario.seed = said.seed = options.scenario.seed + i;
        said.tally.add(simulate(scenario, devices, number));
        if (!within_bound(said.tally)) {
            say(said, "more false drops over all seeds than the bound allows");
            return;
        }
    }
}

// Run the seeds in the child process, which initialises EAL first.
void in_child(const Options& options, Said& said) {
    const LcoreId cpu = appliance::Machine::detect().cpus.front();
    eal::SessionOptions eal;
    eal.program = "simulate";
    eal.args = {"--no-huge", "--no-shconf", "-m", "256", "--no-telemetry"};
    eal.main_lcore = cpu;
    eal.lcores = eal::lcore_map(cpu, cpu, {});
    auto session = eal::Session::open(eal);
    if (!session) {
        return say(said, session.error().context);
    }
    auto made = eal::make_mempool({"packets", 8191, 128 + 256, -1, true});
    if (!made) {
        return say(said, made.error().context);
    }
    pool() = std::move(*made);
    try {
        run_seeds(options, said);
    } catch (const std::exception& error) {
        say(said, error.what());
    }
}

Said run(const Options& options) {
    void* const memory =
        mmap(nullptr, sizeof(Said), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    auto* const said = new (memory) Said;
    const pid_t child = fork();
    if (child == 0) {
        in_child(options, *said);
        std::fflush(nullptr);
        _exit(said->failed ? 1 : 0);  // a failed world is not destroyed: its state may be broken
    }
    int status = 0;
    waitpid(child, &status, 0);
    std::filesystem::remove_all(state_folder(child));  // left behind if the child crashed
    if (child < 0 || (status != 0 && !said->failed)) {
        say(*said, child < 0             ? std::string("no child process")
                   : WIFSIGNALED(status) ? std::string("died: ") + strsignal(WTERMSIG(status))
                                         : "left with status " + std::to_string(status));
    }
    const Said out = *said;
    munmap(memory, sizeof(Said));
    return out;
}

std::string names_of(std::uint32_t faults) {
    std::string names;
    for (std::size_t i = 0; i < kFaultNames.size(); ++i) {
        if ((faults >> i & 1) != 0) {
            names += (names.empty() ? "" : ",") + std::string(kFaultNames[i]);
        }
    }
    return names.empty() ? "none" : names;
}

// Return true if the scenario still fails, in any way.
bool fails(const Scenario& scenario, Said& said) {
    Options once;
    once.scenario = scenario;
    Said now = run(once);
    if (now.failed) {
        said = now;
    }
    return now.failed;
}

Scenario shrink(Scenario scenario, Said& said) {
    for (std::size_t i = 0; i < kFaultNames.size(); ++i) {
        Scenario fewer = scenario;
        fewer.faults &= ~(1U << i);
        if (fewer.faults != scenario.faults && fails(fewer, said)) {
            scenario = fewer;
        }
    }
    for (std::uint32_t step = scenario.packets / 2; step >= 1; step /= 2) {
        Scenario fewer = scenario;
        fewer.packets -= std::min(step, fewer.packets - 1);
        if (fewer.packets != scenario.packets && fails(fewer, said)) {
            scenario = fewer;
        }
    }
    return scenario;
}

bool number_of(const char* text, std::uint64_t& out) {
    const char* const end = text + std::strlen(text);
    const auto [last, error] = std::from_chars(text, end, out);
    return error == std::errc{} && last == end;
}

bool faults_of(std::string text, std::uint32_t& out) {
    out = 0;
    for (text += ','; !text.empty(); text.erase(0, text.find(',') + 1)) {
        const std::string name = text.substr(0, text.find(','));
        const auto found = std::find(kFaultNames.begin(), kFaultNames.end(), name);
        if (found != kFaultNames.end()) {
            out |= 1U << (found - kFaultNames.begin());
        } else if (name != "none") {
            return false;
        }
    }
    return true;
}

bool parse(int argc, char** argv, Options& out) {
    for (int i = 1; i < argc; ++i) {
        const std::string name = argv[i];
        if (name == "--no-shrink") {
            out.shrink = false;
            continue;
        }
        if (++i == argc) {
            return false;
        }
        std::uint64_t number = 0;
        if (name == "--faults") {
            if (!faults_of(argv[i], out.scenario.faults)) {
                return false;
            }
        } else if (!number_of(argv[i], number)) {
            return false;
        } else if (name == "--seed") {
            out.scenario.seed = number;
        } else if (name == "--seeds") {
            out.seeds = number;
        } else if (name == "--seconds") {
            out.seconds = static_cast<double>(number);
        } else if (name == "--packets" && number >= 1) {
            out.scenario.packets = static_cast<std::uint32_t>(number);
        } else {
            return false;
        }
    }
    return true;
}

void print(const Tally& t) {
    const auto n = [](std::uint64_t number) { return static_cast<unsigned long long>(number); };
    std::printf(
        "seeds %llu, steps %llu, packets %llu\n"
        "echoes %llu; copies inside the achieved window %llu: missed 0, doubts %llu\n"
        "packets that are no echo %llu: false drops %llu, the bounds allow %.1f\n"
        "unidentified packets %llu: judged %llu, of these kept %llu\n"
        "overload %llu, lost %llu, turns %llu, reloads %llu, snapshots %llu, restarts %llu "
        "(filters "
        "that went on %llu)\n",
        n(t.seeds), n(t.steps), n(t.packets), n(t.echoes), n(t.musts), n(t.doubts), n(t.news),
        n(t.false_drops), t.false_drops_allowed, n(t.unidentified), n(t.unidentified_judged),
        n(t.repeats_kept), n(t.overloads), n(t.lost), n(t.turns), n(t.reloads), n(t.snapshots),
        n(t.restarts), n(t.gone_on));
}

int main_of(int argc, char** argv) {
    Options options;
    if (!parse(argc, argv, options)) {
        std::fprintf(stderr,
                     "simulate [--seed N] [--seeds N] [--seconds N] [--packets N] "
                     "[--faults A,B,...] [--no-shrink]\nfaults: %s\n",
                     names_of(kAllFaults).c_str());
        return 2;
    }
    Said said = run(options);
    if (!said.failed) {
        print(said.tally);
        return 0;
    }
    std::printf("seed %llu fails: %s\n", static_cast<unsigned long long>(said.seed),
                said.what.data());
    std::printf("after %llu seeds\n", static_cast<unsigned long long>(said.tally.seeds + 1));
    std::fflush(stdout);
    if (options.shrink) {
        Scenario scenario = options.scenario;
        scenario.seed = said.seed;
        Said least = said;
        scenario = shrink(scenario, least);
        std::printf("smallest: %s\nagain: %s --seed %llu --packets %u --faults %s\n",
                    least.what.data(), argv[0], static_cast<unsigned long long>(scenario.seed),
                    scenario.packets, names_of(scenario.faults).c_str());
    }
    return 1;
}

}  // namespace

rte_mempool* packet_pool() {
    return pool().get();
}

}  // namespace unecho::test

int main(int argc, char** argv) {
    return unecho::test::main_of(argc, argv);
}
