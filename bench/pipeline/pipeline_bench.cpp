// SPDX-License-Identifier: BSD-3-Clause
// The cost of a packet in a worker, stage by stage, on one core without a network card;
// docs/benchmarking.md says what is measured and how to read it.
//
//   pipeline_bench [--json FILE] [--only REGEX] [--rounds N] [--cpu N] [--burst N] [--window N]
//                  [--no-huge] [--smoke]
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include <getopt.h>
#include <rte_cycles.h>

#include "common/machine.h"
#include "report.h"
#include "rig.h"
#include "row.h"
#include "subject.h"

namespace unecho::bench {
namespace {

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;

constexpr unsigned kWarmWindows = 4;
constexpr unsigned kWindows = 16;  // of each kind before the next row's turn

struct Options {
    std::string json;
    std::string only = ".*";
    unsigned rounds = 30;
    RigOptions rig;
    bool no_huge = false;
    bool smoke = false;
};

constexpr const char* kUsage =
    "pipeline_bench [--json FILE] [--only REGEX] [--rounds N] [--cpu N] [--burst N] [--window N] "
    "[--no-huge] [--smoke]\n"
    "  --only    rows whose name engine/residence/frames/echo matches, as in 'apbbf/L3/64/'\n"
    "  --rounds  turns of 16 windows for each row, interleaved with the other rows (30)\n"
    "  --window  packets between two looks at the clock, a multiple of eight bursts (2048); 16384 "
    "and\n"
    "            more do not fit into the L2 cache, as those that come from a network card\n"
    "  --smoke   small tables, two rounds, any build: shows that it runs\n";

unsigned number(const char* text) {
    return static_cast<unsigned>(std::strtoul(text, nullptr, 10));
}

Result<Options> parse(int argc, char** argv) {
    Options options;
    options.rig.cpu = last_cpu();
    const option known[] = {{"json", required_argument, nullptr, 'j'},
                            {"only", required_argument, nullptr, 'o'},
                            {"rounds", required_argument, nullptr, 'r'},
                            {"cpu", required_argument, nullptr, 'c'},
                            {"burst", required_argument, nullptr, 'b'},
                            {"no-huge", no_argument, nullptr, 'n'},
                            {"smoke", no_argument, nullptr, 's'},
                            {"window", required_argument, nullptr, 'w'},
                            {nullptr, 0, nullptr, 0}};
    for (int c = 0; (c = getopt_long(argc, argv, "", known, nullptr)) != -1;) {
        switch (c) {
            case 'j':
                options.json = optarg;
                break;
            case 'o':
                options.only = optarg;
                break;
            case 'r':
                options.rounds = number(optarg);
                break;
            case 'c':
                options.rig.cpu = number(optarg);
                break;
            case 'b':
                options.rig.burst = number(optarg);
                break;
            case 'w':
                options.rig.window = number(optarg);
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
    const unsigned burst = options.rig.burst;
    if (optind != argc || options.rounds == 0 || burst == 0 || burst > kMaxBurst ||
        (burst & (burst - 1)) != 0 || options.rig.window == 0 ||
        options.rig.window % (burst * Rig::kStaged) != 0 ||
        options.rig.window > RigOptions::kMostWindow) {
        return fail(Errc::kInvalidArgument, kUsage);
    }
    options.rig.hugepages = !options.no_huge && free_hugepage_bytes() >= 64 * kMiB;
    return options;
}

std::vector<Residence> residences(bool smoke) {
    if (smoke) {
        return {{"L2", 512 * kKiB}, {"L3", kMiB}, {"DRAM", 2 * kMiB}};
    }
    return {{"L2", 512 * kKiB}, {"L3", 12 * kMiB}, {"DRAM", 576 * kMiB}};
}

// A filter and the rows that use it.
struct Group {
    std::unique_ptr<Subject> subject;
    std::vector<Row*> rows;
};

struct Suite {
    std::vector<Group> groups;
    Rows rows;
};

std::vector<std::pair<Mix, unsigned>> traffics() {
    std::vector<std::pair<Mix, unsigned>> out;
    for (const Mix mix : {Mix::k64, Mix::kImix, Mix::k1518}) {
        for (const unsigned percent : {0U, 10U, 50U}) {
            out.emplace_back(mix, percent);
        }
    }
    return out;
}

bool wanted(const std::regex& only, const Contender& contender, const Residence& residence, Mix mix,
            unsigned percent) {
    return std::regex_search(std::string(contender.name) + "/" + residence.name + "/" +
                                 name_of(mix) + "/" + std::to_string(percent),
                             only);
}

Result<Suite> make_suite(const Options& options, Rig& rig) {
    Suite suite;
    const std::regex only(options.only);
    for (const Contender& contender : kContenders) {
        for (const Residence& residence : residences(options.smoke)) {
            Group group;
            for (const auto& [mix, percent] : traffics()) {
                if (!wanted(only, contender, residence, mix, percent)) {
                    continue;
                }
                if (group.subject == nullptr) {
                    auto subject = Subject::make(contender, residence.bytes, options.rig.hugepages);
                    if (!subject) {
                        return tl::unexpected(subject.error());
                    }
                    group.subject = std::move(*subject);
                    group.subject->fill();
                }
                suite.rows.push_back(std::make_unique<Row>(rig.packet_counter(), residence,
                                                           *group.subject, mix, percent));
                group.rows.push_back(suite.rows.back().get());
            }
            if (group.subject != nullptr) {
                suite.groups.push_back(std::move(group));
            }
        }
    }
    if (suite.rows.empty()) {
        return fail(Errc::kInvalidArgument, "--only " + options.only + ": no row has such a name");
    }
    return suite;
}

// Measure whole worker, stages and bare ports alternately, window by window.
void take_turn(Rig& rig, Row& row) {
    WindowResult unmeasured;
    row.traffic.restart();
    for (unsigned i = 0; i < kWarmWindows; ++i) {
        rig.measure_worker(row.traffic, unmeasured);
        rig.measure_worker(row.traffic, unmeasured, true);
    }
    const auto packets = static_cast<double>(rig.window());
    for (unsigned i = 0; i < kWindows; ++i) {
        const auto worker = [&](bool audited) {
            return static_cast<double>(rig.measure_worker(row.traffic, row.found, audited)) /
                   packets;
        };
        const bool first = i % 2 != 0;  // the first to run finds other cache contents
        (first ? row.audited : row.worker).add(worker(first));
        (first ? row.worker : row.audited).add(worker(!first));
        const StageCycles stages = rig.measure_stages(row.traffic, row.found);
        row.view.add(static_cast<double>(stages.view) / packets);
        row.digest.add(static_cast<double>(stages.digest) / packets);
        row.decide.add(static_cast<double>(stages.decide) / packets);
        row.packets += std::uint64_t{3} * rig.window();
    }
    for (unsigned i = 0; i < kWindows; ++i) {
        row.ports.add(static_cast<double>(rig.measure_ports(row.traffic)) / packets);
        row.watch.add(rig.measure_watch() / packets);
    }
}

// A benchmark with wrong answers is worthless. Each echo that was sent must be found or, rarely, be
// a doubt, and false drops must hardly exceed the filter's bound.
Status check_answers(const Row& row) {
    const double most = row.subject->most_false_drops();
    const auto allowed = static_cast<std::uint64_t>(
        10 + 2 * most * static_cast<double>(row.packets) + static_cast<double>(row.packets) / 1e4);
    const std::uint64_t matches = row.found.echoes + row.found.doubts;
    const std::uint64_t missed =
        row.found.sent_echoes > matches ? row.found.sent_echoes - matches : 0;
    const std::uint64_t added =
        row.found.echoes > row.found.sent_echoes ? row.found.echoes - row.found.sent_echoes : 0;
    if (missed > 0 || added > allowed || row.found.doubts > allowed + row.found.sent_echoes / 20 ||
        row.found.inline_clears != 0) {
        return fail(Errc::kIo, row.name() + ": " + std::to_string(row.found.sent_echoes) +
                                   " echoes sent, " + std::to_string(row.found.echoes) +
                                   " found, " + std::to_string(row.found.doubts) + " in doubt, " +
                                   std::to_string(row.found.inline_clears) +
                                   " segments cleared by the worker");
    }
    return {};
}

Status run(const Options& options) {
    auto rig = Rig::make(options.rig);
    if (!rig) {
        return tl::unexpected(rig.error());
    }
    auto suite = make_suite(options, **rig);
    if (!suite) {
        return tl::unexpected(suite.error());
    }
    for (unsigned round = 0; round < (options.smoke ? 2 : options.rounds); ++round) {
        for (Group& group : suite->groups) {
            for (Row* row : group.rows) {
                (*rig)->install(*group.subject);
                take_turn(**rig, *row);
            }
        }
    }
    const RunFacts facts{static_cast<double>(rte_get_tsc_hz()),
                         options.rig.hugepages,
                         options.rig.cpu,
                         options.rig.window,
                         options.rig.burst,
                         options.smoke};
    print(facts, suite->rows);
    for (const auto& row : suite->rows) {
        if (const Status status = check_answers(*row); !status) {
            return status;
        }
    }
    if (options.json.empty()) {
        return {};
    }
    return write_json(options.json, facts, suite->rows);
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
        std::fprintf(stderr, "pipeline_bench: not measured: %s; use --buildtype=release\n",
                     why.c_str());
        return 2;
    }
    if (const Status status = bench::run(*options); !status) {
        std::fprintf(stderr, "pipeline_bench: %s\n", status.error().context.c_str());
        return 1;
    }
    return 0;
}
