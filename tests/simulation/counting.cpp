// SPDX-License-Identifier: BSD-3-Clause
#include "counting.h"

#include <charconv>
#include <cstdio>
#include <fstream>

#include <unistd.h>

#include "checks.h"

namespace unecho::test {
namespace {

bool parse(int argc, char** argv, const Counting& counting, CountingOptions& out) {
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string_view name = argv[i];
        const std::string_view value = argv[i + 1];
        const auto number = [&](auto& to) {
            return std::from_chars(value.begin(), value.end(), to).ptr == value.end();
        };
        if (name == "--rows") {
            out.rows = value;
        } else if (name == "--json") {
            out.json = value;
        } else if (name == "--seed") {
            if (!number(out.seed)) {
                return false;
            }
        } else if (name != std::string("--") + counting.unit || !number(out.most) || out.most < 1) {
            return false;
        }
    }
    return argc % 2 == 1;
}

}  // namespace

void finish(const Counting& counting, const CountingOptions& options,
            const nlohmann::ordered_json& rows) {
    require(!rows.empty(), "no such rows");
    double counted = 0;
    double seconds = 0;
    for (const auto& row : rows) {
        counted += row.at(counting.unit).get<double>();
        seconds += row.at("seconds").get<double>();
    }
    std::printf("%.0f %s in %.1f s\n", counted, counting.unit, seconds);
    if (!options.json.empty()) {
        const nlohmann::ordered_json all{
            {"program", counting.program}, {"seed", options.seed}, {"rows", rows}};
        std::ofstream file(options.json);
        file << all.dump(1) << "\n";
        require(file.good(), "the JSON file cannot be written");
    }
}

int counting_main(
    int argc, char** argv, const Counting& counting,
    const std::function<void(const CountingOptions& options, std::uint64_t& done)>& body) {
    CountingOptions options;
    options.most = counting.most;
    if (!parse(argc, argv, counting, options)) {
        std::fprintf(stderr, "%s [--%s N] [--seed N] [--rows A,B,...] [--json FILE]\n",
                     counting.program, counting.unit);
        return 2;
    }
    std::uint64_t done = 0;
    try {
        body(options, done);
    } catch (const std::exception& error) {
        std::printf("seed %llu fails: %s\nafter %llu %s\n",
                    static_cast<unsigned long long>(options.seed), error.what(),
                    static_cast<unsigned long long>(done), counting.unit);
        std::fflush(nullptr);
        _exit(1);
    }
    return 0;
}

}  // namespace unecho::test
