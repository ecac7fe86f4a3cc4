// SPDX-License-Identifier: BSD-3-Clause
// A compressor in front of an Output. gzip: one member (ISA-L's level 1). zstd and lz4: the
// quickest levels, one frame with a checksum.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/result.h"
#include "captures/file_name.h"
#include "captures/output/output.h"

namespace unecho::capture {

class Compressor {
  public:
    virtual ~Compressor() = default;
    Compressor(const Compressor&) = delete;
    Compressor& operator=(const Compressor&) = delete;

    virtual Status write(std::span<const std::byte> bytes, Output& output) = 0;
    // End the stream. Nothing may be written after it.
    virtual Status finish(Output& output) = 0;

  protected:
    Compressor() = default;
};

// Return null for Compression::kNone.
std::unique_ptr<Compressor> make_compressor(Compression compression);
std::unique_ptr<Compressor> make_gzip_compressor();
std::unique_ptr<Compressor> make_zstd_compressor();
std::unique_ptr<Compressor> make_lz4_compressor();

}  // namespace unecho::capture
