// SPDX-License-Identifier: BSD-3-Clause
#include "options/seed_option.h"

#include <fmt/core.h>

#include "base/option_names.h"
#include "base/os/private_file.h"

namespace unecho::app {
namespace {

// A message never quotes the file's content, which may be a password.
Result<std::uint64_t> seed_in(const std::string& path) {
    const Result<std::string> line = read_private_line(path);
    UNECHO_TRY(line);
    const auto number = parse_whole(*line);
    return number ? number
                  : Result<std::uint64_t>(fail(
                        Errc::kConfig,
                        fmt::format(
                            "{}: its first line is no seed; allowed: a whole number from 0 to {}",
                            path, UINT64_MAX)));
}

}  // namespace

std::string SeedOption::name() const {
    return file ? option::kSeedFile : number ? std::string(option::kSeed) : "";
}

void add_seed_option(CLI::App& command, SeedOption& option, const std::string& use) {
    command
        .add_option(
            option::kSeed, option.number,
            fmt::format("{}. Other users see it in the list of processes; they do not with {}", use,
                        option::kSeedFile))
        ->type_name("N");
    command
        .add_option(option::kSeedFile, option.file,
                    "Read the seed from the first line of this file, which only its owner may use")
        ->type_name("FILE");
}

Result<std::optional<std::uint64_t>> read_seed(const SeedOption& option) {
    if (option.number && option.file) {
        return bad_option(option::kSeedFile, "not together with " + option::kSeed);
    }
    std::optional<std::uint64_t> seed;
    OptionReader read;
    const auto set = [&](std::uint64_t number) { seed = number; };
    read(option::kSeed, option.number, parse_whole, set);
    read(option::kSeedFile, option.file, seed_in, set);
    UNECHO_TRY(read.status());
    return seed;
}

}  // namespace unecho::app
