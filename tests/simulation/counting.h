// SPDX-License-Identifier: BSD-3-Clause
// The common part of the programs that count to billions: command line, rows and summary. Rows
// share the amount to count and have a seed each.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "box.h"
#include "peer.h"

namespace unecho::test {

struct Counting {
    const char* program;
    const char* unit;  // what is counted, and the name of its option
    double most;       // how many of it by default
};

struct CountingOptions {
    double most = 0;
    std::uint64_t seed = 1;
    std::string rows;  // comma-separated; empty: all
    std::string json;  // file; empty: none

    [[nodiscard]] bool wants(std::string_view row) const {
        return rows.empty() ||
               ("," + rows + ",").find("," + std::string(row) + ",") != std::string::npos;
    }
};

// Count `most` in one row with this seed, print the result, and return it as JSON.
template <typename Row>
using RunRow =
    std::function<nlohmann::ordered_json(const Row& row, std::uint64_t most, std::uint64_t seed)>;

// Print how long all rows took, and write the JSON file.
void finish(const Counting& counting, const CountingOptions& options,
            const nlohmann::ordered_json& rows);

template <typename Row>
void run_rows(const Counting& counting, const CountingOptions& options, std::span<const Row> rows,
              const RunRow<Row>& run) {
    double weights = 0;
    for (const Row& row : rows) {
        weights += options.wants(row.name) ? row.weight : 0;
    }
    auto out = nlohmann::ordered_json::array();
    std::uint64_t seed = options.seed * rows.size();
    for (const Row& row : rows) {
        ++seed;
        if (options.wants(row.name)) {
            const auto begun = std::chrono::steady_clock::now();
            out.push_back(
                run(row, static_cast<std::uint64_t>(options.most * row.weight / weights), seed));
            out.back()["seconds"] =
                std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
        }
    }
    finish(counting, options, out);
}

// Run each row with its own Work, on one ground with one peer. told(row, counted) prints and checks
// what the row counted, and returns it as JSON. The objects are static so that a failure does not
// destroy them: destroying broken state could crash.
template <typename Work, typename Row, typename Told>
void run_works(const Counting& counting, const CountingOptions& options, std::span<const Row> rows,
               std::uint64_t& done, Told told) {
    static std::unique_ptr<Ground> ground;
    static std::unique_ptr<Peer> peer;
    static std::unique_ptr<Work> work;
    constexpr unsigned kMbufs = 1023;
    ground = std::make_unique<Ground>(counting.program, kMbufs);
    peer = std::make_unique<Peer>(*ground, 1);
    run_rows<Row>(counting, options, rows,
                  [&](const Row& row, std::uint64_t most, std::uint64_t seed) {
                      work = std::make_unique<Work>(row, *peer, seed, done);
                      nlohmann::ordered_json json = told(row, work->run(most));
                      work.reset();
                      return json;
                  });
    peer.reset();
    ground.reset();
}

// Return the exit status. `body` counts up `done`. If it throws, its objects stay undestroyed.
int counting_main(
    int argc, char** argv, const Counting& counting,
    const std::function<void(const CountingOptions& options, std::uint64_t& done)>& body);

}  // namespace unecho::test
