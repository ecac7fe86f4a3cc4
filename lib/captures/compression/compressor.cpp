// SPDX-License-Identifier: BSD-3-Clause
#include "captures/compression/compressor.h"

namespace unecho::capture {

std::unique_ptr<Compressor> make_compressor(Compression compression) {
    switch (compression) {
        case Compression::kNone:
            break;
        case Compression::kGzip:
            return make_gzip_compressor();
        case Compression::kZstd:
            return make_zstd_compressor();
        case Compression::kLz4:
            return make_lz4_compressor();
    }
    return nullptr;
}

}  // namespace unecho::capture
