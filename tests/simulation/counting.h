// SPDX-License-Identifier: BSD-3-Clause
// What the programs that count to billions have in common: their command line, rows that share what
// is to be counted, one seed each, and what they say at the end.
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
    const char* unit;  // its option, and what is counted
    double most;       // of it, if nothing is said
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

// Of one row: how much, by which seed; and as JSON what came of it, which it has printed.
template <typename Row>
using RunRow =
    std::function<nlohmann::ordered_json(const Row& row, std::uint64_t most, std::uint64_t seed)>;

// The end: how long all of them took, and the JSON file.
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

// Each row by a Work of its own, on one ground with one peer; told(row, counted) prints and judges
// what it counted, and gives it as JSON. They stay as they are when something is wrong: what is
// broken is not taken apart.
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

// The exit status. body counts up `done`; what it throws is wrong, and it is left as it is then.
int counting_main(
    int argc, char** argv, const Counting& counting,
    const std::function<void(const CountingOptions& options, std::uint64_t& done)>& body);

}  // namespace unecho::test
