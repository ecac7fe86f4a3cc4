// SPDX-License-Identifier: BSD-3-Clause
// One zstd frame (RFC 8878).
#include <string>
#include <vector>

#include <fmt/core.h>
#include <zstd.h>

#include "captures/compression/compressor.h"

namespace unecho::capture {
namespace {

constexpr int kLevel = 1;

class ZstdCompressor final : public Compressor {
  public:
    ZstdCompressor() : context_(ZSTD_createCCtx()), out_(ZSTD_CStreamOutSize()) {
        ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, kLevel);
        ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
    }

    Status write(std::span<const std::byte> bytes, Output& output) override {
        return compress(bytes, ZSTD_e_continue, output);
    }
    Status finish(Output& output) override { return compress({}, ZSTD_e_end, output); }

  private:
    // Compress until the input is taken, or at the end of the stream, until all output is written.
    Status compress(std::span<const std::byte> bytes, ZSTD_EndDirective how, Output& output) {
        ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
        for (;;) {
            ZSTD_outBuffer out{out_.data(), out_.size(), 0};
            const std::size_t left = ZSTD_compressStream2(context_.get(), &out, &in, how);
            if (ZSTD_isError(left) != 0) {
                return fail(Errc::kIo, fmt::format("{}: compressing failed: {}", output.name(),
                                                   ZSTD_getErrorName(left)));
            }
            UNECHO_TRY(output.write(std::span(out_).first(out.pos)));
            if (how == ZSTD_e_end ? left == 0 : in.pos == in.size) {
                return {};
            }
        }
    }

    struct Free {
        void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
    };
    std::unique_ptr<ZSTD_CCtx, Free> context_;
    std::vector<std::byte> out_;
};

}  // namespace

std::unique_ptr<Compressor> make_zstd_compressor() {
    return std::make_unique<ZstdCompressor>();
}

}  // namespace unecho::capture
