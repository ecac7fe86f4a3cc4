// SPDX-License-Identifier: BSD-3-Clause
#include "captures/compare/missing.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <tuple>

#include <fmt/core.h>

#include "base/option_names.h"
#include "base/utf8.h"
#include "captures/open_captures.h"
#include "captures/output/writer.h"
#include "captures/standard_streams.h"

namespace unecho::compare {
namespace {

struct Lost {
    std::size_t input;
    std::uint64_t number;
    std::size_t at;

    bool operator<(const Lost& other) const {
        return std::tie(input, number) < std::tie(other.input, other.number);
    }
};

class LostPackets {
  public:
    LostPackets(const LookStore& looks, const std::vector<MissingLook>& missing) {
        for (const MissingLook& one : missing) {
            lost_.push_back({one.look / looks.most_of_each(), looks[one.look].number, one.at});
        }
        std::sort(lost_.begin(), lost_.end());
    }

    [[nodiscard]] const Lost* find(std::size_t input, std::uint64_t number) const {
        const Lost sought{input, number, 0};
        const auto found = std::lower_bound(lost_.begin(), lost_.end(), sought);
        return found != lost_.end() && !(sought < *found) ? &*found : nullptr;
    }

  private:
    std::vector<Lost> lost_;  // sorted
};

Result<std::unique_ptr<capture::Source>> open_all(const Options& options) {
    return capture::open_captures(options.inputs, kNoEpochs, nullptr, options.recover);
}

}  // namespace

Status check_rereadable(const std::vector<std::string>& inputs) {
    for (const std::string& path : inputs) {
        std::error_code code;
        if (path == capture::kStandardStream || (std::filesystem::exists(path, code) &&
                                                 !std::filesystem::is_regular_file(path, code))) {
            return fail(Errc::kConfig,
                        fmt::format("{}: reads the inputs twice, and {} can be read only once",
                                    option::kMissing, escaped(path)));
        }
    }
    return {};
}

Result<MissingFile> MissingFile::create(const Options& options) {
    UNECHO_TRY(check_rereadable(options.inputs));
    const auto source = open_all(options);
    UNECHO_TRY(source);
    auto out = capture::create_capture(*options.missing, std::nullopt, (*source)->format());
    UNECHO_TRY(out);
    return MissingFile(options, std::move(*out));
}

Status MissingFile::write(const LookStore& looks, const std::vector<MissingLook>& missing,
                          const std::vector<Point>& points) {
    const LostPackets lost(looks, missing);
    const auto source = open_all(*options_);
    UNECHO_TRY(source);
    if (out_->keeps_blocks()) {
        (*source)->keep_blocks(false);
    }
    capture::Batch batch;
    for (;;) {
        const Result<bool> more = (*source)->next(batch);
        UNECHO_TRY(more);
        if (!*more) {
            return out_->close();
        }
        const capture::InterfaceView interfaces = (*source)->interfaces();
        std::vector<std::uint64_t> keep((batch.records.size() + 63) / 64);
        std::vector<capture::Comment> comments;
        for (std::size_t i = 0; i < batch.records.size(); ++i) {
            const capture::Record& record = batch.records[i];
            if (const Lost* const one =
                    lost.find(interfaces[record.interface].file, record.number)) {
                keep[i / 64] |= std::uint64_t{1} << i % 64;
                comments.push_back(
                    {.record = i, .text = "missing at " + escaped(points[one->at].name)});
            }
        }
        UNECHO_TRY(out_->write(batch.records, keep, interfaces, {batch.blocks, comments}));
    }
}

}  // namespace unecho::compare
