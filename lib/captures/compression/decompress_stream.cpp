// SPDX-License-Identifier: BSD-3-Clause
#include "captures/compression/decompress_stream.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <lz4frame.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "captures/compression/compression.h"

namespace unecho::capture {
namespace {

// Both libraries lose what a call has decompressed if it then meets damage. So they get only what
// they ask for at a time, a block or a checksum. At the start of a frame they get this.
constexpr std::size_t kFirst = 5;
constexpr const char* kDamaged = "compressed data damaged";
constexpr const char* kWrongChecksum = "checksum of compressed data wrong";

struct Step {
    std::size_t taken = 0;
    std::size_t given = 0;
    bool frame_ended = false;
    const char* error = nullptr;
};

class Codec {
  public:
    virtual ~Codec() = default;
    Codec(const Codec&) = delete;
    Codec& operator=(const Codec&) = delete;

    [[nodiscard]] virtual bool begins(std::span<const std::uint8_t> bytes) const = 0;
    virtual Step step(std::span<const std::uint8_t> from, std::span<std::byte> to) = 0;
    [[nodiscard]] virtual std::uint64_t memory() const = 0;

  protected:
    Codec() = default;
};

class Zstd final : public Codec {
  public:
    [[nodiscard]] bool begins(std::span<const std::uint8_t> bytes) const override {
        return detect_compression(bytes) == Compression::kZstd;
    }

    Step step(std::span<const std::uint8_t> from, std::span<std::byte> to) override {
        ZSTD_inBuffer in{from.data(), std::min(from.size(), wanted_), 0};
        ZSTD_outBuffer out{to.data(), to.size(), 0};
        const std::size_t result = ZSTD_decompressStream(context_.get(), &out, &in);
        wanted_ = result == 0 ? kFirst : result;
        return {in.pos, out.pos, result == 0, error_of(result)};
    }

    // Includes its window, which is allocated when a frame begins.
    [[nodiscard]] std::uint64_t memory() const override { return ZSTD_sizeof_DCtx(context_.get()); }

  private:
    static const char* error_of(std::size_t result) {
        if (ZSTD_isError(result) == 0) {
            return nullptr;
        }
        switch (ZSTD_getErrorCode(result)) {
            case ZSTD_error_checksum_wrong:
                return kWrongChecksum;
            case ZSTD_error_frameParameter_windowTooLarge:
                return "compressed with a window above 128 MiB, which is not read: "
                       "let zstd -dc --long=31 decompress it";
            default:
                return kDamaged;
        }
    }

    struct Free {
        void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
    };
    std::unique_ptr<ZSTD_DCtx, Free> context_{ZSTD_createDCtx()};
    std::size_t wanted_ = kFirst;
};

class Lz4 final : public Codec {
  public:
    Lz4() {
        LZ4F_dctx* context = nullptr;
        LZ4F_createDecompressionContext(&context, LZ4F_VERSION);
        context_.reset(context);
    }

    [[nodiscard]] bool begins(std::span<const std::uint8_t> bytes) const override {
        return detect_compression(bytes) == Compression::kLz4 || begins_with_skippable_frame(bytes);
    }

    Step step(std::span<const std::uint8_t> from, std::span<std::byte> to) override {
        std::size_t taken = std::min(from.size(), wanted_);
        std::size_t given = to.size();
        const std::size_t result =
            LZ4F_decompress(context_.get(), to.data(), &given, from.data(), &taken, nullptr);
        if (LZ4F_isError(result) == 0) {
            wanted_ = result == 0 ? kFirst : result;
            noted_ = result != 0 && (noted_ || note_memory());
            return {taken, given, result == 0, nullptr};
        }
        const std::string_view name = LZ4F_getErrorName(result);
        return {0, 0, false,
                name.find("hecksum_invalid") != std::string_view::npos ? kWrongChecksum : kDamaged};
    }

    [[nodiscard]] std::uint64_t memory() const override { return memory_; }

  private:
    // Count what lz4frame.c allocates: a compressed block, and a block with its history. Return
    // false if the frame's header was not read yet.
    bool note_memory() {
        constexpr std::uint64_t kHistory = 128U << 10U;
        LZ4F_frameInfo_t frame = LZ4F_INIT_FRAMEINFO;
        std::size_t none = 0;
        if (LZ4F_isError(LZ4F_getFrameInfo(context_.get(), &frame, nullptr, &none)) != 0 ||
            frame.blockSizeID < LZ4F_max64KB) {
            return false;
        }
        const std::uint64_t block = std::uint64_t{1} << (8 + 2 * unsigned{frame.blockSizeID});
        memory_ = std::max(memory_, 2 * block + kHistory);
        return true;
    }

    struct Free {
        void operator()(LZ4F_dctx* context) const { LZ4F_freeDecompressionContext(context); }
    };
    std::unique_ptr<LZ4F_dctx, Free> context_;
    std::size_t wanted_ = kFirst;
    std::uint64_t memory_ = 0;
    bool noted_ = false;  // for this frame
};

class DecompressStream final : public ByteStream {
  public:
    DecompressStream(std::unique_ptr<ByteStream> stream, std::span<const std::uint8_t> taken,
                     std::unique_ptr<Codec> codec, std::size_t piece)
        : stream_(std::move(stream)),
          codec_(std::move(codec)),
          input_(std::max(compressed_read_size(piece), taken.size())),
          end_(taken.size()) {
        std::copy(taken.begin(), taken.end(), input_.begin());
    }

    Result<std::size_t> read(std::span<std::byte> to) override;

    [[nodiscard]] std::uint64_t taken() const override {
        return stream_->taken() - (end_ - begin_);
    }
    [[nodiscard]] std::uint64_t size() const override { return stream_->size(); }
    std::optional<Defect> defect() override { return std::exchange(why_ended_, std::nullopt); }
    [[nodiscard]] bool ended_early() const override { return ended_early_; }
    [[nodiscard]] bool is_compressed() const override { return true; }
    [[nodiscard]] std::uint64_t memory() const override {
        return sizeof(*this) + input_.size() + codec_->memory();
    }

  private:
    [[nodiscard]] std::span<const std::uint8_t> unread() const {
        return std::span(input_).subspan(begin_, end_ - begin_);
    }

    // Continue with the input at hand. Return false if more is needed.
    bool step(std::span<std::byte> to, std::size_t& given);
    bool between();
    Status refill();
    void end(const Defect& why, bool early);

    std::unique_ptr<ByteStream> stream_;
    std::unique_ptr<Codec> codec_;
    std::vector<std::uint8_t> input_;
    std::size_t begin_ = 0;
    std::size_t end_;
    bool in_frame_ = false;
    bool in_zeros_ = false;
    bool input_ended_ = false;
    bool ended_ = false;
    bool ended_early_ = false;
    std::optional<Defect> why_ended_;
};

Result<std::size_t> DecompressStream::read(std::span<std::byte> to) {
    std::size_t given = 0;
    while (given < to.size() && !ended_) {
        if (in_frame_ ? step(to, given) : between()) {
            continue;
        }
        if (input_ended_) {
            if (in_frame_) {
                end({.what = "compressed data cut short", .incomplete = false}, true);
            }
            ended_ = true;
        } else if (given != 0) {
            break;
        } else {
            UNECHO_TRY(refill());
        }
    }
    return given;
}

bool DecompressStream::step(std::span<std::byte> to, std::size_t& given) {
    const Step done = codec_->step(unread(), to.subspan(given));
    begin_ += done.taken;
    given += done.given;
    in_frame_ = !done.frame_ended;
    if (done.error != nullptr) {
        end({.what = done.error}, true);
        return true;
    }
    return done.taken != 0 || done.given != 0 || done.frame_ended;
}

bool DecompressStream::between() {
    const std::span<const std::uint8_t> next = unread();
    if (next.empty()) {
        return false;
    }
    in_zeros_ = in_zeros_ || next[0] == 0;
    if (in_zeros_ && std::all_of(next.begin(), next.end(), [](auto byte) { return byte == 0; })) {
        begin_ = end_;
        return false;
    }
    if (!in_zeros_ && next.size() < kCompressionBytes && !input_ended_) {
        return false;
    }
    if (!in_zeros_ && codec_->begins(next)) {
        in_frame_ = true;
    } else {
        end({.what = "bytes behind the compressed data ignored"}, false);
    }
    return true;
}

// Read more input behind what is left, a few bytes at most.
Status DecompressStream::refill() {
    std::memmove(input_.data(), input_.data() + begin_, end_ - begin_);
    end_ -= std::exchange(begin_, 0);
    const Result<std::size_t> got =
        stream_->read(std::as_writable_bytes(std::span(input_).subspan(end_)));
    UNECHO_TRY(got);
    end_ += *got;
    input_ended_ = *got == 0;
    return {};
}

void DecompressStream::end(const Defect& why, bool early) {
    why_ended_ = why;
    ended_ = true;
    ended_early_ = early;
}

}  // namespace

std::unique_ptr<ByteStream> make_zstd_stream(std::unique_ptr<ByteStream> stream,
                                             std::span<const std::uint8_t> taken,
                                             std::size_t piece) {
    return std::make_unique<DecompressStream>(std::move(stream), taken, std::make_unique<Zstd>(),
                                              piece);
}

std::unique_ptr<ByteStream> make_lz4_stream(std::unique_ptr<ByteStream> stream,
                                            std::span<const std::uint8_t> taken,
                                            std::size_t piece) {
    return std::make_unique<DecompressStream>(std::move(stream), taken, std::make_unique<Lz4>(),
                                              piece);
}

}  // namespace unecho::capture
