// SPDX-License-Identifier: BSD-3-Clause
#include "captures/output/buffered_output.h"

#include <string>
#include <utility>

#include "base/units.h"

namespace unecho::capture {

Result<BufferedOutput> BufferedOutput::create(const std::string& path,
                                              const OutputOptions& options) {
    auto sink = create_text(path, options);
    if (sink && sink->output_->is_terminal()) {
        return fail(Errc::kInvalidArgument,
                    sink->output_->name() + ": is a terminal; a capture goes to a file or a pipe");
    }
    return sink;
}

Result<BufferedOutput> BufferedOutput::create_text(const std::string& path,
                                                   const OutputOptions& options) {
    const auto compression = compression_from_name(path);
    UNECHO_TRY(compression);
    auto output = Output::create(path, options);
    UNECHO_TRY(output);
    return BufferedOutput(std::move(*output), *compression, options.live);
}

BufferedOutput::BufferedOutput(std::unique_ptr<Output> output, Compression compression, bool live)
    : output_(std::move(output)),
      compression_(compression),
      compressor_(make_compressor(compression)),
      live_(live && output_->can_truncate()),
      buffer_(new std::byte[kBuffer]) {}

bool BufferedOutput::keep(const Status& status) {
    if (!status && !error_) {
        error_ = status.error();
        if (live_) {
            truncate_to_boundary();
        }
    }
    return !error_;
}

// Note that so many bytes of the buffer are in the output.
void BufferedOutput::note_sent(std::uint64_t sent) {
    for (const PacketBoundary& end : ends_) {
        if (end.at > sent) {
            break;
        }
        safe_ = {sent_from_ + end.at, end.packets};
    }
    ends_.clear();
}

void BufferedOutput::truncate_to_boundary() {
    note_sent(output_->taken() - sent_from_);
    const Status truncate = output_->truncate(output_->taken() - safe_.at);
    error_->context += !truncate ? "; its last packet may be cut off"
                       : safe_.packets != 0
                           ? "; the " + format_count(safe_.packets) + " packets in it are whole"
                           : "";
}

bool BufferedOutput::send(std::span<const std::byte> bytes) {
    flushed_ += bytes.size();
    return keep(compressor_ != nullptr ? compressor_->write(bytes, *output_)
                                       : output_->write(bytes));
}

bool BufferedOutput::flush() {
    const std::size_t used = std::exchange(used_, 0);
    sent_from_ = output_->taken();
    const bool sent = !error_ && (used == 0 || send({buffer_.get(), used}));
    if (sent && compressor_ == nullptr) {
        output_->count_packets(packets_);
        note_sent(used);
    }
    return sent;
}

bool BufferedOutput::make_room(std::size_t bytes) {
    return flush() && bytes <= kBuffer;
}

Status BufferedOutput::put(std::span<const std::byte> bytes) {
    if (std::byte* to = room(bytes.size()); to != nullptr) {
        if (!bytes.empty()) {
            std::memcpy(to, bytes.data(), bytes.size());
        }
        commit(bytes.size());
    } else if (!error_) {
        send(bytes);
    }
    return status();
}

Status BufferedOutput::flush_for_reader() {
    if (compressor_ == nullptr && output_->is_stream()) {
        flush();
    }
    if (!live_ || error_) {
        return status();
    }
    if (compressor_ == nullptr) {
        whole();
    }
    const auto now = std::chrono::steady_clock::now();
    if (now - passed_on_ >= kFlushInterval ||
        (compressor_ != nullptr && bytes() - framed_ >= kFrameBytes)) {
        passed_on_ = now;
        if (flush() && compressor_ != nullptr) {
            end_frame();
        }
    }
    return status();
}

// Frames one behind the other are a valid compressed file.
bool BufferedOutput::end_frame() {
    if (flushed_ == framed_ && framed_ != 0) {
        return true;
    }
    framed_ = flushed_;
    if (keep(compressor_->finish(*output_)) && live_) {
        compressor_ = make_compressor(compression_);
        safe_ = {output_->taken(), packets_};
    }
    return !error_;
}

Status BufferedOutput::overwrite(std::uint64_t offset, std::span<const std::byte> bytes) {
    if (flush()) {
        keep(output_->overwrite(offset, bytes));
    }
    return status();
}

Status BufferedOutput::close() {
    if (flush() && compressor_ != nullptr) {
        end_frame();
    }
    if (!error_) {
        keep(output_->close());
    }
    return status();
}

}  // namespace unecho::capture
