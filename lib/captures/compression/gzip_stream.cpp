// SPDX-License-Identifier: BSD-3-Clause
#include "captures/compression/gzip_stream.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

namespace unecho::capture {
namespace {

class GzipStream final : public ByteStream {
  public:
    GzipStream(std::unique_ptr<ByteStream> stream, std::span<const std::uint8_t> taken,
               std::size_t piece, std::shared_ptr<InflatePool> inflate_pool)
        : stream_(std::move(stream)),
          piece_bytes_(std::max(compressed_read_size(piece), taken.size())),
          counted_(inflate_pool != nullptr),
          buffers_(piece_bytes_ + 1),
          ahead_(inflate_pool ? std::move(inflate_pool) : std::make_shared<InflatePool>(0),
                 piece_bytes_),
          begins_(stream_->taken() - taken.size()),
          read_(begins_),
          next_(begins_),
          member_(begins_) {
        inflater_->take({}, begins_);
        if (!taken.empty()) {
            const std::shared_ptr<Bytes> bytes = buffers_.take(0);
            std::memcpy(bytes->data() + 1, taken.data(), taken.size());
            put(bytes, taken.size());
        }
    }

    Result<std::size_t> read(std::span<std::byte> to) override;

    [[nodiscard]] std::uint64_t taken() const override {
        return ahead_.is_attached() ? member_ : inflater_->position();
    }
    [[nodiscard]] std::uint64_t size() const override { return stream_->size(); }

    std::optional<Defect> defect() override;
    [[nodiscard]] bool ended_early() const override {
        return !ahead_.is_attached() && inflater_->ended_early();
    }
    [[nodiscard]] bool is_compressed() const override { return true; }
    [[nodiscard]] std::optional<std::uint64_t> member() const override {
        const bool known = !ahead_.is_attached() && inflater_->ended_between();
        return known || member_ == begins_ ? std::nullopt : std::optional(member_);
    }
    [[nodiscard]] std::uint64_t memory() const override {
        return sizeof(*this) + sizeof(Inflater) + piece_bytes_ +
               (counted_ ? InflateQueue::memory(piece_bytes_) : 0);
    }

  private:
    // Deliver bytes of the attached job, or of the reader's own inflater, and return how many.
    std::size_t give_ahead(std::span<std::byte> to);
    std::size_t give_here(std::span<std::byte> to, Inflater::Stop& stop);
    // Give the inflater its next piece. Return false if it has not been read.
    bool take_piece();
    void look_ahead();
    void read_piece();
    void put(const std::shared_ptr<Bytes>& bytes, std::size_t size);

    std::unique_ptr<ByteStream> stream_;
    std::size_t piece_bytes_;
    bool counted_;
    BufferPool buffers_;
    InflateQueue ahead_;
    std::uint64_t begins_;
    std::uint64_t read_;  // end of what was read, in the stream
    std::uint64_t next_;  // where the inflater's next piece begins
    std::byte last_{};    // byte read last
    bool input_ended_ = false;
    std::optional<Error> error_;  // behind what was read
    bool many_ = false;           // a member has ended

    CompressedPiece piece_;  // input of inflater_
    std::unique_ptr<Inflater> inflater_ = std::make_unique<Inflater>();
    std::uint64_t member_;       // of the last byte delivered
    std::size_t checksums_ = 0;  // wrong ones before the bytes delivered last
};

Result<std::size_t> GzipStream::read(std::span<std::byte> to) {
    using Stop = Inflater::Stop;
    look_ahead();
    std::size_t given = 0;
    while (given < to.size()) {
        if (!ahead_.is_attached() && inflater_->is_between()) {
            ahead_.attach_at(inflater_->position());
        }
        if (ahead_.is_attached()) {
            given += give_ahead(to.subspan(given));
            continue;
        }
        Stop stop = Stop::kOutputFull;
        given += give_here(to.subspan(given), stop);
        many_ = many_ || stop == Stop::kMemberEnd;
        if (stop == Stop::kEnd || (stop == Stop::kChecksum && given != 0)) {
            break;
        }
        if (stop == Stop::kChecksum) {
            checksums_ += inflater_->defect() ? 1 : 0;
        }
        if (stop != Stop::kNeedsInput || take_piece()) {
            continue;
        }
        if (input_ended_) {
            inflater_->finish();
        } else if (given != 0 && (error_ || !stream_->ready())) {
            break;
        } else if (error_) {
            return tl::unexpected(*std::exchange(error_, std::nullopt));
        } else {
            if (inflater_->left() == 0) {
                piece_ = {};  // to reuse its buffer
            }
            read_piece();
        }
    }
    return given;
}

std::size_t GzipStream::give_ahead(std::span<std::byte> to) {
    const std::size_t given = ahead_.read_inflated(to);
    if (given != 0) {
        member_ = ahead_.member();
        return given;
    }
    InflateQueue::DetachedInflater taken = ahead_.detach();
    many_ = true;
    if (taken.inflater) {  // else it had no memory, and the reader's own continues
        inflater_ = std::move(taken.inflater);
        piece_ = std::move(taken.piece);
        next_ = piece_.end();
    }
    return 0;
}

std::size_t GzipStream::give_here(std::span<std::byte> to, Inflater::Stop& stop) {
    inflater_->set_output(to);
    stop = inflater_->run(input_ended_ && next_ == read_);
    const std::size_t given = inflater_->given();
    member_ = given != 0 ? inflater_->member() : member_;
    return given;
}

// A defect that ends the stream lies behind everything delivered.
std::optional<ByteStream::Defect> GzipStream::defect() {
    if (checksums_ != 0) {
        --checksums_;
        Defect defect = Inflater::wrong_checksum();
        defect.in_front = true;
        return defect;
    }
    return ahead_.is_attached() ? std::nullopt : inflater_->defect();
}

bool GzipStream::take_piece() {
    const std::optional<CompressedPiece> found = ahead_.piece_at(next_);
    if (!found) {
        return false;
    }
    piece_ = *found;
    inflater_->take(piece_.from(inflater_->left()), piece_.end());
    next_ = piece_.end();
    return true;
}

// Read pieces as long as no read waits. Before the end of a first member, keep only two.
void GzipStream::look_ahead() {
    constexpr std::size_t kFew = 2;
    if (!ahead_.has_threads()) {
        return;
    }
    if (!ahead_.is_attached()) {
        ahead_.discard_before(inflater_->position());
    }
    const std::size_t most = many_ ? InflateQueue::kMaxPieces : kFew;
    while (!input_ended_ && !error_ && ahead_.pieces() < most && stream_->ready()) {
        read_piece();
    }
}

void GzipStream::read_piece() {
    const std::shared_ptr<Bytes> bytes = buffers_.take(0);
    const Result<std::size_t> got = stream_->read(std::span(*bytes).subspan(1));
    if (!got) {
        error_ = got.error();
    } else if (*got == 0) {
        input_ended_ = true;
    } else {
        put(bytes, *got);
    }
}

void GzipStream::put(const std::shared_ptr<Bytes>& bytes, std::size_t size) {
    bytes->front() = last_;
    last_ = (*bytes)[size];
    ahead_.put({bytes, read_, size});
    read_ += size;
}

}  // namespace

std::unique_ptr<ByteStream> make_gzip_stream(std::unique_ptr<ByteStream> stream,
                                             std::span<const std::uint8_t> taken, std::size_t piece,
                                             std::shared_ptr<InflatePool> inflate_pool) {
    return std::make_unique<GzipStream>(std::move(stream), taken, piece, std::move(inflate_pool));
}

}  // namespace unecho::capture
