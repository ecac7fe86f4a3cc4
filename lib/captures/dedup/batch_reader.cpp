// SPDX-License-Identifier: BSD-3-Clause
#include "captures/dedup/batch_reader.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "captures/memory_budget.h"

namespace unecho::dedup {
namespace {

using capture::Source;

// Batches made on the calling thread.
class BatchDigester {
  public:
    BatchDigester(std::unique_ptr<Source> source, const Digester& digester)
        : source_(std::move(source)), digester_(digester) {}

    Result<bool> next(DigestedBatch& digested) {
        const Result<bool> more = source_->next(digested.batch);
        if (!more || !*more) {
            return more;
        }
        digested.interfaces = source_->interfaces();
        digested.progress = source_->progress();
        digester_.digest(digested.batch.records, digested.interfaces, digested.bursts,
                         digested.batch.source_numbers);
        digested.elapsed = digester_.elapsed();
        digested.read = digester_.read();
        return true;
    }

    [[nodiscard]] capture::InterfaceView interfaces() const { return source_->interfaces(); }
    [[nodiscard]] std::vector<capture::Warning> warnings() const {
        std::vector<capture::Warning> all = source_->warnings();
        const std::vector<capture::Warning> losses = source_->losses();
        all.insert(all.end(), losses.begin(), losses.end());
        const std::vector<capture::Warning> digesting = digester_.warnings();
        all.insert(all.end(), digesting.begin(), digesting.end());
        return all;
    }

  private:
    std::unique_ptr<Source> source_;
    Digester digester_;
};

class InlineBatchReader final : public BatchReader {
  public:
    explicit InlineBatchReader(BatchDigester maker) : maker_(std::move(maker)) {}

    Result<bool> next(DigestedBatch& digested) override { return maker_.next(digested); }
    [[nodiscard]] capture::InterfaceView interfaces() const override { return maker_.interfaces(); }
    [[nodiscard]] std::vector<capture::Warning> warnings() const override {
        return maker_.warnings();
    }

  private:
    BatchDigester maker_;
};

// State of the two threads. Only the maker's thread uses the maker until it has ended.
struct Shared {
    explicit Shared(BatchDigester m) : maker(std::move(m)) {}

    void make_all();
    bool put(DigestedBatch& digested);
    [[nodiscard]] bool has_room(const DigestedBatch& digested) const;

    BatchDigester maker;
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<DigestedBatch> ready;
    std::deque<DigestedBatch> used;  // to be reused
    std::optional<Error> error;
    bool ended = false;    // nothing more is made
    bool stopped = false;  // nothing more is wanted
};

void Shared::make_all() {
    std::optional<Error> failed;
    for (;;) {
        DigestedBatch digested;
        {
            const std::lock_guard lock(mutex);
            if (!used.empty()) {
                digested = std::move(used.front());
                used.pop_front();
            }
        }
        const Result<bool> more = maker.next(digested);
        if (!more) {
            failed = more.error();
        }
        if (!more || !*more || !put(digested)) {
            break;
        }
    }
    const std::lock_guard lock(mutex);
    error = std::move(failed);
    ended = true;
    changed.notify_all();
}

// Return true if the batch may wait. Few with larger records may: each of these has its own buffer.
bool Shared::has_room(const DigestedBatch& digested) const {
    constexpr std::uint64_t kMaxLarge = std::uint64_t{4} << 20U;
    std::uint64_t large = 0;
    const auto add = [&](const DigestedBatch& one) {
        for (const auto& bytes : one.batch.memory) {
            large += bytes->size() > capture::kMaxPiece ? bytes->size() : 0;
        }
    };
    std::for_each(ready.begin(), ready.end(), add);
    add(digested);
    return ready.empty() || (ready.size() < kBatchesAhead && large <= kMaxLarge);
}

// Queue a batch once it may wait. Return false if it is no longer wanted.
bool Shared::put(DigestedBatch& digested) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return stopped || has_room(digested); });
    if (stopped) {
        return false;
    }
    ready.push_back(std::move(digested));
    changed.notify_all();
    return true;
}

class ThreadedBatchReader final : public BatchReader {
  public:
    explicit ThreadedBatchReader(BatchDigester maker)
        : shared_(std::make_shared<Shared>(std::move(maker))),
          thread_([shared = shared_] { shared->make_all(); }) {}

    // Detach a thread that waits for a pipe: such a read cannot be cancelled.
    ~ThreadedBatchReader() override {
        constexpr auto kPatience = std::chrono::milliseconds(200);
        std::unique_lock lock(shared_->mutex);
        shared_->stopped = true;
        shared_->changed.notify_all();
        const bool ended =
            shared_->changed.wait_for(lock, kPatience, [&] { return shared_->ended; });
        lock.unlock();
        if (ended) {
            thread_.join();
        } else {
            thread_.detach();
        }
    }

    Result<bool> next(DigestedBatch& digested) override {
        std::unique_lock lock(shared_->mutex);
        if (!digested.interfaces.empty()) {
            digested.batch.clear();
            shared_->used.push_back(std::move(digested));
        }
        shared_->changed.wait(lock, [&] { return shared_->ended || !shared_->ready.empty(); });
        if (shared_->ready.empty()) {
            digested = DigestedBatch();
            return shared_->error ? Result<bool>(tl::unexpected(*shared_->error)) : false;
        }
        digested = std::move(shared_->ready.front());
        shared_->ready.pop_front();
        shared_->changed.notify_all();
        return true;
    }

    [[nodiscard]] capture::InterfaceView interfaces() const override {
        return shared_->maker.interfaces();
    }
    [[nodiscard]] std::vector<capture::Warning> warnings() const override {
        return shared_->maker.warnings();
    }

  private:
    std::shared_ptr<Shared> shared_;
    std::thread thread_;
};

}  // namespace

std::unique_ptr<BatchReader> make_batch_reader(std::unique_ptr<Source> source,
                                               const Digester& digester, bool ahead) {
    BatchDigester maker(std::move(source), digester);
    if (ahead) {
        return std::make_unique<ThreadedBatchReader>(std::move(maker));
    }
    return std::make_unique<InlineBatchReader>(std::move(maker));
}

}  // namespace unecho::dedup
