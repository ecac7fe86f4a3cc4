// SPDX-License-Identifier: BSD-3-Clause
// The seed of `unecho pcap` and `unecho analyze`: --seed-file, or --seed, which all users of the
// host see in the list of processes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "options/arguments.h"

namespace unecho::app {

struct SeedOption {
    OptionText number;
    OptionText file;

    // Return the name of the given option; empty: none.
    [[nodiscard]] std::string name() const;
};

// use: the purpose of the seed, such as "For shards: the same in each".
void add_seed_option(CLI::App& command, SeedOption& option, const std::string& use);

Result<std::optional<std::uint64_t>> read_seed(const SeedOption& option);

}  // namespace unecho::app
