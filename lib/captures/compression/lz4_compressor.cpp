// SPDX-License-Identifier: BSD-3-Clause
// One lz4 frame (lz4_Frame_format.md of lz4).
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <lz4frame.h>

#include "captures/compression/compressor.h"

namespace unecho::capture {
namespace {

constexpr std::size_t kPart = std::size_t{1} << 16U;

LZ4F_preferences_t preferences() {
    LZ4F_preferences_t out{};
    out.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
    return out;
}

class Lz4Compressor final : public Compressor {
  public:
    Lz4Compressor() {
        LZ4F_cctx* context = nullptr;
        LZ4F_createCompressionContext(&context, LZ4F_VERSION);
        context_.reset(context);
        out_.resize(
            std::max<std::size_t>(LZ4F_compressBound(kPart, &preferences_), LZ4F_HEADER_SIZE_MAX));
    }

    Status write(std::span<const std::byte> bytes, Output& output) override {
        Status status = begin(output);
        while (status && !bytes.empty()) {
            const auto part = bytes.first(std::min(bytes.size(), kPart));
            status = send(LZ4F_compressUpdate(context_.get(), out_.data(), out_.size(), part.data(),
                                              part.size(), nullptr),
                          output);
            bytes = bytes.subspan(part.size());
        }
        return status;
    }

    Status finish(Output& output) override {
        const Status begun = begin(output);
        return begun ? send(LZ4F_compressEnd(context_.get(), out_.data(), out_.size(), nullptr),
                            output)
                     : begun;
    }

  private:
    Status begin(Output& output) {
        if (begun_) {
            return {};
        }
        begun_ = true;
        return send(LZ4F_compressBegin(context_.get(), out_.data(), out_.size(), &preferences_),
                    output);
    }

    Status send(std::size_t result, Output& output) {
        if (LZ4F_isError(result) != 0) {
            return fail(Errc::kIo, fmt::format("{}: compressing failed: {}", output.name(),
                                               LZ4F_getErrorName(result)));
        }
        return output.write(std::span(out_).first(result));
    }

    struct Free {
        void operator()(LZ4F_cctx* context) const { LZ4F_freeCompressionContext(context); }
    };
    std::unique_ptr<LZ4F_cctx, Free> context_;
    LZ4F_preferences_t preferences_ = preferences();
    std::vector<std::byte> out_;
    bool begun_ = false;
};

}  // namespace

std::unique_ptr<Compressor> make_lz4_compressor() {
    return std::make_unique<Lz4Compressor>();
}

}  // namespace unecho::capture
