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
#include "capture/compressor.h"
#include "capture/output.h"
#include "offline/deduplicator.h"

namespace unecho::offline {

class EchoPairFile {
  public:
    // Compressed where the name ends so (capture/file_name.h). inputs: named in the file if they
    // are several.
    static Result<std::unique_ptr<EchoPairFile>> create(const std::string& path,
                                                        std::span<const std::string> inputs);

    Status write(std::span<const EchoPair> echoes);
    // Under its final name only now.
    Status close();

  private:
    EchoPairFile(std::unique_ptr<capture::Output> output,
                 std::unique_ptr<capture::Compressor> compressor,
                 std::span<const std::string> inputs);
    void add(const EchoPair& echo);
    Status flush();

    std::unique_ptr<capture::Output> output_;
    std::unique_ptr<capture::Compressor> compressor_;  // null: not compressed
    std::vector<std::string> files_;                   // quoted where needed; empty: not named
    std::string buffer_;
};

}  // namespace unecho::offline
