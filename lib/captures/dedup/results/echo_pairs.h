// SPDX-License-Identifier: BSD-3-Clause
// A CSV file of the echoes, each with the packet that it repeats and its age.
//   echo,original,age_ns                              numbers of the input, from 1, as Wireshark
//                                                     shows them
//   echo,original,age_ns,echo_file,original_file      with several inputs: numbers of the merged
//                                                     input, which counts packets only
// The fields of the original are empty if a filter decided, which knows no original.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "captures/dedup/deduplicator.h"
#include "captures/output/buffered_output.h"
#include "captures/output/output.h"

namespace unecho::dedup {

class EchoPairFile {
  public:
    // Create the file, compressed if its name says so. inputs: if several, the file names them.
    static Result<std::unique_ptr<EchoPairFile>> create(const std::string& path,
                                                        std::span<const std::string> inputs,
                                                        const capture::OutputOptions& options = {});

    Status write(std::span<const EchoPair> echoes);
    // Complete the file, and unless it is live, give it its final name.
    Status close();

  private:
    EchoPairFile(capture::BufferedOutput sink, std::span<const std::string> inputs);
    void add(const EchoPair& echo);
    Status put();

    capture::BufferedOutput sink_;
    std::vector<std::string> files_;  // quoted if needed; empty: not named
    std::string rows_;
};

}  // namespace unecho::dedup
