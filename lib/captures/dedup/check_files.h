// SPDX-License-Identifier: BSD-3-Clause
// The checks of file names before any file is opened: no output overwrites an input or another
// output, and no name promises what is not written. All errors are Errc::kConfig.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "captures/dedup/file_options.h"

namespace unecho::dedup {

struct NamedOutput {
    std::string option;  // the option that named it
    std::string path;
};

// Return the requested outputs. A split one has the given name.
std::vector<NamedOutput> outputs_of(const FileOptions& files);

// Check the outputs of any command.
Status check_outputs(std::span<const std::string> inputs, std::span<const NamedOutput> outputs);

// Check the files of `unecho pcap` or `unecho capture`.
Status check_files(const FileOptions& files);

// Check a file of a split output, whose name is known only when the file begins.
Status check_split_file(const FileOptions& files, const std::string& path);

}  // namespace unecho::dedup
