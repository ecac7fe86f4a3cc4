// SPDX-License-Identifier: BSD-3-Clause
#include "capture/gunzip.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

namespace unecho::capture {
namespace {

class Gunzip final : public ByteStream {
  public:
    Gunzip(std::unique_ptr<ByteStream> stream, std::span<const std::uint8_t> taken,
           std::size_t piece, std::shared_ptr<Inflaters> inflaters)
        : stream_(std::move(stream)),
          piece_bytes_(std::max(packed_piece(piece), taken.size())),
          counted_(inflaters != nullptr),
          buffers_(piece_bytes_ + 1),
          ahead_(inflaters ? std::move(inflaters) : std::make_shared<Inflaters>(0), piece_bytes_),
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
        return ahead_.gives() ? member_ : inflater_->position();
    }
    [[nodiscard]] std::uint64_t size() const override { return stream_->size(); }

    std::optional<Trouble> trouble() override;
    [[nodiscard]] bool ended_early() const override {
        return !ahead_.gives() && inflater_->ended_early();
    }
    [[nodiscard]] bool is_compressed() const override { return true; }
    [[nodiscard]] std::optional<std::uint64_t> member() const override {
        const bool known = !ahead_.gives() && inflater_->ended_between();
        return known || member_ == begins_ ? std::nullopt : std::optional(member_);
    }
    [[nodiscard]] std::uint64_t memory() const override {
        return sizeof(*this) + sizeof(Inflater) + piece_bytes_ +
               (counted_ ? PackedAhead::memory(piece_bytes_) : 0);
    }

  private:
    // How much was given of what a run has, or of what is inflated here.
    std::size_t give_ahead(std::span<std::byte> to);
    std::size_t give_here(std::span<std::byte> to, Inflater::Stop& stop);
    // False: there is none that was read.
    bool take_piece();
    void look_ahead();
    void read_piece();
    void put(const std::shared_ptr<Bytes>& bytes, std::size_t size);

    std::unique_ptr<ByteStream> stream_;
    std::size_t piece_bytes_;
    bool counted_;
    Buffers buffers_;
    PackedAhead ahead_;
    std::uint64_t begins_;
    std::uint64_t read_;  // up to there in the stream
    std::uint64_t next_;  // where the piece begins that the inflater is to have next
    std::byte last_{};    // that was read
    bool input_ended_ = false;
    std::optional<Error> error_;  // behind what was read
    bool many_ = false;           // a member has ended

    PackedPiece piece_;  // that the inflater is at
    std::unique_ptr<Inflater> inflater_ = std::make_unique<Inflater>();
    std::uint64_t member_;       // that the last byte given is of
    std::size_t checksums_ = 0;  // wrong ones in front of what was given last
};

Result<std::size_t> Gunzip::read(std::span<std::byte> to) {
    using Stop = Inflater::Stop;
    look_ahead();
    std::size_t given = 0;
    while (given < to.size()) {
        if (!ahead_.gives() && inflater_->is_between()) {
            ahead_.meet(inflater_->position());
        }
        if (ahead_.gives()) {
            given += give_ahead(to.subspan(given));
            continue;
        }
        Stop stop = Stop::kRoom;
        given += give_here(to.subspan(given), stop);
        many_ = many_ || stop == Stop::kBorder;
        if (stop == Stop::kEnd || (stop == Stop::kChecksum && given != 0)) {
            break;
        }
        if (stop == Stop::kChecksum) {
            checksums_ += inflater_->trouble() ? 1 : 0;
        }
        if (stop != Stop::kInput || take_piece()) {
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
                piece_ = {};  // to be read into again
            }
            read_piece();
        }
    }
    return given;
}

std::size_t Gunzip::give_ahead(std::span<std::byte> to) {
    const std::size_t given = ahead_.give(to);
    if (given != 0) {
        member_ = ahead_.member();
        return given;
    }
    PackedAhead::Taken taken = ahead_.take_over();
    many_ = true;
    if (taken.inflater) {  // else there was no memory for it, and the reader's own is still there
        inflater_ = std::move(taken.inflater);
        piece_ = std::move(taken.piece);
        next_ = piece_.end();
    }
    return 0;
}

std::size_t Gunzip::give_here(std::span<std::byte> to, Inflater::Stop& stop) {
    inflater_->put_into(to);
    stop = inflater_->run(input_ended_ && next_ == read_);
    const std::size_t given = inflater_->given();
    member_ = given != 0 ? inflater_->member() : member_;
    return given;
}

// What ends it stands behind all that is given.
std::optional<ByteStream::Trouble> Gunzip::trouble() {
    if (checksums_ != 0) {
        --checksums_;
        Trouble trouble = Inflater::wrong_checksum();
        trouble.in_front = true;
        return trouble;
    }
    return ahead_.gives() ? std::nullopt : inflater_->trouble();
}

bool Gunzip::take_piece() {
    const std::optional<PackedPiece> found = ahead_.piece_at(next_);
    if (!found) {
        return false;
    }
    piece_ = *found;
    inflater_->take(piece_.from(inflater_->left()), piece_.end());
    next_ = piece_.end();
    return true;
}

// As much as there is without waiting. Of what has one member only the next piece.
void Gunzip::look_ahead() {
    constexpr std::size_t kFew = 2;
    if (!ahead_.has_threads()) {
        return;
    }
    if (!ahead_.gives()) {
        ahead_.passed(inflater_->position());
    }
    const std::size_t most = many_ ? PackedAhead::kMostPieces : kFew;
    while (!input_ended_ && !error_ && ahead_.pieces() < most && stream_->ready()) {
        read_piece();
    }
}

void Gunzip::read_piece() {
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

void Gunzip::put(const std::shared_ptr<Bytes>& bytes, std::size_t size) {
    bytes->front() = last_;
    last_ = (*bytes)[size];
    ahead_.put({bytes, read_, size});
    read_ += size;
}

}  // namespace

std::unique_ptr<ByteStream> gunzip(std::unique_ptr<ByteStream> stream,
                                   std::span<const std::uint8_t> taken, std::size_t piece,
                                   std::shared_ptr<Inflaters> inflaters) {
    return std::make_unique<Gunzip>(std::move(stream), taken, piece, std::move(inflaters));
}

}  // namespace unecho::capture
