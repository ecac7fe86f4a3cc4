// SPDX-License-Identifier: BSD-3-Clause
#include "captures/merged_source.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "captures/formats/pcapng_blocks.h"

namespace unecho::capture {
namespace {

// Of batches that a batch has used up. What else it holds is that of batches in use: so what is on
// its way to other threads takes little memory, however many inputs there are.
constexpr std::size_t kMaxUsedUp = std::size_t{1} << 20U;
// Looking ahead ends there: where blocks are kept, batches may hold no records.
constexpr std::size_t kMaxAhead = 64;

struct InputState {
    std::unique_ptr<Source> source;  // null: closed, before its time or behind its end
    Batch batch;
    std::size_t next = 0;                   // record of the batch
    std::size_t next_block = 0;             // of the batch
    std::vector<std::uint32_t> interfaces;  // their numbers among all
    std::uint64_t held_by = 0;  // number of the batch that holds the memory of this one's
    bool waits = false;         // closed until its time comes
    MergeClock clock;
    std::optional<Nanoseconds> due;  // of the first record, as it was looked at
    std::vector<Batch> ahead;        // read to see whether time comes back
    std::uint64_t ahead_bytes = 0;   // of the allowance
    bool ended = false;              // nothing more is read
    std::optional<Error> why;        // it failed
    std::string name;
    std::function<Result<std::unique_ptr<Source>>()> open;
    Source::Progress progress;
    std::vector<Warning> warnings;  // of a closed one
    std::vector<Warning> losses;

    // Of the i-th record behind the next one, as far as it was read.
    [[nodiscard]] std::optional<Nanoseconds> time_ahead(std::size_t i) const {
        i += next;
        if (i < batch.records.size()) {
            return batch.records[i].time;
        }
        i -= batch.records.size();
        for (const Batch& more : ahead) {
            if (i < more.records.size()) {
                return more.records[i].time;
            }
            i -= more.records.size();
        }
        return std::nullopt;
    }
};

class MergedSource final : public Source {
  public:
    MergedSource(std::vector<MergeInput> inputs, Nanoseconds jump,
                 std::shared_ptr<MemoryBudget> budget);

    Result<bool> next(Batch& batch) override;

    void keep_blocks(bool nothing_lost) override {
        keep_blocks_ = true;
        nothing_lost_ = nothing_lost;
        for (InputState& input : inputs_) {
            if (input.source) {
                input.source->keep_blocks(nothing_lost);
            }
        }
    }
    [[nodiscard]] InterfaceView interfaces() const override { return interfaces_.view(); }
    [[nodiscard]] FileFormat format() const override { return format_; }
    [[nodiscard]] Progress progress() const override { return progress_; }
    [[nodiscard]] std::vector<Warning> warnings() const override;
    [[nodiscard]] std::vector<Warning> losses() const override;

  private:
    // list: of an open source, or else of a closed one's input.
    template <typename OfOpen, typename OfClosed>
    [[nodiscard]] std::vector<Warning> collect_warnings(OfOpen of_open, OfClosed of_closed) const {
        std::vector<Warning> out;
        for (std::uint32_t i = 0; i < inputs_.size(); ++i) {
            const InputState& input = inputs_[i];
            for (Warning& warning : input.source ? of_open(*input.source) : of_closed(input)) {
                warning.file = i;
                out.push_back(std::move(warning));
            }
        }
        return out;
    }

    // Reads the first batch of each input, closes those that can be opened again.
    void begin(Batch& batch);
    // An input that can be opened again: when it is due. It is open only if its blocks are wanted
    // and it has no packets. False: nothing of it is to come.
    bool peek_due_time(std::uint32_t index);
    bool reopen(std::uint32_t index);
    // Until this time: forgets what was looked at.
    void close_until(std::uint32_t index, Nanoseconds time);
    // Behind its end.
    void close(std::uint32_t index);
    // Inputs without a batch get their next one, until so much is used up that a batch is given.
    void refill_empty(Batch& batch);
    // A batch with records is due with the first; blocks of one without any are moved at once.
    void enqueue(std::uint32_t index, Batch& batch);
    // The next batch of an input that has none; false at its end.
    bool refill(std::uint32_t index);
    // Reads a batch of an input; false: it has ended or failed.
    bool read(std::uint32_t index, Batch& batch);
    // When its next record is due. Looks no further ahead than memory allows.
    Nanoseconds due(std::uint32_t index);
    bool read_ahead(std::uint32_t index);
    void forget_ahead(InputState& input);
    void number_interfaces(std::uint32_t index, const InterfaceView& known);
    // Whether an input that was opened again describes the interfaces that it did.
    [[nodiscard]] bool has_same_interfaces(std::uint32_t index) const;
    // Until an input has to be opened or refilled, or the batch is full.
    void move_records(Batch& batch);
    // Blocks of an input that stand before its next record.
    void move_blocks(std::uint32_t index, Batch& batch);
    // The header of the first section of all comes before anything else: a copy of it.
    void keep_header(const Batch& batch, std::uint32_t index);
    void hold_memory(InputState& input, Batch& batch) const;

    std::vector<InputState> inputs_;
    std::vector<MergeHead> heads_;      // the order's memory
    MergeHeap order_{heads_};           // of inputs with a next record
    std::vector<std::uint32_t> empty_;  // inputs to be refilled
    InterfaceList interfaces_;
    Batch header_;
    std::shared_ptr<MemoryBudget> budget_;
    FileFormat format_ = FileFormat::kPcap;
    Progress progress_;
    std::uint64_t batches_ = 0;
    std::size_t used_up_ = 0;  // bytes
    bool keep_blocks_ = false;
    bool nothing_lost_ = false;
    bool begun_ = false;
    std::optional<Error> error_;
};

MergedSource::MergedSource(std::vector<MergeInput> inputs, Nanoseconds jump,
                           std::shared_ptr<MemoryBudget> budget)
    : inputs_(inputs.size()), heads_(inputs.size()), budget_(std::move(budget)) {
    bool all_known = true;
    for (std::uint32_t i = 0; i < inputs.size(); ++i) {
        MergeInput& given = inputs[i];
        InputState& input = inputs_[i];
        input.name = std::move(given.name);
        input.open = std::move(given.open);
        input.clock = MergeClock(jump);
        input.progress.total = given.size;
        InterfaceView known = given.interfaces;
        FileFormat format = given.format;
        if (given.source) {
            input.source = std::move(given.source);
            input.progress = input.source->progress();
            known = input.source->interfaces();
            format = input.source->format();
        }
        format_ = i == 0 ? format : format_;
        progress_.done += input.progress.done;
        progress_.total += input.progress.total;
        all_known = all_known && input.progress.total != 0;
        number_interfaces(i, known);
    }
    progress_.total = all_known ? progress_.total : 0;
}

Result<bool> MergedSource::next(Batch& batch) {
    batch.clear();
    batch.records.reserve(kMaxBatch);
    used_up_ = 0;
    ++batches_;
    if (!std::exchange(begun_, true)) {
        begin(batch);
    }
    while (batch.records.size() < kMaxBatch) {
        refill_empty(batch);
        if (!empty_.empty() && !error_) {
            return true;
        }
        if (order_.empty()) {
            break;
        }
        move_records(batch);
    }
    if (batch.empty() && error_) {
        empty_.clear();
        return tl::unexpected(*std::exchange(error_, std::nullopt));
    }
    return !batch.empty();
}

void MergedSource::begin(Batch& batch) {
    std::vector<std::uint32_t> read;
    for (std::uint32_t i = 0; i < inputs_.size() && !error_; ++i) {
        if (inputs_[i].open ? peek_due_time(i) : refill(i)) {
            keep_header(inputs_[i].batch, i);
            read.push_back(i);
        }
    }
    batch.blocks.swap(header_.blocks);
    batch.memory.swap(header_.memory);
    for (const std::uint32_t index : read) {
        enqueue(index, batch);
    }
    std::reverse(empty_.begin(), empty_.end());  // the last is refilled first
}

bool MergedSource::peek_due_time(std::uint32_t index) {
    InputState& input = inputs_[index];
    bool blocks = false;
    if (!input.source && !reopen(index)) {
        return false;
    }
    while (refill(index)) {
        keep_header(input.batch, index);
        blocks = blocks || !input.batch.blocks.empty();
        if (!input.batch.records.empty()) {
            close_until(index, due(index));
            return false;
        }
    }
    return !error_ && blocks && reopen(index) && refill(index);
}

bool MergedSource::reopen(std::uint32_t index) {
    InputState& input = inputs_[index];
    auto source = input.open();
    if (!source) {
        error_ = source.error();
        return false;
    }
    input.source = *std::move(source);
    input.ended = false;
    progress_.done -= std::exchange(input.progress.done, 0);
    if (keep_blocks_) {
        input.source->keep_blocks(nothing_lost_);
    }
    return true;
}

void MergedSource::close_until(std::uint32_t index, Nanoseconds time) {
    InputState& input = inputs_[index];
    input.source.reset();
    input.batch = {};
    input.ahead = {};
    forget_ahead(input);
    input.ended = false;
    input.why.reset();
    input.waits = true;
    input.due = time;
    order_.add({time, index});
}

void MergedSource::close(std::uint32_t index) {
    InputState& input = inputs_[index];
    if (input.source) {
        input.warnings = input.source->warnings();
        input.losses = input.source->losses();
        input.source.reset();
    }
    input.batch = {};
}

void MergedSource::refill_empty(Batch& batch) {
    while (!empty_.empty() && !error_ && used_up_ < kMaxUsedUp) {
        const std::uint32_t index = empty_.back();
        empty_.pop_back();
        if (std::exchange(inputs_[index].waits, false) && !reopen(index)) {
            return;
        }
        if (refill(index)) {
            enqueue(index, batch);
        }
    }
}

void MergedSource::enqueue(std::uint32_t index, Batch& batch) {
    InputState& input = inputs_[index];
    if (!input.batch.records.empty()) {
        const std::optional<Nanoseconds> known = std::exchange(input.due, std::nullopt);
        order_.add({known ? *known : due(index), index});
    } else {
        move_blocks(index, batch);
        empty_.push_back(index);
    }
}

void MergedSource::keep_header(const Batch& batch, std::uint32_t index) {
    if (!header_.blocks.empty() || batch.blocks.empty() ||
        batch.blocks.front().type != pcapng::kSectionHeader) {
        return;
    }
    Block header = batch.blocks.front();
    const auto* const begin = reinterpret_cast<const std::byte*>(header.data);
    const auto copy = std::make_shared<const Bytes>(begin, begin + header.size);
    header.data = reinterpret_cast<const std::uint8_t*>(copy->data());
    header.before = 0;
    header.file = index;
    header.merged = true;
    header_.blocks.push_back(header);
    header_.memory.push_back(copy);
}

void MergedSource::move_blocks(std::uint32_t index, Batch& batch) {
    InputState& input = inputs_[index];
    const std::vector<Block>& blocks = input.batch.blocks;
    for (; input.next_block < blocks.size() && blocks[input.next_block].before <= input.next;
         ++input.next_block) {
        hold_memory(input, batch);
        Block& block = batch.blocks.emplace_back(blocks[input.next_block]);
        block.before = static_cast<std::uint32_t>(batch.records.size());
        block.interface = block.interface < input.interfaces.size()
                              ? input.interfaces[block.interface]
                              : Block::kNoInterface;
        block.file = index;
        block.merged = true;
    }
}

bool MergedSource::refill(std::uint32_t index) {
    InputState& input = inputs_[index];
    const bool held = input.held_by == batches_;
    const Bytes* const before =
        held && !input.batch.memory.empty() ? input.batch.memory.back().get() : nullptr;
    const std::size_t bytes = before != nullptr ? before->size() : 0;
    input.next = input.next_block = 0;
    input.held_by = 0;
    bool more = true;
    if (!input.ahead.empty()) {
        input.batch = std::move(input.ahead.front());
        input.ahead.erase(input.ahead.begin());
        if (input.ahead.empty()) {
            forget_ahead(input);
        }
    } else {
        more = read(index, input.batch);
    }
    if (!more || input.batch.memory.empty() || input.batch.memory.back().get() != before) {
        used_up_ += bytes;
    }
    if (!more) {
        error_ = input.why ? std::exchange(input.why, std::nullopt) : std::move(error_);
        close(index);
    }
    return more;
}

bool MergedSource::read(std::uint32_t index, Batch& batch) {
    InputState& input = inputs_[index];
    if (input.ended) {
        return false;
    }
    const Result<bool> more = input.source->next(batch);
    if (!more) {
        input.why = more.error();
    }
    input.ended = !more || !*more;
    const std::uint64_t done = input.source->progress().done;
    progress_.done += done - std::exchange(input.progress.done, done);
    if (!input.ended && !has_same_interfaces(index)) {
        input.why = Error{Errc::kIo, input.name + ": was changed while it was read"};
        input.ended = true;
    }
    if (!input.ended) {
        number_interfaces(index, input.source->interfaces());
    }
    return !input.ended;
}

bool MergedSource::has_same_interfaces(std::uint32_t index) const {
    const InputState& input = inputs_[index];
    if (!input.due || !input.open) {
        return true;
    }
    const InterfaceView again = input.source->interfaces();
    for (std::size_t i = 0; i < std::min(again.size(), input.interfaces.size()); ++i) {
        const Interface& known = interfaces_[input.interfaces[i]];
        if (again[i].link_type != known.link_type || again[i].tick != known.tick ||
            again[i].name != known.name) {
            return false;
        }
    }
    return true;
}

Nanoseconds MergedSource::due(std::uint32_t index) {
    InputState& input = inputs_[index];
    const auto ahead = [&](std::size_t i) {
        std::optional<Nanoseconds> time = input.time_ahead(i);
        while (!time && input.ahead.size() < kMaxAhead && read_ahead(index)) {
            time = input.time_ahead(i);
        }
        return time;
    };
    return input.clock.due(input.batch.records[input.next].time, ahead);
}

bool MergedSource::read_ahead(std::uint32_t index) {
    InputState& input = inputs_[index];
    const std::uint64_t bytes = input.batch.memory.empty() ? 0 : input.batch.memory.back()->size();
    if (input.ended || (budget_ && !budget_->take(bytes))) {
        return false;
    }
    Batch more;
    const bool read_one = read(index, more);
    if (budget_ && !read_one) {
        budget_->give_back(bytes);
    }
    if (!read_one) {
        return false;
    }
    input.ahead_bytes += budget_ ? bytes : 0;
    more.records.shrink_to_fit();  // of a pipe it may be a packet at a time
    input.ahead.push_back(std::move(more));
    return true;
}

void MergedSource::forget_ahead(InputState& input) {
    if (budget_) {
        budget_->give_back(std::exchange(input.ahead_bytes, 0));
    }
}

void MergedSource::number_interfaces(std::uint32_t index, const InterfaceView& known) {
    InputState& input = inputs_[index];
    for (std::size_t i = input.interfaces.size(); i < known.size(); ++i) {
        input.interfaces.push_back(static_cast<std::uint32_t>(interfaces_.size()));
        Interface one = known[i];
        one.file = index;
        const std::size_t bytes =
            sizeof(one) + one.name.size() + (one.description ? one.description->block.size() : 0);
        if (budget_ && !budget_->take(bytes)) {
            error_ = budget_->refusal(input.name, bytes);
            input.ended = true;
        }
        interfaces_.push_back(std::move(one));
    }
}

void MergedSource::move_records(Batch& batch) {
    while (batch.records.size() < kMaxBatch) {
        const std::uint32_t index = order_.first().source;
        InputState& input = inputs_[index];
        if (input.waits) [[unlikely]] {
            order_.remove_first();
            empty_.push_back(index);
            return;
        }
        if (input.next_block < input.batch.blocks.size()) [[unlikely]] {
            move_blocks(index, batch);
        }
        hold_memory(input, batch);
        Record& record = batch.records.emplace_back(input.batch.records[input.next]);
        record.interface = input.interfaces[record.interface];
        if (++input.next == input.batch.records.size()) {
            move_blocks(index, batch);
            order_.remove_first();
            empty_.push_back(index);
            return;
        }
        order_.put_off_first(due(index));
    }
}

void MergedSource::hold_memory(InputState& input, Batch& batch) const {
    if (input.held_by == batches_) {
        return;
    }
    input.held_by = batches_;
    batch.memory.insert(batch.memory.end(), input.batch.memory.begin(), input.batch.memory.end());
}

std::vector<Warning> MergedSource::warnings() const {
    return collect_warnings([](const Source& source) { return source.warnings(); },
                            [](const InputState& input) { return input.warnings; });
}

std::vector<Warning> MergedSource::losses() const {
    return collect_warnings([](const Source& source) { return source.losses(); },
                            [](const InputState& input) { return input.losses; });
}

}  // namespace

std::unique_ptr<Source> merge_sources(std::vector<MergeInput> inputs, Nanoseconds jump,
                                      std::shared_ptr<MemoryBudget> budget) {
    return std::make_unique<MergedSource>(std::move(inputs), jump, std::move(budget));
}

std::unique_ptr<Source> merge_sources(std::vector<std::unique_ptr<Source>> sources,
                                      Nanoseconds jump) {
    std::vector<MergeInput> inputs(sources.size());
    for (std::size_t i = 0; i < sources.size(); ++i) {
        inputs[i].source = std::move(sources[i]);
    }
    return merge_sources(std::move(inputs), jump, nullptr);
}

}  // namespace unecho::capture
