// SPDX-License-Identifier: BSD-3-Clause
#include "captures/selected_source.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "captures/bpf.h"
#include "captures/link_types.h"

namespace unecho::capture {
namespace {

class SelectedSource final : public Source {
  public:
    SelectedSource(std::unique_ptr<Source> source, Selection selection,
                   std::shared_ptr<std::uint64_t> left_out)
        : source_(std::move(source)),
          selection_(std::move(selection)),
          left_out_(std::move(left_out)) {}

    // Compile the expression for the interfaces known by now.
    Status compile();
    Status compile_for(std::uint16_t link_type);

    Result<bool> next(Batch& batch) override;

    void keep_blocks(bool nothing_lost) override {
        source_->keep_blocks(nothing_lost);
        keep_blocks_ = true;
    }
    [[nodiscard]] InterfaceView interfaces() const override { return source_->interfaces(); }
    [[nodiscard]] FileFormat format() const override { return source_->format(); }
    [[nodiscard]] Progress progress() const override { return source_->progress(); }
    [[nodiscard]] std::vector<Warning> warnings() const override { return source_->warnings(); }
    [[nodiscard]] std::vector<Warning> losses() const override { return source_->losses(); }

  private:
    [[nodiscard]] bool wanted(const Record& record) const {
        return record.time >= selection_.start.value_or(0) &&
               (!selection_.stop || record.time < *selection_.stop) &&
               (!selection_.filter || programs_[record.interface]->matches(record));
    }

    void keep_wanted(Batch& batch);

    std::uint64_t place_ = 0;  // number of the source's last record
    std::unique_ptr<Source> source_;
    Selection selection_;
    std::shared_ptr<std::uint64_t> left_out_;
    std::map<std::uint16_t, Bpf> compiled_;  // by link type
    std::vector<const Bpf*> programs_;       // by interface
    bool keep_blocks_ = false;
    bool gap_ = false;  // packets were left out, and no block marks that yet
};

Status SelectedSource::compile_for(std::uint16_t link_type) {
    if (compiled_.contains(link_type)) {
        return {};
    }
    auto program = Bpf::compile(*selection_.filter, link_type);
    UNECHO_TRY(program);
    compiled_.emplace(link_type, *std::move(program));
    return {};
}

Status SelectedSource::compile() {
    if (!selection_.filter) {
        return {};
    }
    const InterfaceView known = source_->interfaces();
    for (std::size_t i = programs_.size(); i < known.size(); ++i) {
        UNECHO_TRY(compile_for(known[i].link_type));
        programs_.push_back(&compiled_.at(known[i].link_type));
    }
    return {};
}

void SelectedSource::keep_wanted(Batch& batch) {
    std::vector<Block> blocks;
    std::size_t kept = 0;
    batch.source_numbers.clear();
    const auto put_gap = [&] {
        if (std::exchange(gap_, false)) {
            blocks.push_back({.before = static_cast<std::uint32_t>(kept), .gap = true});
        }
    };
    auto block = batch.blocks.begin();
    const auto move_blocks = [&](std::size_t before) {
        for (; block != batch.blocks.end() && block->before <= before; ++block) {
            put_gap();
            block->before = static_cast<std::uint32_t>(kept);
            blocks.push_back(*block);
        }
    };
    for (std::size_t i = 0; i < batch.records.size(); ++i) {
        move_blocks(i);
        ++place_;
        if (wanted(batch.records[i])) {
            put_gap();
            batch.records[kept++] = batch.records[i];
            batch.source_numbers.push_back(place_);
        } else {
            ++*left_out_;
            gap_ = keep_blocks_;
        }
    }
    move_blocks(batch.records.size());
    batch.records.resize(kept);
    batch.blocks = std::move(blocks);
}

Result<bool> SelectedSource::next(Batch& batch) {
    for (;;) {
        const Result<bool> more = source_->next(batch);
        if (more && !*more && std::exchange(gap_, false)) {
            batch.blocks.push_back({.gap = true});
            return true;
        }
        if (!more || !*more) {
            return more;
        }
        if (const Status compiled = compile(); !compiled) {
            batch.clear();
            return tl::unexpected(compiled.error());
        }
        keep_wanted(batch);
        if (!batch.empty()) {
            return true;
        }
    }
}

}  // namespace

Result<std::unique_ptr<Source>> select(std::unique_ptr<Source> source, const Selection& selection,
                                       std::shared_ptr<std::uint64_t> left_out) {
    const bool unknown = source->interfaces().empty();
    auto out = std::make_unique<SelectedSource>(std::move(source), selection, std::move(left_out));
    Status compiled = out->compile();
    if (compiled && unknown && selection.filter) {  // report a wrong expression early
        compiled = out->compile_for(kEthernetLink);
    }
    UNECHO_TRY(compiled);
    return out;
}

}  // namespace unecho::capture
