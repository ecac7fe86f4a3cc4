// SPDX-License-Identifier: BSD-3-Clause
// Whether files go together, before one of them is opened: no output overwrites an input or another
// output, and no name promises what is not written. All errors are Errc::kConfig.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "captures/dedup/file_options.h"

namespace unecho::offline {

struct NamedOutput {
    std::string option;  // that it was named with
    std::string path;
};

// Those that were asked for; of a split one the name it was given.
std::vector<NamedOutput> outputs_of(const FileOptions& files);

// Of any command.
Status check_outputs(std::span<const std::string> inputs, std::span<const NamedOutput> outputs);

// Of `unecho pcap`.
Status check_files(const FileOptions& files);

// A file of a split output, whose name is known only when it is begun.
Status check_split_file(const FileOptions& files, const std::string& path);

}  // namespace unecho::offline
