// SPDX-License-Identifier: BSD-3-Clause
// Compresses a stream as one gzip member, with ISA-L at its level 1.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/result.h"
#include "capture/compressor.h"
#include "capture/output.h"

namespace unecho::capture {

class GzipWriter final : public Compressor {
  public:
    GzipWriter();
    ~GzipWriter() override;

    Status write(std::span<const std::byte> bytes, Output& output) override;
    Status finish(Output& output) override;

  private:
    struct State;  // keeps ISA-L out of the header
    Status deflate(Output& output);

    std::unique_ptr<State> state_;
};

}  // namespace unecho::capture
