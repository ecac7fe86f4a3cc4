// SPDX-License-Identifier: BSD-3-Clause
// A CSV file of the echoes: each with the packet that it repeats, and its age.
//   echo,original,age_ns                              numbers of the input, from 1, as Wireshark
//                                                     shows them
//   echo,original,age_ns,echo_file,original_file      with several inputs: numbers of the merged
//                                                     input, of packets alone
// The fields of the original are empty where a filter decided: it knows of none.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "captures/dedup/deduplicator.h"
#include "captures/output/buffered_output.h"
#include "captures/output/output.h"

namespace unecho::offline {

class EchoPairFile {
  public:
    // Compressed where the name ends so (captures/file_name.h). inputs: named in the file if they
    // are several.
    static Result<std::unique_ptr<EchoPairFile>> create(const std::string& path,
                                                        std::span<const std::string> inputs,
                                                        const capture::OutputOptions& options = {});

    Status write(std::span<const EchoPair> echoes);
    // Under its final name only now, if it is not live.
    Status close();

  private:
    EchoPairFile(capture::BufferedOutput sink, std::span<const std::string> inputs);
    void add(const EchoPair& echo);
    Status put();

    capture::BufferedOutput sink_;
    std::vector<std::string> files_;  // quoted where needed; empty: not named
    std::string rows_;
};

}  // namespace unecho::offline
