// SPDX-License-Identifier: BSD-3-Clause
#include "capture/merger.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "capture/pcapng_blocks.h"

namespace unecho::capture {
namespace {

// A batch of large records would otherwise hold any amount of memory.
constexpr std::size_t kMaxHeldBytes = 16U << 20;
// Looking ahead ends there: where blocks are kept, batches may hold no records.
constexpr std::size_t kMostAhead = 64;

struct Input {
    std::unique_ptr<Source> source;
    Batch batch;
    std::size_t next = 0;                   // record of the batch
    std::size_t next_block = 0;             // of the batch
    std::vector<std::uint32_t> interfaces;  // their numbers among all
    bool held = false;                      // its batch's memory by the batch being filled
    MergeClock clock;
    std::deque<Batch> ahead;   // read to see whether time comes back
    bool ended = false;        // nothing more is read
    std::optional<Error> why;  // it failed

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

class Merger final : public Source {
  public:
    Merger(std::vector<std::unique_ptr<Source>> sources, Nanoseconds jump);

    Result<bool> next(Batch& batch) override;

    void keep_blocks(bool nothing_lost) override {
        for (Input& input : inputs_) {
            input.source->keep_blocks(nothing_lost);
        }
    }
    [[nodiscard]] InterfaceView interfaces() const override { return interfaces_.view(); }
    [[nodiscard]] FileFormat format() const override {
        return inputs_.empty() ? FileFormat::kPcap : inputs_.front().source->format();
    }
    [[nodiscard]] Progress progress() const override;
    [[nodiscard]] std::vector<Warning> warnings() const override;
    [[nodiscard]] std::vector<Warning> losses() const override;

  private:
    template <typename List>
    [[nodiscard]] std::vector<Warning> of_all(List list) const {
        std::vector<Warning> out;
        for (std::uint32_t i = 0; i < inputs_.size(); ++i) {
            for (Warning& warning : list(*inputs_[i].source)) {
                warning.file = i;
                out.push_back(std::move(warning));
            }
        }
        return out;
    }

    // Whose next record is next: the first of heads_, which is a heap. A time that steps back is
    // below those of all others, so its record comes at once, as if it had the latest time.
    struct Head {
        Nanoseconds time;
        std::uint32_t input;

        bool operator<(const Head& other) const {
            return time != other.time ? time < other.time : input < other.input;
        }
    };

    // Those that have no batch get their next one, until so much is held that a batch is given.
    void refill_empty(Batch& batch);
    // The next batch of an input that has none; false at its end.
    bool refill(std::uint32_t index);
    // Reads a batch of an input; false: it has ended or failed.
    bool read(std::uint32_t index, Batch& batch);
    // When its next record is due.
    Nanoseconds due(std::uint32_t index);
    void number_interfaces(std::uint32_t index);
    // Until an input has to be refilled or the batch is full.
    void move_records(Batch& batch);
    // Blocks of an input that stand before its next record.
    void move_blocks(std::uint32_t index, Batch& batch);
    // The header of the first section of all comes before anything else.
    void put_header_first(Batch& batch);
    void hold_memory(Input& input, Batch& batch);
    void push_head(std::uint32_t index);
    void sift_first_down();

    std::vector<Input> inputs_;
    std::vector<Head> heads_;
    std::vector<std::uint32_t> empty_;  // inputs to be refilled
    InterfaceList interfaces_;
    std::size_t held_bytes_ = 0;
    bool begun_ = false;
    std::optional<Error> error_;
};

Merger::Merger(std::vector<std::unique_ptr<Source>> sources, Nanoseconds jump)
    : inputs_(sources.size()) {
    for (std::uint32_t i = 0; i < sources.size(); ++i) {
        inputs_[i].source = std::move(sources[i]);
        inputs_[i].clock = MergeClock(jump);
        number_interfaces(i);
    }
    // The last is refilled first.
    for (auto i = static_cast<std::uint32_t>(inputs_.size()); i-- > 0;) {
        empty_.push_back(i);
    }
}

Result<bool> Merger::next(Batch& batch) {
    batch.clear();
    batch.records.reserve(kMaxBatch);
    held_bytes_ = 0;
    for (Input& input : inputs_) {
        input.held = false;
    }
    while (batch.records.size() < kMaxBatch) {
        refill_empty(batch);
        if (!empty_.empty() && !error_) {
            return true;
        }
        if (heads_.empty()) {
            break;
        }
        put_header_first(batch);
        move_records(batch);
    }
    if (batch.empty() && error_) {
        empty_.clear();
        return tl::unexpected(*std::exchange(error_, std::nullopt));
    }
    return !batch.empty();
}

void Merger::refill_empty(Batch& batch) {
    while (!empty_.empty() && !error_ && held_bytes_ < kMaxHeldBytes) {
        const std::uint32_t index = empty_.back();
        empty_.pop_back();
        if (!refill(index)) {
            continue;
        }
        if (!inputs_[index].batch.records.empty()) {
            push_head(index);
        } else {
            move_blocks(index, batch);
            empty_.push_back(index);
        }
    }
}

void Merger::put_header_first(Batch& batch) {
    if (std::exchange(begun_, true) || !batch.blocks.empty()) {
        return;
    }
    for (Input& input : inputs_) {
        if (!input.batch.blocks.empty() &&
            input.batch.blocks.front().type == pcapng::kSectionHeader) {
            hold_memory(input, batch);
            batch.blocks.push_back(input.batch.blocks.front());
            batch.blocks.back().merged = true;
            return;
        }
    }
}

void Merger::move_blocks(std::uint32_t index, Batch& batch) {
    Input& input = inputs_[index];
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

bool Merger::refill(std::uint32_t index) {
    Input& input = inputs_[index];
    input.next = input.next_block = 0;
    input.held = false;
    if (!input.ahead.empty()) {
        input.batch = std::move(input.ahead.front());
        input.ahead.pop_front();
        return true;
    }
    if (read(index, input.batch)) {
        return true;
    }
    if (input.why) {
        error_ = std::exchange(input.why, std::nullopt);
    }
    return false;
}

bool Merger::read(std::uint32_t index, Batch& batch) {
    Input& input = inputs_[index];
    if (input.ended) {
        return false;
    }
    const Result<bool> more = input.source->next(batch);
    if (!more) {
        input.why = more.error();
    }
    input.ended = !more || !*more;
    if (!input.ended) {
        number_interfaces(index);
    }
    return !input.ended;
}

Nanoseconds Merger::due(std::uint32_t index) {
    Input& input = inputs_[index];
    const auto ahead = [&](std::size_t i) {
        std::optional<Nanoseconds> time = input.time_ahead(i);
        while (!time && input.ahead.size() < kMostAhead) {
            Batch more;
            if (!read(index, more)) {
                break;
            }
            more.records.shrink_to_fit();  // of a pipe it may be a packet at a time
            input.ahead.push_back(std::move(more));
            time = input.time_ahead(i);
        }
        return time;
    };
    return input.clock.due(input.batch.records[input.next].time, ahead);
}

void Merger::number_interfaces(std::uint32_t index) {
    Input& input = inputs_[index];
    const InterfaceView known = input.source->interfaces();
    for (std::size_t i = input.interfaces.size(); i < known.size(); ++i) {
        input.interfaces.push_back(static_cast<std::uint32_t>(interfaces_.size()));
        Interface one = known[i];
        one.file = index;
        interfaces_.push_back(std::move(one));
    }
}

void Merger::move_records(Batch& batch) {
    while (batch.records.size() < kMaxBatch) {
        const std::uint32_t index = heads_.front().input;
        Input& input = inputs_[index];
        if (input.next_block < input.batch.blocks.size()) [[unlikely]] {
            move_blocks(index, batch);
        }
        hold_memory(input, batch);
        Record& record = batch.records.emplace_back(input.batch.records[input.next]);
        record.interface = input.interfaces[record.interface];
        if (++input.next == input.batch.records.size()) {
            move_blocks(index, batch);
            heads_.front() = heads_.back();
            heads_.pop_back();
            empty_.push_back(index);
            sift_first_down();
            return;
        }
        heads_.front().time = due(index);
        sift_first_down();
    }
}

void Merger::hold_memory(Input& input, Batch& batch) {
    if (input.held) {
        return;
    }
    input.held = true;
    for (const auto& bytes : input.batch.memory) {
        batch.memory.push_back(bytes);
        held_bytes_ += bytes->size();
    }
}

void Merger::push_head(std::uint32_t index) {
    heads_.push_back({due(index), index});
    std::push_heap(heads_.begin(), heads_.end(),
                   [](const Head& a, const Head& b) { return b < a; });
}

void Merger::sift_first_down() {
    for (std::size_t at = 0;;) {
        std::size_t child = 2 * at + 1;
        if (child >= heads_.size()) {
            return;
        }
        if (child + 1 < heads_.size() && heads_[child + 1] < heads_[child]) {
            ++child;
        }
        if (!(heads_[child] < heads_[at])) {
            return;
        }
        std::swap(heads_[at], heads_[child]);
        at = child;
    }
}

Source::Progress Merger::progress() const {
    Progress out;
    bool all_known = true;
    for (const Input& input : inputs_) {
        const Progress one = input.source->progress();
        out.done += one.done;
        out.total += one.total;
        all_known = all_known && one.total != 0;
    }
    out.total = all_known ? out.total : 0;
    return out;
}

std::vector<Warning> Merger::warnings() const {
    return of_all([](const Source& source) { return source.warnings(); });
}

std::vector<Warning> Merger::losses() const {
    return of_all([](const Source& source) { return source.losses(); });
}

}  // namespace

std::unique_ptr<Source> merge(std::vector<std::unique_ptr<Source>> sources, Nanoseconds jump) {
    return std::make_unique<Merger>(std::move(sources), jump);
}

}  // namespace unecho::capture
