// SPDX-License-Identifier: BSD-3-Clause
#include "common/table.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>

#include <benchmark/benchmark.h>
#include <getopt.h>

#include "base/units.h"
#include "common/machine.h"

namespace unecho::bench {
namespace {

constexpr std::uint64_t kMiB = 1024 * 1024;

constexpr const char* kUsage =
    "[--benchmark_filter=REGEX] [--benchmark_out=FILE] [--row-seconds S] [--bursts N]\n"
    "  [--false-positives P] [--judge] [--dram-mib N] [--echo-reach PART] [--full] [--cpu N] "
    "[--smoke]\n"
    "  rows are named engine/where/echo per cent/burst\n"
    "  --judge  each match is judged, P is the bound; of the peers, line is sized for P / 10\n"
    "  --full   every combination of echoes and bursts\n"
    "  --smoke  small and short, in any build: shows that it runs\n";

// The raw limit beside a row: a table of the same size on the same kind of pages, measured just
// before and just after. A machine may be twice as slow a minute later.
class RawTables {
  public:
    RawTables(std::uint64_t most_bytes, const Effort& effort)
        : most_bytes_(most_bytes), effort_(effort) {}

    // Make the table unless it exists.
    Status prepare(std::uint64_t bytes, Pages pages) {
        const std::uint64_t size = std::min(bytes, most_bytes_);
        Table& table = tables_[pages];
        if (table.subject == nullptr || table.bytes != size) {
            table.subject.reset();
            auto memory = Mapping::make(size, pages);
            if (!memory) {
                return tl::unexpected(memory.error());
            }
            Facts facts;
            facts.bytes = size;
            facts.answers = false;
            table.bytes = size;
            table.subject = std::make_unique<MappedSubjectOf<RawLimit>>(facts, std::move(*memory));
        }
        return {};
    }

    // Return the cycles a key.
    double speed(Pages pages) {
        Answers unused;
        return tables_[pages].subject->speed({}, effort_, unused).median;
    }
    Bursts bursts(Pages pages) { return tables_[pages].subject->bursts({}, effort_); }

  private:
    struct Table {
        std::uint64_t bytes = 0;
        std::unique_ptr<Subject> subject;
    };

    std::uint64_t most_bytes_;
    Effort effort_;
    std::map<Pages, Table> tables_;
};

struct Measured {
    Speed speed;
    Bursts bursts;
    Answers answers;
    double raw = 0;  // cycles a key
    Bursts raw_bursts;
};

double share(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

void count(benchmark::State& state, const Subject& subject, const Measured& found, double hz) {
    const double ns = 1e9 / hz;
    const double us = 1e6 / hz;
    const Facts& facts = subject.facts();
    auto& out = state.counters;
    out["ns"] = found.speed.median * ns;
    out["ns_mean"] = found.speed.mean * ns;
    out["mps"] = 1e3 / (found.speed.median * ns);
    out["raw_ns"] = found.raw * ns;
    out["of_raw"] = found.raw / found.speed.median;
    out["zeroing_ns"] = found.speed.zeroing * ns;
    out["allocations"] = found.speed.allocations;
    out["hugepages"] = subject.pages() == Pages::kHuge ? 1 : 0;
    out["table_bytes"] = static_cast<double>(facts.bytes);
    out["window_keys"] = static_cast<double>(facts.window_keys);
    if (facts.answers) {
        out["bits_per_key"] = 8 * share(facts.bytes, facts.window_keys);
        out["fpr_measured"] = share(found.answers.false_echoes, found.answers.fresh);
        out["new_keys"] = static_cast<double>(found.answers.fresh);
        out["missed_percent"] = 100 * share(found.answers.missed, found.answers.echoes);
    }
    if (!std::isnan(facts.predicted)) {
        out["fpr_predicted"] = facts.predicted;
    }
    out["burst_us"] = found.bursts.median * us;
    out["burst_p999_us"] = found.bursts.p999 * us;
    out["burst_max_us"] = found.bursts.max * us;
    out["burst_above_us"] = (found.bursts.max - found.bursts.median) * us;
    out["turns"] = found.bursts.turns;
    if (found.bursts.turns > 0) {
        out["turn_above_us"] = (found.bursts.turn - found.bursts.median) * us;
    }
    out["raw_burst_p999_us"] = found.raw_bursts.p999 * us;
    out["raw_burst_above_us"] = (found.raw_bursts.max - found.raw_bursts.median) * us;
    state.SetLabel(facts.geometry);
    // For Google Benchmark a row is one iteration, whose time is that of a key.
    state.SetIterationTime(found.speed.median / hz);
}

// Keeps only the subject of the present group: memory may hold no second table.
class Runner {
  public:
    Runner(const TableOptions& options, double hz)
        : hz_(hz),
          echo_reach_(options.echo_reach),
          effort_{static_cast<std::uint64_t>(options.row_seconds * hz), options.bursts,
                  options.judge ? std::optional(static_cast<float>(options.false_positives))
                                : std::nullopt},
          raw_(options.dram_mib * kMiB,
               {static_cast<std::uint64_t>(options.row_seconds * hz * kRawPart), options.bursts,
                std::nullopt}) {}

    void run(benchmark::State& state, const RowGroup& group, const RowSpec& row) {
        for ([[maybe_unused]] auto _ : state) {
            if (const std::string problem = measure(state, group, row); !problem.empty()) {
                state.SkipWithError(problem.c_str());
                return;
            }
        }
    }

  private:
    static constexpr double kRawPart = 0.2;

    // Measure a row. Return why it has no numbers, or an empty string.
    std::string measure(benchmark::State& state, const RowGroup& group, const RowSpec& row) {
        if (group_ != &group) {
            subject_.reset();
            problem_.clear();
            group_ = &group;
            auto made = group.make();
            if (made) {
                subject_ = std::move(*made);
                subject_->fill(echo_reach_);
            } else {
                problem_ = made.error().context;
            }
        }
        if (subject_ == nullptr) {
            return problem_;
        }
        const Pages pages = subject_->pages();
        if (const Status raw = raw_.prepare(subject_->facts().bytes, pages); !raw) {
            return "raw limit: " + raw.error().context;
        }
        Measured found;
        const double before = raw_.speed(pages);
        found.speed = subject_->speed(row, effort_, found.answers);
        found.raw = (before + raw_.speed(pages)) / 2;
        found.bursts = subject_->bursts(row, effort_);
        found.raw_bursts = raw_.bursts(pages);
        count(state, *subject_, found, hz_);
        return "";
    }

    double hz_;
    double echo_reach_;
    Effort effort_;
    RawTables raw_;
    const RowGroup* group_ = nullptr;
    std::unique_ptr<Subject> subject_;
    std::string problem_;
};

class TablePrinter : public benchmark::BenchmarkReporter {
  public:
    explicit TablePrinter(double hz, unsigned cpu) : hz_(hz), cpu_(cpu) {}

    bool ReportContext(const Context& /*context*/) override {
        std::printf("%s, TSC %.3f GHz, on cpu %u\n%s\n\n", cpu_name().c_str(), hz_ / 1e9, cpu_,
                    build_text().c_str());
        std::printf(
            "ns a key, medians; raw: a random line read, changed and written, of a table of that "
            "size "
            "on such pages\nbursts in us: median, p99.9, worst above the median, worst at a turn "
            "of a "
            "generation above it, worst of raw above its own median\n");
        std::printf("%-32s %5s %8s %5s %7s %7s %6s %6s %6s %8s %8s %7s %6s %6s %7s %7s %7s %6s\n",
                    "engine/where/echoes/burst", "pages", "MiB", "zero", "ns", "M/s", "raw",
                    "of raw", "b/key", "FP pred", "FP seen", "missed%", "burst", "p99.9", "worst",
                    "turn", "raw w.", "allocs");
        return true;
    }

    void ReportRuns(const std::vector<Run>& runs) override {
        for (const Run& run : runs) {
            if (run.error_occurred) {
                std::printf("%-32s skipped: %s\n", name_of(run).c_str(), run.error_message.c_str());
            } else {
                print(run);
            }
        }
        std::fflush(stdout);
    }

  private:
    static std::string name_of(const Run& run) {
        return run.run_name.function_name +
               (run.run_type == Run::RT_Aggregate ? "_" + run.aggregate_name : "");
    }

    static std::string text(const Run& run, const char* counter, const char* format) {
        const auto found = run.counters.find(counter);
        if (found == run.counters.end()) {
            return "-";
        }
        char out[32];
        std::snprintf(out, sizeof out, format, found->second.value);
        return out;
    }

    static void print(const Run& run) {
        const auto get = [&](const char* counter, const char* format) {
            return text(run, counter, format);
        };
        const bool huge = run.counters.at("hugepages").value > 0;
        std::printf(
            "%-32s %5s %8.1f %5s %7s %7s %6s %6s %6s %8s %8s %7s %6s %6s %7s %7s %7s %6s  %s\n",
            name_of(run).c_str(), huge ? "2M" : "4K", run.counters.at("table_bytes").value / kMiB,
            get("zeroing_ns", "%.1f").c_str(), get("ns", "%.2f").c_str(),
            get("mps", "%.1f").c_str(), get("raw_ns", "%.2f").c_str(),
            get("of_raw", "%.2f").c_str(), get("bits_per_key", "%.1f").c_str(),
            get("fpr_predicted", "%.2g").c_str(), get("fpr_measured", "%.2g").c_str(),
            get("missed_percent", "%.3g").c_str(), get("burst_us", "%.2f").c_str(),
            get("burst_p999_us", "%.2f").c_str(), get("burst_above_us", "%.1f").c_str(),
            get("turn_above_us", "%.2f").c_str(), get("raw_burst_above_us", "%.1f").c_str(),
            get("allocations", "%.0f").c_str(), run.report_label.c_str());
    }

    double hz_;
    unsigned cpu_;
};

std::string name_of(const RowGroup& group, const RowSpec& row) {
    return group.engine + "/" + group.where + "/" + std::to_string(row.echo_percent) + "/" +
           std::to_string(row.burst) + (row.ahead ? "/ahead" : "");
}

void add_context(double hz, unsigned cpu) {
    const nlohmann::ordered_json facts = machine_facts();
    for (const auto& [key, value] : facts.items()) {
        benchmark::AddCustomContext(key,
                                    value.is_string() ? value.get<std::string>() : value.dump());
    }
    benchmark::AddCustomContext("tsc_hz", std::to_string(hz));
    benchmark::AddCustomContext("ran_on_cpu", std::to_string(cpu));
}

Result<TableOptions> usage(const std::string& program) {
    return fail(Errc::kInvalidArgument, program + " " + kUsage);
}

}  // namespace

Result<TableOptions> parse_options(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    TableOptions options;
    options.program = argv[0];
    options.cpu = last_cpu();
    const option known[] = {{"row-seconds", required_argument, nullptr, 'r'},
                            {"bursts", required_argument, nullptr, 'b'},
                            {"cpu", required_argument, nullptr, 'c'},
                            {"false-positives", required_argument, nullptr, 'p'},
                            {"judge", no_argument, nullptr, 'j'},
                            {"dram-mib", required_argument, nullptr, 'd'},
                            {"echo-reach", required_argument, nullptr, 'e'},
                            {"full", no_argument, nullptr, 'f'},
                            {"usage", no_argument, nullptr, 'u'},
                            {"smoke", no_argument, nullptr, 's'},
                            {nullptr, 0, nullptr, 0}};
    for (int c = 0; (c = getopt_long(argc, argv, "", known, nullptr)) != -1;) {
        switch (c) {
            case 'r':
                options.row_seconds = std::strtod(optarg, nullptr);
                break;
            case 'b':
                options.bursts = static_cast<unsigned>(std::strtoul(optarg, nullptr, 10));
                break;
            case 'c':
                options.cpu = static_cast<unsigned>(std::strtoul(optarg, nullptr, 10));
                break;
            case 'p':
                options.false_positives = std::strtod(optarg, nullptr);
                break;
            case 'j':
                options.judge = true;
                break;
            case 'd':
                options.dram_mib = std::strtoull(optarg, nullptr, 10);
                break;
            case 'e':
                options.echo_reach = std::strtod(optarg, nullptr);
                break;
            case 'f':
                options.full = true;
                break;
            case 's':
                options.smoke = true;
                options.row_seconds = 0.001;
                options.bursts = 200;
                break;
            default:
                return usage(options.program);
        }
    }
    if (optind != argc || !(options.row_seconds > 0) || options.bursts == 0 ||
        !(options.false_positives > 0 && options.false_positives < 0.5) ||
        !(options.echo_reach > 0 && options.echo_reach <= 1) || options.dram_mib == 0) {
        return usage(options.program);
    }
    return options;
}

std::vector<RowSpec> usual_rows(bool full) {
    std::vector<RowSpec> rows;
    for (const unsigned burst : {32U, 1U, 8U, 64U}) {
        for (const unsigned percent : {0U, 10U, 50U, 90U}) {
            if (full || burst == 32 || percent == 0) {
                rows.push_back({percent, burst, burst == 32 && percent == 0});
            }
        }
    }
    return rows;
}

std::vector<RowSpec> few_rows(bool full) {
    if (full) {
        return usual_rows(true);
    }
    return {{.echo_percent = 0, .burst = 32, .to_turn = true}, {.echo_percent = 50, .burst = 32}};
}

std::vector<RowSpec> ahead_rows() {
    return {{.echo_percent = 0, .burst = 32, .ahead = true},
            {.echo_percent = 50, .burst = 32, .ahead = true},
            {.echo_percent = 0, .burst = 64, .ahead = true}};
}

int run_table(const TableOptions& options, std::vector<RowGroup> groups) {
    if (const std::string why = unfit_build(); !why.empty() && !options.smoke) {
        std::fprintf(stderr, "%s: not measured: %s; use --buildtype=release\n",
                     options.program.c_str(), why.c_str());
        return 2;
    }
    if (!pin_to(options.cpu)) {
        std::fprintf(stderr, "%s: cpu %u is not there\n", options.program.c_str(), options.cpu);
        return 2;
    }
    const double hz = measure_tsc_hz();
    add_context(hz, options.cpu);
    Runner runner(options, hz);
    for (const RowGroup& group : groups) {
        for (const RowSpec& row : group.rows) {
            benchmark::RegisterBenchmark(
                name_of(group, row).c_str(),
                [&runner, &group, row](benchmark::State& state) { runner.run(state, group, row); })
                ->Iterations(1)
                ->UseManualTime();
        }
    }
    TablePrinter printer(hz, options.cpu);
    const std::size_t ran = benchmark::RunSpecifiedBenchmarks(&printer);
    benchmark::Shutdown();
    return ran == 0 ? 1 : 0;
}

}  // namespace unecho::bench
