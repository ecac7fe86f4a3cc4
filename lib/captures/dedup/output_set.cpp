// SPDX-License-Identifier: BSD-3-Clause
#include "captures/dedup/output_set.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include "base/option_names.h"
#include "base/os/clock.h"
#include "captures/dedup/check_files.h"
#include "captures/output/split_writer.h"

namespace unecho::dedup {
namespace {

Result<std::unique_ptr<capture::Writer>> create_output(
    const FileOptions& files, capture::FileFormat otherwise,
    const std::shared_ptr<SplitFiles>& split_files,
    const std::shared_ptr<capture::RotationResult>& rotation_end) {
    if (!files.output) {
        return std::unique_ptr<capture::Writer>();
    }
    const auto named = capture::format_from_name(*files.output);
    const capture::FileFormat format =
        files.format.value_or(named ? named->value_or(otherwise) : otherwise);
    const bool whole = files.split.none() && files.rotation.none();
    // Names of a rotated output do not state a format.
    const auto open = [files, otherwise,
                       format = whole ? files.format : format](const std::string& path) {
        return capture::create_capture(path, format, otherwise, files.output_options());
    };
    if (whole) {
        return open(*files.output);
    }
    const auto open_one = [files, open, split_files](
                              const std::string& path) -> Result<std::unique_ptr<capture::Writer>> {
        split_files->first = split_files->count++ == 0 ? path : split_files->first;
        split_files->last = path;
        const Status good = check_split_file(files, path);
        return good ? open(path) : tl::unexpected(good.error());
    };
    const bool keeps_blocks = format == capture::FileFormat::kPcapng;
    if (!files.rotation.none()) {
        return capture::make_rotating_writer(*files.output, files.rotation, open_one, keeps_blocks,
                                             unix_now(), rotation_end);
    }
    return capture::make_split_writer(*files.output, files.split, open_one, keeps_blocks);
}

// Leave out what other shards decide and write.
void keep_mine(std::vector<std::uint64_t>& words, const Verdicts& verdicts) {
    for (std::size_t i = 0; i < std::min(words.size(), verdicts.mine.size()); ++i) {
        words[i] &= verdicts.mine[i];
    }
}

}  // namespace

Result<OutputSet> OutputSet::create(const FileOptions& files, capture::FileFormat otherwise) {
    OutputSet out;
    auto kept = create_output(files, otherwise, out.split_files_, out.rotation_end_);
    UNECHO_TRY(kept);
    out.kept_ = std::move(*kept);
    if (files.dropped) {
        auto dropped = capture::create_capture(*files.dropped, files.format, otherwise,
                                               files.output_options());
        UNECHO_TRY(dropped);
        out.dropped_ = std::move(*dropped);
    }
    out.mark_ = files.mark;
    out.inputs_ = files.inputs;
    if (files.mark && !files.selection.all()) {
        return fail(
            Errc::kConfig,
            fmt::format(
                "{}: names packets by their numbers in the input; not together with {}, {} and {}",
                option::kMark, option::kStart, option::kStop, option::kFilter));
    }
    if (files.mark && !out.main_keeps_blocks()) {
        return fail(Errc::kConfig, fmt::format("{}: writes comments, which only a pcapng holds; "
                                               "name the output .pcapng, or add {} pcapng",
                                               option::kMark, option::kFormat));
    }
    if (files.pairs) {
        auto pairs = EchoPairFile::create(*files.pairs, files.inputs, files.output_options());
        UNECHO_TRY(pairs);
        out.pairs_ = std::move(*pairs);
    }
    return out;
}

void OutputSet::count(const std::vector<capture::Record>& records, const Verdicts& verdicts) {
    for (std::size_t i = 0; i < records.size(); ++i) {
        if (!verdicts.mine.empty() && (verdicts.mine[i / 64] >> i % 64 & 1) == 0) {
            continue;
        }
        const std::uint64_t length = records[i].wire_length;
        wire_ += length;
        dropped_wire_ += (verdicts.keep[i / 64] >> i % 64 & 1) != 0 ? 0 : length;
    }
}

Status OutputSet::write(const DigestedBatch& digested, Verdicts& verdicts) {
    count(digested.batch.records, verdicts);
    Status status;
    // If one output fails, the others still get the batch.
    const auto wrote = [&](const Status& one) { status = status ? one : status; };
    if (pairs_) {
        wrote(pairs_->write(verdicts.pairs));
    }
    std::vector<capture::Comment> marks;
    if (mark_) {
        count_numbered_blocks(digested.batch.blocks, packets_ + 1, numbers_);
        marks = echo_comments(verdicts.pairs, inputs_, numbers_);
    }
    packets_ += digested.batch.records.size();
    const capture::BatchExtras beside{digested.batch.blocks, marks};
    if (kept_) {
        std::vector<std::uint64_t> kept(mark_ ? verdicts.keep.size() : 0, ~std::uint64_t{0});
        if (!mark_ && !verdicts.mine.empty()) {
            kept = verdicts.keep;
        }
        keep_mine(kept, verdicts);
        wrote(kept_->write(digested.batch.records, kept.empty() ? verdicts.keep : kept,
                           digested.interfaces, beside));
    }
    if (dropped_) {
        for (std::uint64_t& word : verdicts.keep) {
            word = ~word;
        }
        const std::size_t rest = digested.batch.records.size() % 64;
        if (rest != 0) {
            verdicts.keep.back() &= (std::uint64_t{1} << rest) - 1;
        }
        keep_mine(verdicts.keep, verdicts);
        wrote(dropped_->write(digested.batch.records, verdicts.keep, digested.interfaces, beside));
    }
    return status;
}

Status OutputSet::begin(const capture::InterfaceView& interfaces) {
    for (const auto& writer : {kept_.get(), dropped_.get()}) {
        if (writer != nullptr) {
            UNECHO_TRY(writer->begin(interfaces));
        }
    }
    return {};
}

void OutputSet::close_partial_outputs() {
    for (const auto& writer : {kept_.get(), dropped_.get()}) {
        if (writer != nullptr) {
            std::ignore = writer->close();
        }
    }
    if (pairs_) {
        std::ignore = pairs_->close();
    }
}

Status OutputSet::close(const capture::InterfaceView& interfaces) {
    for (const auto& writer : {kept_.get(), dropped_.get()}) {
        if (writer != nullptr) {
            UNECHO_TRY(writer->write({}, {}, interfaces));
        }
    }
    for (const auto& writer : {kept_.get(), dropped_.get()}) {
        if (writer != nullptr) {
            UNECHO_TRY(writer->close());
        }
    }
    return pairs_ ? pairs_->close() : Status();
}

std::vector<capture::Warning> OutputSet::warnings() const {
    const capture::Writer* const one = kept_ ? kept_.get() : dropped_.get();
    return one != nullptr ? one->warnings() : std::vector<capture::Warning>();
}

}  // namespace unecho::dedup
