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

// Bound of the memory that a batch holds of input batches already used up, in bytes. Everything
// else it holds belongs to batches still in use. So batches on their way to other threads take
// little memory, however many inputs there are.
constexpr std::size_t kMaxUsedUp = std::size_t{1} << 20U;
// Bound of the batches read ahead. Where blocks are kept, batches may have no records.
constexpr std::size_t kMaxAhead = 64;

struct InputState {
    std::unique_ptr<Source> source;  // null: closed, before its time or after its end
    Batch batch;
    std::size_t next = 0;                   // index of a record of the batch
    std::size_t next_block = 0;             // index of a block of the batch
    std::vector<std::uint32_t> interfaces;  // their numbers among all interfaces
    std::uint64_t held_by = 0;  // number of the output batch that holds this batch's memory
    bool waits = false;         // closed until its time comes
    MergeClock clock;
    std::optional<Nanoseconds> due;  // time of the first record, from peek_due_time()
    std::vector<Batch> ahead;        // read to see whether time comes back
    std::uint64_t ahead_bytes = 0;   // taken from the budget
    bool ended = false;              // nothing more is read
    std::optional<Error> why;        // it failed for this reason
    std::string name;
    std::function<Result<std::unique_ptr<Source>>()> open;
    Source::Progress progress;
    std::vector<Warning> warnings;  // of a closed input
    std::vector<Warning> losses;

    // Return the time of the i-th record after the next one, if it has been read.
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
    // of_open: returns the list of an open source. of_closed: returns that of a closed input.
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

    // Read the first batch of each input, and close the inputs that can be reopened.
    void begin(Batch& batch);
    // Find out when an input that can be reopened is due, and close it until then. Return true if
    // it stays open with a batch to be queued: it has no packets, and its blocks are wanted.
    bool peek_due_time(std::uint32_t index);
    bool reopen(std::uint32_t index);
    // Close an input until this time, and discard what was read.
    void close_until(std::uint32_t index, Nanoseconds time);
    // Close an input at its end; keep its warnings.
    void close(std::uint32_t index);
    // Get the next batch of inputs without one, until too much memory is used up to continue.
    void refill_empty(Batch& batch);
    // Queue an input by its batch's first record. Without records, move the batch's blocks at once.
    void enqueue(std::uint32_t index, Batch& batch);
    // Get the next batch of an input that has none. Return false if it has ended or failed.
    bool refill(std::uint32_t index);
    // Read a batch of an input. Return false if it has ended or failed.
    bool read(std::uint32_t index, Batch& batch);
    // Return when its next record is due. Read ahead no further than memory allows.
    Nanoseconds due(std::uint32_t index);
    bool read_ahead(std::uint32_t index);
    void forget_ahead(InputState& input);
    void number_interfaces(std::uint32_t index, const InterfaceView& known);
    [[nodiscard]] bool has_same_interfaces(std::uint32_t index) const;
    // Move records until the batch is full, or an input must be opened or refilled.
    void move_records(Batch& batch);
    // Move the blocks of an input that precede its next record.
    void move_blocks(std::uint32_t index, Batch& batch);
    // Copy the first section header of all inputs: it comes before everything else.
    void keep_header(const Batch& batch, std::uint32_t index);
    void hold_memory(InputState& input, Batch& batch) const;

    std::vector<InputState> inputs_;
    std::vector<MergeHead> heads_;      // memory of order_
    MergeHeap order_{heads_};           // inputs with a next record
    std::vector<std::uint32_t> empty_;  // inputs to be refilled
    InterfaceList interfaces_;
    Batch header_;
    std::shared_ptr<MemoryBudget> budget_;
    FileFormat format_ = FileFormat::kPcap;
    Progress progress_;
    std::uint64_t batches_ = 0;
    std::size_t used_up_ = 0;  // bytes; see kMaxUsedUp
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
    std::reverse(empty_.begin(), empty_.end());  // refill_empty() begins with the last
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
    more.records.shrink_to_fit();  // a batch from a pipe may have a single packet
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
