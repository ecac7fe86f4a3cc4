// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/collect/run_collector.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "captures/analyze/collect/stage_runner.h"
#include "captures/interface_list.h"
#include "captures/memory_budget.h"

namespace unecho::analyze {
namespace {

// With several threads: few enough that a block stays in a core's cache from stage to stage, and so
// many that the overhead of a block is negligible.
constexpr std::size_t kBurstsInBlock = 16;
constexpr std::size_t kBurstsAlone = 4;  // on one thread

// A batch of the source, held until all of its blocks are counted.
struct Held {
    capture::Batch batch;
    capture::InterfaceView interfaces;
    std::vector<std::size_t> removed;
};

// Bursts that pass the stages together.
struct Block {
    std::array<std::unique_ptr<DecodedBurst>, kBurstsInBlock> bursts;
    std::size_t count = 0;
    Held* held = nullptr;
    bool last = false;  // of its batch
    bool begins_inside = false;

    [[nodiscard]] auto all() { return std::span(bursts).first(count); }
    [[nodiscard]] std::span<const capture::Interface> interfaces() const {
        return held->interfaces;
    }
};

// Limit for records of unusual size that wait, because each has a buffer of its own.
constexpr std::uint64_t kMaxLarge = std::uint64_t{4} << 20U;

std::uint64_t large_bytes(const capture::Batch& batch) {
    std::uint64_t sum = 0;
    for (const auto& bytes : batch.memory) {
        sum += bytes->size() > capture::kMaxPiece ? bytes->size() : 0;
    }
    return sum;
}

std::size_t places_for(unsigned threads) {
    constexpr unsigned kStages = 3;
    constexpr std::size_t kWait = 4;
    return threads < 2 ? 1 : std::min(threads, kStages) + kWait;
}

class Counter {
  public:
    Counter(capture::Source& source, Collector& collector, const CountOptions& how)
        : source_(source),
          collector_(collector),
          how_(how),
          bursts_in_block_(how.threads < 2 ? kBurstsAlone : kBurstsInBlock),
          blocks_(places_for(how.threads)),
          held_(blocks_.size()) {
        for (Block& block : blocks_) {
            for (std::size_t i = 0; i < bursts_in_block_; ++i) {
                block.bursts[i] = std::make_unique<DecodedBurst>();
            }
        }
    }

    CountErrors run() {
        StageSet stages;
        // One stage both reads and preprocesses, because the packets are in its cache.
        stages.begin = [this](std::size_t place) { return fill(blocks_[place]); };
        stages.can_begin = [this] { return large_ <= kMaxLarge; };
        stages.others = {[this](std::size_t place) { count_packets(blocks_[place]); },
                         [this](std::size_t place) { count_flows(blocks_[place]); }};
        stages.exclusive_stage = 0;
        stages.is_exclusive = [this](std::size_t place) { return blocks_[place].begins_inside; };
        run_stages(stages, how_.threads, blocks_.size());
        return std::move(end_);
    }

  private:
    bool fill(Block& block);
    bool read();
    void look(Block& block);
    struct Steps {
        void (Collector::*ask)(DecodedBurst&);
        void (Collector::*find)(DecodedBurst&);
        void (Collector::*follow)(DecodedBurst&);
    };
    template <typename Count>
    void count_all_of(Block& block, const Steps& steps, Count count);
    void count_packets(Block& block);
    void count_alone(Block& block);
    void count_flows(Block& block);

    capture::Source& source_;
    Collector& collector_;
    const CountOptions& how_;
    std::size_t bursts_in_block_;
    std::vector<Block> blocks_;
    // One for each block, because their batches may differ. Used in turns.
    std::vector<Held> held_;
    std::size_t batches_ = 0;
    Held* reading_ = nullptr;  // batch that is split into blocks; null: read the next one
    std::size_t next_ = 0;     // next record of it
    std::span<const std::size_t> removed_;
    std::atomic<std::uint64_t> large_ = 0;  // bytes of large records in held batches
    CountErrors end_;
};

bool Counter::fill(Block& block) {
    if (reading_ == nullptr && !read()) {
        return false;
    }
    const std::span<const capture::Record> records = reading_->batch.records;
    block.held = reading_;
    for (block.count = 0; block.count < bursts_in_block_ && next_ < records.size();) {
        next_ = Collector::cut(records, block.interfaces(), removed_, next_,
                               *block.bursts[block.count++]);
    }
    block.last = next_ == records.size();
    reading_ = block.last ? nullptr : reading_;
    look(block);
    return true;
}

// Read a batch with records; return false at the end or after an error.
bool Counter::read() {
    Held& held = held_[batches_ % held_.size()];
    do {
        const Result<bool> more = source_.next(held.batch);
        if (!more) {
            end_.source = more.error();
        }
        if (!more || !*more) {
            return false;
        }
        held.interfaces = source_.interfaces();
        if (how_.remover != nullptr) {
            if (Status decided = how_.remover->decide(held.batch, held.interfaces, held.removed);
                !decided) {
                end_.remover = decided.error();
                return false;
            }
        }
        if (how_.progress) {
            how_.progress(source_);
        }
    } while (held.batch.records.empty());
    large_ += large_bytes(held.batch);
    ++batches_;
    reading_ = &held;
    next_ = 0;
    removed_ = held.removed;
    return true;
}

void Counter::look(Block& block) {
    block.begins_inside = false;
    for (const auto& burst : block.all()) {
        collector_.look(*burst);
        if (how_.threads < 2) {
            collector_.ask_for_packets(*burst);
            collector_.ask_for_flows(*burst);
        }
        block.begins_inside = block.begins_inside || burst->begins_inside;
    }
}

// Each step is one burst ahead of the next, so that prefetched memory has arrived. With one thread,
// look() has prefetched the indices already.
template <typename Count>
void Counter::count_all_of(Block& block, const Steps& steps, Count count) {
    const auto with = [&](std::size_t i, auto step) {
        if (i < block.count) {  // i - 1 below 0 wraps around
            step(*block.bursts[i]);
        }
    };
    constexpr std::size_t kSteps = 3;
    for (std::size_t i = 0; i < block.count + kSteps; ++i) {
        if (how_.threads >= 2) {
            with(i, [&](DecodedBurst& burst) { (collector_.*steps.ask)(burst); });
        }
        with(i - 1, [&](DecodedBurst& burst) { (collector_.*steps.find)(burst); });
        with(i - 2, [&](DecodedBurst& burst) { (collector_.*steps.follow)(burst); });
        with(i - 3, count);
    }
}

void Counter::count_packets(Block& block) {
    if (block.begins_inside) [[unlikely]] {
        count_alone(block);
        return;
    }
    constexpr Steps kSteps{&Collector::ask_for_packets, &Collector::find_packets,
                           &Collector::follow_packets};
    count_all_of(block, kSteps,
                 [&](DecodedBurst& burst) { collector_.count_packets(burst, block.interfaces()); });
}

// Count a block in which the inner view begins. All earlier blocks are counted.
void Counter::count_alone(Block& block) {
    for (const auto& burst : block.all()) {
        collector_.find_packets(*burst);
        collector_.count_packets(*burst, block.interfaces());
        collector_.find_flows(*burst);
        collector_.count_flows(*burst);
    }
}

void Counter::count_flows(Block& block) {
    if (!block.begins_inside) [[likely]] {
        constexpr Steps kSteps{&Collector::ask_for_flows, &Collector::find_flows,
                               &Collector::follow_flows};
        count_all_of(block, kSteps, [this](DecodedBurst& burst) { collector_.count_flows(burst); });
    }
    if (block.last) {
        const std::uint64_t large = large_bytes(block.held->batch);
        block.held->batch.clear();
        large_ -= large;  // only when its memory is free
    }
}

}  // namespace

CountErrors run_collector(capture::Source& source, Collector& collector, const CountOptions& how) {
    return Counter(source, collector, how).run();
}

}  // namespace unecho::analyze
