// SPDX-License-Identifier: BSD-3-Clause
// unecho's engines beside alternatives, at equal windows and rates; docs/benchmarking.md says what
// is measured and how to read it.
#include <cstdio>
#include <new>
#include <string>
#include <type_traits>
#include <vector>

#include "common/engines.h"
#include "common/machine.h"
#include "common/table.h"
#include "peers/dpdk_peers.h"
#include "peers/exact_sets.h"
#include "peers/locked_slots.h"
#include "peers/rotating_blocked.h"

namespace unecho::bench {
namespace {

// The engines that are compared; new ones are added here.
using Compared =
    std::tuple<LineEngine<1>, LineEngine<2>, LineEngine<3>, LineEngine<4>, Apbbf25Engine,
               CatalogueEngine<engines::Engine::kApbbf>, CatalogueEngine<engines::Engine::kExact>,
               FingerprintKernelEngine<filter::Isa::kAvx2>,
               FingerprintKernelEngine<filter::Isa::kAvx512>, RotatingEngine<BlockKernel::kAvx2, 1>,
               RotatingEngine<BlockKernel::kAvx512, 1>, RotatingEngine<BlockKernel::kAvx512, 3>,
               RotatingEngine<BlockKernel::kAvx512, 7>>;

struct Window {
    const char* name;
    std::uint64_t keys;
};

std::vector<Window> windows(bool smoke) {
    if (smoke) {
        return {{"4Ki", 1 << 12}};
    }
    return {{"256Ki", 1 << 18}, {"4Mi", 1 << 22}, {"16Mi", 1 << 24}};
}

template <typename Set>
Result<std::unique_ptr<Subject>> make_set(std::uint64_t keys, const char* geometry,
                                          double predicted = 0) {
    Facts facts;
    facts.geometry = geometry;
    facts.window_keys = keys;
    facts.fill_keys = 2 * keys;
    facts.predicted = predicted;
    const auto on = [&](Pages pages) -> std::unique_ptr<Subject> {
        Set set(keys, pages);
        facts.bytes = set.bytes();
        return std::make_unique<SubjectOf<Set>>(facts, pages, std::move(set));
    };
    try {
        return on(Pages::kHuge);
    } catch (const std::bad_alloc&) {
        return on(Pages::kPlain);
    }
}

// Return the rate for which an engine is sized. It is a tenth of the bound if matches have a limit
// and the engine's chance of an accident varies with a digest's lines (dedup/engines/engine.h).
template <typename Engine>
double planned_rate(const TableOptions& options) {
    constexpr bool kVaries = std::is_same_v<typename Engine::Filter, filter::LineFilter>;
    return options.judge && kVaries ? options.false_positives / 10 : options.false_positives;
}

std::vector<RowGroup> groups_of(const TableOptions& options, const Window& window) {
    const std::uint64_t keys = window.keys;
    const double rate = options.false_positives;
    std::vector<RowGroup> groups;
    const auto add = [&](std::string name, SubjectMaker make) {
        groups.push_back({std::move(name), window.name, std::move(make), few_rows(options.full)});
    };
    for_each_engine(static_cast<Compared*>(nullptr), [&]<typename Engine>() {
        add(Engine::name(), [keys, planned = planned_rate<Engine>(options)] {
            return make_subject<Engine>(Engine::plan(keys, planned), Pages::kHuge, true);
        });
    });
    add("member-cache-x1", [keys] { return make_member_cache(keys, 1); });
    add("member-cache-x2", [keys] { return make_member_cache(keys, 2); });
    add("member-vbf", [keys, rate] { return make_member_vbf(keys, rate); });
    add("member-sketch", [keys, rate] { return make_member_sketch(keys, rate); });
    add("rte_hash", [keys] { return make_rte_hash(keys); });
    add("absl-flat-set", [keys] { return make_set<AbslSet>(keys, "flat_hash_set and a ring"); });
    add("locked-slots", [keys] {
        return make_set<LockedSlots>(keys, "65536 slots, one mutex",
                                     LockedSlots::false_positives(keys));
    });
    add("std-unordered-set", [keys] { return make_set<StdSet>(keys, "unordered_set and a ring"); });
    return groups;
}

int run(const TableOptions& options) {
    if (const Status started = start_dpdk(options.cpu); !started) {
        std::fprintf(stderr, "%s: %s\n", options.program.c_str(), started.error().context.c_str());
        return 1;
    }
    std::vector<RowGroup> groups;
    for (const Window& window : windows(options.smoke)) {
        for (RowGroup& group : groups_of(options, window)) {
            groups.push_back(std::move(group));
        }
    }
    const int status = run_table(options, std::move(groups));
    stop_dpdk();
    return status;
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
    return run(*options);
}
