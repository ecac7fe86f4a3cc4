// SPDX-License-Identifier: BSD-3-Clause
#include "capture/sink.h"

#include <utility>

namespace unecho::capture {

Result<Sink> Sink::create(const std::string& path) {
    const auto compression = compression_named(path);
    if (!compression) {
        return tl::unexpected(compression.error());
    }
    auto output = Output::create(path);
    if (!output) {
        return tl::unexpected(output.error());
    }
    if ((*output)->is_terminal()) {
        return fail(Errc::kInvalidArgument,
                    (*output)->name() + ": is a terminal; a capture goes to a file or a pipe");
    }
    return Sink(std::move(*output), make_compressor(*compression));
}

Sink::Sink(std::unique_ptr<Output> output, std::unique_ptr<Compressor> compressor)
    : output_(std::move(output)),
      compressor_(std::move(compressor)),
      buffer_(new std::byte[kBuffer]) {}

bool Sink::keep(const Status& status) {
    if (!status && !error_) {
        error_ = status.error();
    }
    return !error_;
}

bool Sink::send(std::span<const std::byte> bytes) {
    flushed_ += bytes.size();
    return keep(compressor_ != nullptr ? compressor_->write(bytes, *output_)
                                       : output_->write(bytes));
}

bool Sink::flush() {
    const std::size_t used = std::exchange(used_, 0);
    const bool sent = !error_ && (used == 0 || send({buffer_.get(), used}));
    if (sent && compressor_ == nullptr) {
        output_->count_packets(packets_);
    }
    return sent;
}

bool Sink::make_room(std::size_t bytes) {
    return flush() && bytes <= kBuffer;
}

Status Sink::put(std::span<const std::byte> bytes) {
    if (std::byte* to = room(bytes.size()); to != nullptr) {
        if (!bytes.empty()) {
            std::memcpy(to, bytes.data(), bytes.size());
        }
        took(bytes.size());
    } else if (!error_) {
        send(bytes);
    }
    return status();
}

Status Sink::pass_on() {
    if (compressor_ == nullptr && output_->is_stream()) {
        flush();
    }
    return status();
}

Status Sink::overwrite(std::uint64_t offset, std::span<const std::byte> bytes) {
    if (flush()) {
        keep(output_->overwrite(offset, bytes));
    }
    return status();
}

Status Sink::close() {
    if (flush() && compressor_ != nullptr) {
        keep(compressor_->finish(*output_));
    }
    if (!error_) {
        keep(output_->close());
    }
    return status();
}

}  // namespace unecho::capture
