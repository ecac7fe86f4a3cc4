// SPDX-License-Identifier: BSD-3-Clause
// The files that a run writes: kept packets, echoes, and pairs of echo and original.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "captures/dedup/batch_reader.h"
#include "captures/dedup/deduplicator.h"
#include "captures/dedup/file_options.h"
#include "captures/dedup/results/echo_comments.h"
#include "captures/dedup/results/echo_pairs.h"
#include "captures/interface_list.h"
#include "captures/output/writer.h"

namespace unecho::dedup {

class OutputSet {
  public:
    // otherwise: the format if neither an option nor the name states it. Errc::kConfig: comments
    // cannot be written as requested. Other errors are those of capture::create_capture().
    static Result<OutputSet> create(const FileOptions& files, capture::FileFormat otherwise);

    // Send what the format says of the interfaces, before packets that are waited for.
    Status begin(const capture::InterfaceView& interfaces);

    // Write a batch. Inverts the verdicts, to write the echoes.
    Status write(const DigestedBatch& digested, Verdicts& verdicts);
    // interfaces: all of the source.
    Status close(const capture::InterfaceView& interfaces);
    // Replace close() after an error, for live outputs: write what can still be written.
    void close_partial_outputs();
    [[nodiscard]] bool wants_pairs() const { return pairs_ != nullptr || mark_; }
    // Return true if any output, or the one whose warnings are reported, keeps a pcapng's blocks.
    [[nodiscard]] bool any_keeps_blocks() const {
        return keeps_blocks(kept_) || keeps_blocks(dropped_);
    }
    [[nodiscard]] bool main_keeps_blocks() const {
        return kept_ ? keeps_blocks(kept_) : keeps_blocks(dropped_);
    }
    [[nodiscard]] std::vector<capture::Warning> warnings() const;
    // Bytes on the wire: of all packets, and of the echoes.
    [[nodiscard]] std::uint64_t wire() const { return wire_; }
    [[nodiscard]] std::uint64_t dropped_wire() const { return dropped_wire_; }
    // State of a rotated output: all files complete, and packets behind the last one.
    [[nodiscard]] const capture::RotationResult& rotation_end() const { return *rotation_end_; }
    // Absent: the output is not split, or nothing was written.
    [[nodiscard]] std::optional<SplitFiles> split_files() const {
        return split_files_->count != 0 ? std::optional(*split_files_) : std::nullopt;
    }

  private:
    void count(const std::vector<capture::Record>& records, const Verdicts& verdicts);
    static bool keeps_blocks(const std::unique_ptr<capture::Writer>& writer) {
        return writer != nullptr && writer->keeps_blocks();
    }

    std::unique_ptr<capture::Writer> kept_;
    std::unique_ptr<capture::Writer> dropped_;
    std::unique_ptr<EchoPairFile> pairs_;
    std::shared_ptr<SplitFiles> split_files_ = std::make_shared<SplitFiles>();
    std::shared_ptr<capture::RotationResult> rotation_end_ =
        std::make_shared<capture::RotationResult>();
    bool mark_ = false;
    std::vector<std::string> inputs_;  // for comments
    PacketNumberMap numbers_{{.runs = kMaxNumberedBlocks}};
    std::uint64_t packets_ = 0;  // before the next batch
    std::uint64_t wire_ = 0;
    std::uint64_t dropped_wire_ = 0;
};

}  // namespace unecho::dedup
