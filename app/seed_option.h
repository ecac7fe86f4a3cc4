// SPDX-License-Identifier: BSD-3-Clause
// The seed of `unecho pcap` and `unecho analyze`: --seed-file, or --seed, which every user of the
// host can read in the list of processes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "arguments.h"

namespace unecho::app {

struct SeedOption {
    OptionText number;
    OptionText file;

    // The name of the option that was given; empty: none.
    [[nodiscard]] std::string name() const;
};

// use: what the seed is for, as "For shards: the same in each".
void add_seed_option(CLI::App& command, SeedOption& option, const std::string& use);

// Return the seed, if one was given.
Result<std::optional<std::uint64_t>> read_seed(const SeedOption& option);

}  // namespace unecho::app
