// SPDX-License-Identifier: BSD-3-Clause
// The cost of a key in each engine by the location of its table; docs/benchmarking.md says what is
// measured and how to read it.
#include <cstdio>
#include <string>
#include <vector>

#include "common/engines.h"
#include "common/raw_limit.h"
#include "common/table.h"

namespace unecho::bench {
namespace {

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;

// The part of the memory hierarchy in which a table should be.
struct Place {
    const char* name;
    std::uint64_t bytes;
    Pages pages;
    bool else_plain;
};

std::vector<Place> places(const TableOptions& options) {
    const std::uint64_t part = options.smoke ? 16 : 1;
    const std::uint64_t dram = options.smoke ? 4 * kMiB : options.dram_mib * kMiB;
    return {{"L2", 512 * kKiB / part, Pages::kHuge, true},
            {"L3", 12 * kMiB / part, Pages::kHuge, true},
            {"DRAM", dram, Pages::kPlain, false},
            {"DRAM-2M", dram, Pages::kHuge, false}};
}

Result<std::unique_ptr<Subject>> make_raw(const Place& place) {
    auto memory = Mapping::make(place.bytes, place.pages);
    if (!memory && place.else_plain) {
        memory = Mapping::make(place.bytes, Pages::kPlain);
    }
    if (!memory) {
        return tl::unexpected(memory.error());
    }
    Facts facts;
    facts.bytes = place.bytes;
    facts.answers = false;
    return std::make_unique<MappedSubjectOf<RawLimit>>(facts, std::move(*memory));
}

template <typename Engine>
Place place_of(const Place& place) {
    Place out = place;
    if constexpr (requires { Engine::is_slow(); }) {
        const bool half = Engine::is_slow() && std::string(place.name).starts_with("DRAM");
        out.bytes /= half ? 2 : 1;
    }
    return out;
}

template <typename Engine>
std::vector<RowSpec> rows_of(bool full) {
    std::vector<RowSpec> rows;
    if constexpr (requires { Engine::kKernel; }) {
        if (!Engine::wanted()) {
            return {};
        }
        rows = few_rows(full);
    } else {
        rows = usual_rows(full);
    }
    if constexpr (ToldAhead<typename Engine::Filter>) {
        const std::vector<RowSpec> ahead = ahead_rows();
        rows.insert(rows.end(), ahead.begin(), ahead.end());
    }
    return rows;
}

std::vector<RowSpec> raw_rows() {
    return {{.burst = 32}, {.burst = 1}, {.burst = 8}, {.burst = 64}};
}

}  // namespace
}  // namespace unecho::bench

int main(int argc, char** argv) {
    using namespace unecho::bench;
    const auto options = parse_options(argc, argv);
    if (!options) {
        std::fputs(options.error().context.c_str(), stderr);
        return 2;
    }
    std::vector<RowGroup> groups;
    for (const Place& place : places(*options)) {
        groups.push_back({"raw", place.name, [place] { return make_raw(place); }, raw_rows()});
    }
    for_each_engine(static_cast<Engines*>(nullptr), [&]<typename Engine>() {
        for (const Place& any : places(*options)) {
            const Place place = place_of<Engine>(any);
            const auto make = [place, rate = options->false_positives] {
                return make_subject<Engine>(plan_of_bytes<Engine>(place.bytes, rate), place.pages,
                                            place.else_plain);
            };
            groups.push_back({Engine::name(), place.name, make, rows_of<Engine>(options->full)});
        }
    });
    return run_table(*options, std::move(groups));
}
