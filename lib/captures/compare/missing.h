// SPDX-License-Identifier: BSD-3-Clause
// Writes the packets that never came, as the point that saw them captured them.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "captures/compare/compare.h"
#include "captures/compare/looks/look.h"
#include "captures/output/writer.h"

namespace unecho::compare {

// Errc::kConfig: an input is a pipe, which can be read only once.
Status check_rereadable(const std::vector<std::string>& inputs);

struct MissingLook {
    LookIndex look;
    std::size_t at;  // index of the point that it did not come to
};

// Writes the looks that are missing, merged by time. In a pcapng each gets a comment that says
// where it is missing.
class MissingFile {
  public:
    // Create the file. Errors as of create_capture() (captures/output/writer.h).
    static Result<MissingFile> create(const Options& options);

    // Read the inputs once more, write these looks, and complete the file.
    Status write(const LookStore& looks, const std::vector<MissingLook>& missing,
                 const std::vector<Point>& points);

  private:
    MissingFile(const Options& options, std::unique_ptr<capture::Writer> out)
        : options_(&options), out_(std::move(out)) {}

    const Options* options_;
    std::unique_ptr<capture::Writer> out_;
};

}  // namespace unecho::compare
