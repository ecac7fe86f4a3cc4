// SPDX-License-Identifier: BSD-3-Clause
#include "capture/compressor.h"

namespace unecho::capture {

std::unique_ptr<Compressor> make_compressor(Compression compression) {
    switch (compression) {
        case Compression::kNone:
            break;
        case Compression::kGzip:
            return make_gzip_writer();
        case Compression::kZstd:
            return make_zstd_writer();
        case Compression::kLz4:
            return make_lz4_writer();
    }
    return nullptr;
}

}  // namespace unecho::capture
