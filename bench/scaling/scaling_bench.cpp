// SPDX-License-Identifier: BSD-3-Clause
// The benefit of a second worker: one worker, two by queues and two by rings take turns, in process
// and without a network card. docs/benchmarking.md says what is measured and how to read it.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include <getopt.h>
#include <nlohmann/json.hpp>
#include <rte_cycles.h>
#include <rte_version.h>
#include <sched.h>

#include "common/machine.h"
#include "pair.h"

namespace unecho::bench {
namespace {

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;

struct Options {
    std::string json;
    std::string only = ".*";
    unsigned rounds = 30;
    unsigned lines = 2;
    PairOptions pair;
    bool no_huge = false;
    bool smoke = false;
};

constexpr const char* kUsage =
    "scaling_bench [--json FILE] [--only REGEX] [--rounds N] [--lines M] [--cpus A,B] [--no-huge] "
    "[--smoke]\n"
    "  --only    rows whose name filter/residence/frames/echo matches, as in 'line-m2/L3/64/'\n"
    "  --rounds  turns of each row, one way after the other (30)\n"
    "  --lines   cache lines a key of the line filter, 1 to 3 (2)\n"
    "  --cpus    of the two workers (the last two that it may run on)\n"
    "  --smoke   small tables, two rounds, any build, one CPU will do: shows that it runs\n";

std::vector<unsigned> allowed_cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    std::vector<unsigned> out;
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &set)) {
            out.push_back(cpu);
        }
    }
    return out;
}

Result<std::array<unsigned, 2>> cpus_of(const std::string& text, bool smoke) {
    unsigned a = 0;
    unsigned b = 0;
    char rest = 0;
    if (!text.empty()) {
        if (std::sscanf(text.c_str(), "%u,%u%c", &a, &b, &rest) != 2 || a == b) {
            return fail(Errc::kInvalidArgument, "--cpus " + text + ": two of them, as in 0,1\n");
        }
        return std::array{a, b};
    }
    const std::vector<unsigned> allowed = allowed_cpus();
    if (allowed.size() < 2 && !smoke) {
        return fail(Errc::kInvalidArgument, "scaling_bench: needs two CPUs\n");
    }
    return std::array{allowed[allowed.size() < 2 ? 0 : allowed.size() - 2], allowed.back()};
}

Result<Options> parse(int argc, char** argv) {
    Options options;
    std::string cpus;
    const option known[] = {
        {"json", required_argument, nullptr, 'j'},   {"only", required_argument, nullptr, 'o'},
        {"rounds", required_argument, nullptr, 'r'}, {"lines", required_argument, nullptr, 'l'},
        {"cpus", required_argument, nullptr, 'c'},   {"no-huge", no_argument, nullptr, 'n'},
        {"smoke", no_argument, nullptr, 's'},        {nullptr, 0, nullptr, 0}};
    const auto number = [] { return static_cast<unsigned>(std::strtoul(optarg, nullptr, 10)); };
    for (int c = 0; (c = getopt_long(argc, argv, "", known, nullptr)) != -1;) {
        switch (c) {
            case 'j':
                options.json = optarg;
                break;
            case 'o':
                options.only = optarg;
                break;
            case 'r':
                options.rounds = number();
                break;
            case 'l':
                options.lines = number();
                break;
            case 'c':
                cpus = optarg;
                break;
            case 'n':
                options.no_huge = true;
                break;
            case 's':
                options.smoke = true;
                break;
            default:
                return fail(Errc::kInvalidArgument, kUsage);
        }
    }
    if (optind != argc || options.rounds == 0 || options.lines < 1 || options.lines > 3) {
        return fail(Errc::kInvalidArgument, kUsage);
    }
    const auto two = cpus_of(cpus, options.smoke);
    if (!two) {
        return tl::unexpected(two.error());
    }
    options.pair.cpus = *two;
    options.pair.hugepages = !options.no_huge && free_hugepage_bytes() >= 128 * kMiB;
    return options;
}

// The intended place of each worker's filter in the memory hierarchy. Two workers share L3 and
// memory.
struct Residence {
    const char* name;
    std::uint64_t bytes;
};

std::vector<Residence> residences(bool smoke) {
    if (smoke) {
        return {{"L2", 512 * kKiB}, {"L3", kMiB}, {"DRAM", 2 * kMiB}};
    }
    return {{"L2", 512 * kKiB}, {"L3", 6 * kMiB}, {"DRAM", 288 * kMiB}};
}

struct Row {
    std::string name;
    std::string residence;
    Pair::Subjects subjects{};
    Mix mix = Mix::k64;
    unsigned echo_percent = 0;
    std::array<Windows, kWays.size()> windows;
    // One value a round.
    std::array<Samples, kWays.size()> mpps;
    Samples by_queues;  // factor over one worker
    Samples by_rings;
    // Additional ns for a packet that changes workers, by the distance of the CPUs.
    Samples hop_near;
    Samples hop_far;

    [[nodiscard]] double hops_a_packet() const {
        const Counted& rings = windows[static_cast<unsigned>(Way::kRings)].counted;
        return static_cast<double>(rings.hops) / static_cast<double>(rings.packets);
    }
};

struct Suite {
    std::vector<std::unique_ptr<Subject>> subjects;
    std::vector<Row> rows;
};

Result<Suite> make_suite(const Options& options) {
    Suite suite;
    const std::regex only(options.only);
    const Contender& contender = kContenders[options.lines - 1];
    for (const Residence& residence : residences(options.smoke)) {
        Pair::Subjects subjects{};
        for (const Mix mix : {Mix::k64, Mix::kImix, Mix::k1518}) {
            for (const unsigned percent : {0U, 50U}) {
                const std::string name = std::string(contender.name) + "/" + residence.name + "/" +
                                         name_of(mix) + "/" + std::to_string(percent);
                if (!std::regex_search(name, only)) {
                    continue;
                }
                for (Subject*& subject : subjects) {
                    if (subject != nullptr) {
                        continue;
                    }
                    auto made = Subject::make(contender, residence.bytes, options.pair.hugepages);
                    if (!made) {
                        return tl::unexpected(made.error());
                    }
                    (*made)->fill();
                    subject = made->get();
                    suite.subjects.push_back(std::move(*made));
                }
                Row& row = suite.rows.emplace_back();
                row.name = name;
                row.residence = residence.name;
                row.subjects = subjects;
                row.mix = mix;
                row.echo_percent = percent;
            }
        }
    }
    if (suite.rows.empty()) {
        return fail(Errc::kInvalidArgument, "--only " + options.only + ": no row has such a name");
    }
    return suite;
}

// ns for a round trip between CPUs that share an L3 cache; otherwise it is longer. A virtual
// machine's CPUs may move.
constexpr double kNear = 200;

// Measure each way once, beginning with another one in each round.
void take_turn(Pair& pair, Row& row, unsigned round, double round_trip) {
    constexpr unsigned kWarm = 4;
    constexpr unsigned kWindows = 16;
    std::array<std::optional<double>, kWays.size()> mpps;
    for (unsigned i = 0; i < kWays.size(); ++i) {
        const unsigned way = (round + i) % kWays.size();
        Windows windows;
        pair.install(kWays[way], row.subjects, row.mix, row.echo_percent);
        pair.run(kWarm, kWindows, windows);
        row.windows[way].counted += windows.counted;
        row.windows[way].shed += windows.shed;
        if (!windows.mpps.empty()) {
            mpps[way] = windows.mpps.median();
            row.mpps[way].add(*mpps[way]);
        }
    }
    const auto [alone, queues, rings] = mpps;
    if (alone && queues && rings) {
        constexpr double kWorkers = 2;
        const double hops = row.hops_a_packet();
        row.by_queues.add(*queues / *alone);
        row.by_rings.add(*rings / *alone);
        (round_trip < kNear ? row.hop_near : row.hop_far)
            .add(kWorkers * 1e3 * (1 / *rings - 1 / *queues) / hops);
    }
}

// A benchmark with wrong answers is worthless. Each echo that was sent must be found or, rarely, be
// a doubt, unless its packet passed unfiltered. False drops must hardly exceed the bound.
Status check_answers(const Row& row, Way way) {
    const Counted& counted = row.windows[static_cast<unsigned>(way)].counted;
    const auto packets = static_cast<double>(counted.packets);
    const double most = row.subjects[0]->most_false_drops();
    const auto allowed = static_cast<std::uint64_t>(10 + 2 * most * packets + packets / 1e4);
    const std::uint64_t matches = counted.echoes + counted.doubts + counted.overload;
    if (matches < counted.sent || counted.echoes > counted.sent + allowed ||
        counted.doubts > allowed + counted.sent / 20) {
        return fail(Errc::kIo, row.name + " " + name_of(way) + ": " + std::to_string(counted.sent) +
                                   " echoes sent, " + std::to_string(counted.echoes) + " found, " +
                                   std::to_string(counted.doubts) + " in doubt, " +
                                   std::to_string(counted.overload) + " packets unfiltered");
    }
    return {};
}

using nlohmann::ordered_json;

ordered_json quantiles(const Samples& samples) {
    if (samples.empty()) {
        return nullptr;
    }
    return {{"p10", samples.quantile(0.1)},
            {"median", samples.median()},
            {"p90", samples.quantile(0.9)},
            {"rounds", samples.size()}};
}

ordered_json to_json(const Row& row) {
    const Subject& subject = *row.subjects[0];
    ordered_json out{{"name", row.name},
                     {"residence", row.residence},
                     {"frames", name_of(row.mix)},
                     {"echo_percent", row.echo_percent},
                     {"geometry", engines::geometry_text(subject.plan().geometry)},
                     {"bytes_a_worker", subject.bytes()},
                     {"pages", subject.on_hugepages() ? "huge" : "plain"}};
    for (const Way way : kWays) {
        const auto i = static_cast<unsigned>(way);
        const Windows& windows = row.windows[i];
        out[name_of(way)] = {
            {"mpps", quantiles(row.mpps[i])},         {"packets", windows.counted.packets},
            {"hops", windows.counted.hops},           {"echoes_sent", windows.counted.sent},
            {"echoes_found", windows.counted.echoes}, {"doubts", windows.counted.doubts},
            {"unfiltered", windows.counted.overload}, {"windows_shed", windows.shed}};
    }
    out["by_queues"] = quantiles(row.by_queues);
    out["by_rings"] = quantiles(row.by_rings);
    out["hops_a_packet"] = row.hops_a_packet();
    out["hop_ns_near"] = quantiles(row.hop_near);
    out["hop_ns_far"] = quantiles(row.hop_far);
    return out;
}

Status write_json(const Options& options, const Samples& round_trips, const Suite& suite) {
    ordered_json environment = machine_facts();
    environment["tsc_hz"] = rte_get_tsc_hz();
    environment["ran_on_cpus"] = options.pair.cpus;
    environment["hugepages"] = options.pair.hugepages;
    environment["dpdk"] = rte_version();
    ordered_json out{{"benchmark", "scaling"},
                     {"smoke", options.smoke},
                     {"environment", environment},
                     {"burst", options.pair.burst},
                     {"window_packets", options.pair.window},
                     {"round_trip_ns", quantiles(round_trips)}};
    out["rows"] = ordered_json::array();
    for (const Row& row : suite.rows) {
        out["rows"].push_back(to_json(row));
    }
    std::ofstream file(options.json);
    file << out.dump(1) << "\n";
    file.close();
    if (!file) {
        return fail(Errc::kIo, options.json + ": not written");
    }
    return {};
}

void print(const Options& options, const Samples& round_trips, const Suite& suite) {
    std::printf("%s, workers on cpus %u and %u, %s, bursts of %u, windows of %u packets a worker\n",
                cpu_name().c_str(), options.pair.cpus[0], options.pair.cpus[1],
                options.pair.hugepages ? "hugepages" : "no hugepages", options.pair.burst,
                options.pair.window);
    std::printf("%s, %s\n", rte_version(), build_text().c_str());
    std::printf("a cache line there and back: %.0f ns (%.0f to %.0f)\n\n", round_trips.median(),
                round_trips.quantile(0), round_trips.quantile(1));
    std::printf("Mpps of all workers, medians of %zu rounds; ratios to one worker\n",
                suite.rows.front().by_queues.size());
    std::printf("%-21s %8s %8s %6s %8s %6s %6s %6s %6s %6s\n", "filter/in/frames/echo", "alone",
                "queues", "ratio", "rings", "ratio", "hops", "near", "far", "shed");
    const auto hop_text = [](const Samples& hop) {
        std::array<char, 16> text{"-"};
        if (!hop.empty()) {
            std::snprintf(text.data(), text.size(), "%.0f", hop.median());
        }
        return std::string(text.data());
    };
    for (const Row& row : suite.rows) {
        std::printf("%-21s %8.1f %8.1f %6.2f %8.1f %6.2f %6.2f %6s %6s %6u\n", row.name.c_str(),
                    row.mpps[0].median(), row.mpps[1].median(), row.by_queues.median(),
                    row.mpps[2].median(), row.by_rings.median(), row.hops_a_packet(),
                    hop_text(row.hop_near).c_str(), hop_text(row.hop_far).c_str(),
                    row.windows[2].shed);
    }
}

Status run(const Options& options) {
    auto pair = Pair::make(options.pair);
    if (!pair) {
        return tl::unexpected(pair.error());
    }
    auto suite = make_suite(options);
    if (!suite) {
        return tl::unexpected(suite.error());
    }
    Samples round_trips;
    for (unsigned round = 0; round < (options.smoke ? 2 : options.rounds); ++round) {
        for (Row& row : suite->rows) {
            const double round_trip = (*pair)->round_trip(options.smoke ? 1 : 100);
            round_trips.add(round_trip);
            take_turn(**pair, row, round, round_trip);
        }
    }
    for (const Row& row : suite->rows) {
        if (row.by_queues.empty()) {
            return fail(Errc::kIo, row.name + ": no round without overload; are both CPUs free?");
        }
        for (const Way way : kWays) {
            if (const Status status = check_answers(row, way); !status) {
                return status;
            }
        }
    }
    print(options, round_trips, *suite);
    return options.json.empty() ? Status() : write_json(options, round_trips, *suite);
}

}  // namespace
}  // namespace unecho::bench

int main(int argc, char** argv) {
    using namespace unecho;
    const auto options = bench::parse(argc, argv);
    if (!options) {
        std::fputs(options.error().context.c_str(), stderr);
        return 2;
    }
    if (const std::string why = bench::unfit_build(); !why.empty() && !options->smoke) {
        std::fprintf(stderr, "scaling_bench: not measured: %s; use --buildtype=release\n",
                     why.c_str());
        return 2;
    }
    if (const Status status = bench::run(*options); !status) {
        std::fprintf(stderr, "scaling_bench: %s\n", status.error().context.c_str());
        return 1;
    }
    return 0;
}
