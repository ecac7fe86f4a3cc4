// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>

#include <fmt/core.h>
#include <isa-l/igzip_lib.h>

#include "captures/compression/compressor.h"

namespace unecho::capture {
namespace {

constexpr std::size_t kCompressed = std::size_t{1} << 17U;

class GzipCompressor final : public Compressor {
  public:
    GzipCompressor();

    Status write(std::span<const std::byte> bytes, Output& output) override;
    Status finish(Output& output) override;

  private:
    struct State {
        isal_zstream stream;
        std::array<std::uint8_t, ISAL_DEF_LVL1_DEFAULT> level;
        std::array<std::uint8_t, kCompressed> out;

        void empty() {
            stream.next_out = out.data();
            stream.avail_out = static_cast<std::uint32_t>(out.size());
        }
        [[nodiscard]] std::span<const std::byte> filled() const {
            return std::as_bytes(std::span(out)).first(out.size() - stream.avail_out);
        }
    };

    Status deflate(Output& output);

    std::unique_ptr<State> state_;
};

GzipCompressor::GzipCompressor() : state_(new State) {
    isal_deflate_init(&state_->stream);
    state_->stream.level = 1;
    state_->stream.level_buf = state_->level.data();
    state_->stream.level_buf_size = static_cast<std::uint32_t>(state_->level.size());
    state_->stream.gzip_flag = IGZIP_GZIP;
    state_->stream.end_of_stream = 0;
    state_->empty();
}

// Deflate until the input is taken, or at the end of the stream, until all output is written.
Status GzipCompressor::deflate(Output& output) {
    isal_zstream& stream = state_->stream;
    for (;;) {
        if (const int error = isal_deflate(&stream); error != COMP_OK) {
            return fail(Errc::kIo, fmt::format("{}: compressing failed: ISA-L error {}",
                                               output.name(), error));
        }
        const bool done = stream.end_of_stream != 0 ? stream.internal_state.state == ZSTATE_END
                                                    : stream.avail_in == 0;
        if (done) {
            return {};
        }
        UNECHO_TRY(output.write(state_->filled()));
        state_->empty();
    }
}

Status GzipCompressor::write(std::span<const std::byte> bytes, Output& output) {
    while (!bytes.empty()) {
        const std::size_t part =
            std::min<std::size_t>(bytes.size(), std::numeric_limits<std::uint32_t>::max());
        // ISA-L only reads its input, but takes no pointer to const.
        state_->stream.next_in =
            const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(bytes.data()));
        state_->stream.avail_in = static_cast<std::uint32_t>(part);
        UNECHO_TRY(deflate(output));
        bytes = bytes.subspan(part);
    }
    return {};
}

Status GzipCompressor::finish(Output& output) {
    state_->stream.next_in = nullptr;
    state_->stream.avail_in = 0;
    state_->stream.end_of_stream = 1;
    UNECHO_TRY(deflate(output));
    return output.write(state_->filled());
}

}  // namespace

std::unique_ptr<Compressor> make_gzip_compressor() {
    return std::make_unique<GzipCompressor>();
}

}  // namespace unecho::capture
