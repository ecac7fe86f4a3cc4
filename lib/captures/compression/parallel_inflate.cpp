// SPDX-License-Identifier: BSD-3-Clause
#include "captures/compression/parallel_inflate.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

namespace unecho::capture {
namespace {

// Match what every compressor writes: magic, deflate, no reserved flag, a known compression level.
bool may_begin_member(const std::uint8_t* bytes) {
    return bytes[1] == 0x8B && bytes[2] == 8 && (bytes[3] & 0xE0U) == 0 &&
           (bytes[8] == 0 || bytes[8] == 2 || bytes[8] == 4);
}
constexpr std::size_t kMemberHeader = 10;

// Return false if memory is short. Threads then leave their job to the reader, which needs less.
template <typename Take>
bool try_with_memory(Take take) {
    try {
        take();
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

}  // namespace

// ---- one input ----------------------------------------------------------------------------------

InflateQueue::InflateQueue(std::shared_ptr<InflatePool> inflate_pool, std::size_t piece)
    : inflaters_(std::move(inflate_pool)),
      shared_(std::make_shared<Shared>(chunk(piece))),
      apart_(piece / 4),
      next_run_(apart_) {
    const std::lock_guard lock(inflaters_->mutex_);
    inflaters_->inputs_.push_back(shared_);
}

InflateQueue::~InflateQueue() {
    const std::lock_guard lock(inflaters_->mutex_);
    std::erase(inflaters_->inputs_, shared_);
    while (!shared_->runs.empty()) {
        drop_first();
    }
    if (met_) {
        met_->leave_requested = true;
    }
}

bool InflateQueue::has_threads() const {
    const std::lock_guard lock(inflaters_->mutex_);
    return inflaters_->wanted_ != 0;
}

std::size_t InflateQueue::begun() const {
    const std::lock_guard lock(inflaters_->mutex_);
    return shared_->begun();
}

std::size_t InflateQueue::pieces() const {
    const std::lock_guard lock(inflaters_->mutex_);
    return shared_->pieces.size();
}

void InflateQueue::put(CompressedPiece piece) {
    const std::lock_guard lock(inflaters_->mutex_);
    if (inflaters_->wanted_ != 0) {
        find_members(piece);
    }
    shared_->pieces.push_back(std::move(piece));
    if (!shared_->runs.empty()) {
        inflaters_->start();
        inflaters_->to_do_.notify_all();
    }
}

std::optional<CompressedPiece> InflateQueue::piece_at(std::uint64_t at) {
    const std::lock_guard lock(inflaters_->mutex_);
    std::erase_if(shared_->pieces, [&](const CompressedPiece& piece) { return piece.at < at; });
    const CompressedPiece* const found = shared_->piece_at(at);
    return found != nullptr ? std::optional(*found) : std::nullopt;
}

void InflateQueue::discard_before(std::uint64_t at) {
    const std::lock_guard lock(inflaters_->mutex_);
    std::erase_if(shared_->pieces, [&](const CompressedPiece& piece) { return piece.end() <= at; });
    while (!shared_->runs.empty() && shared_->runs.front()->at < at) {
        drop_first();
    }
}

bool InflateQueue::attach_at(std::uint64_t at) {
    discard_before(at);
    const std::lock_guard lock(inflaters_->mutex_);
    if (shared_->runs.empty() || shared_->runs.front()->at != at) {
        return false;
    }
    const std::shared_ptr<InflateJob> run = shared_->runs.front();
    shared_->runs.pop_front();
    if (run->begun) {
        met_ = run;
    } else {
        shared_->forget(*run);
    }
    return met_ != nullptr;
}

std::size_t InflateQueue::read_inflated(std::span<std::byte> to) {
    if (given_ == giving_.size) {
        giving_ = take_chunk();
        given_ = 0;
    }
    const std::size_t count = std::min(to.size(), giving_.size - given_);
    if (count == 0) {
        return 0;
    }
    std::memcpy(to.data(), giving_.bytes->data() + given_, count);
    given_ += count;
    for (const Member& member : giving_.members) {
        member_ = member.first < given_ ? member.at : member_;
    }
    return count;
}

InflateQueue::Chunk InflateQueue::take_chunk() {
    InflatePool::Lock lock(inflaters_->mutex_);
    if (giving_.bytes) {
        giving_ = {};
        --shared_->chunks;
        inflaters_->to_do_.notify_one();
    }
    while (met_->full.empty() && met_->busy) {
        met_->leave_requested = true;
        inflaters_->changed_.wait(lock);
    }
    if (met_->full.empty()) {
        return std::exchange(met_->filling, {});
    }
    Chunk chunk = std::move(met_->full.front());
    met_->full.pop_front();
    return chunk;
}

InflateQueue::DetachedInflater InflateQueue::detach() {
    const std::lock_guard lock(inflaters_->mutex_);
    DetachedInflater taken{std::move(met_->inflater), std::move(met_->piece)};
    met_ = nullptr;
    return taken;
}

// Make one job each apart_ bytes at most: a job passes over short members.
void InflateQueue::find_members(const CompressedPiece& piece) {
    const std::span<const std::uint8_t> bytes = piece.from(0);
    std::uint64_t at = std::max(piece.at, next_run_);
    while (at + kMemberHeader <= piece.end()) {
        const std::uint8_t* const from = bytes.data() + (at - piece.at);
        const auto* const found = static_cast<const std::uint8_t*>(
            std::memchr(from, 0x1F, piece.end() - kMemberHeader + 1 - at));
        if (found == nullptr) {
            return;
        }
        at = piece.at + static_cast<std::uint64_t>(found - bytes.data());
        if (!may_begin_member(found)) {
            ++at;
            continue;
        }
        const auto run = std::make_shared<InflateJob>();
        run->at = at;
        run->piece = piece;
        shared_->runs.push_back(run);
        next_run_ = at + apart_;
        at = next_run_;
    }
}

void InflateQueue::drop_first() {
    InflateJob& run = *shared_->runs.front();
    run.leave_requested = run.dropped = true;
    if (!run.busy) {
        shared_->forget(run);
        inflaters_->to_do_.notify_one();
    }
    shared_->runs.pop_front();
}

void InflateQueue::Shared::forget(InflateJob& run) {
    chunks -= run.full.size() + (run.filling.bytes ? 1 : 0);
    run.full.clear();
    run.filling = {};
}

const CompressedPiece* InflateQueue::Shared::piece_at(std::uint64_t at) const {
    const auto found = std::find_if(pieces.begin(), pieces.end(),
                                    [&](const CompressedPiece& piece) { return piece.at == at; });
    return found == pieces.end() ? nullptr : &*found;
}

bool InflateQueue::Shared::has_job_at(std::uint64_t at) const {
    return std::any_of(runs.begin(), runs.end(),
                       [&](const std::shared_ptr<InflateJob>& run) { return run->at == at; });
}

std::size_t InflateQueue::Shared::begun() const {
    return static_cast<std::size_t>(
        std::count_if(runs.begin(), runs.end(), [](const auto& run) { return run->begun; }));
}

bool InflateQueue::Shared::is_runnable(const InflateJob& run) const {
    if (run.busy || run.done) {
        return false;
    }
    if (!run.begun) {
        return chunks < kMaxChunks && begun() < kMaxJobs;
    }
    return run.wants_input ? piece_at(run.piece.end()) != nullptr : chunks < kMaxChunks;
}

std::shared_ptr<InflateQueue::InflateJob> InflateQueue::Shared::next() const {
    const auto found =
        std::find_if(runs.begin(), runs.end(),
                     [this](const std::shared_ptr<InflateJob>& run) { return is_runnable(*run); });
    return found == runs.end() ? nullptr : *found;
}

// ---- the threads --------------------------------------------------------------------------------

InflatePool::~InflatePool() {
    {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
        to_do_.notify_all();
    }
    for (std::thread& thread : threads_) {
        thread.join();
    }
}

void InflatePool::start() {
    if (threads_.size() == wanted_) {
        return;
    }
    try {
        while (threads_.size() < wanted_) {
            threads_.emplace_back([this] { work(); });
        }
    } catch (const std::exception&) {  // no thread, or no memory for one
        wanted_ = static_cast<unsigned>(threads_.size());
    }
}

void InflatePool::work() {
    Lock lock(mutex_);
    while (!stopped_) {
        bool found = false;
        for (std::size_t i = 0; i < inputs_.size() && !found; ++i) {
            const std::shared_ptr<Shared> input = inputs_[i];
            if (const std::shared_ptr<InflateJob> run = input->next()) {
                run_job(lock, *input, *run);
                found = true;
            }
        }
        if (!found) {
            to_do_.wait(lock);
        }
    }
}

void InflatePool::run_job(Lock& lock, Shared& input, InflateJob& run) {
    using Stop = Inflater::Stop;
    run.begun = run.busy = true;
    while (!run.leave_requested && !stopped_ && !run.done && provide(lock, input, run)) {
        lock.unlock();
        const std::optional<Stop> stop = fill(run);
        lock.lock();
        run.wants_input = stop == Stop::kNeedsInput;
        run.done = !stop || stop == Stop::kChecksum || stop == Stop::kEnd ||
                   (stop == Stop::kMemberEnd && input.has_job_at(run.inflater->position()));
    }
    run.begun = run.inflater != nullptr;
    run.busy = false;
    if (run.dropped) {
        input.forget(run);
    }
    changed_.notify_all();
}

bool InflatePool::provide(Lock& lock, Shared& input, InflateJob& run) {
    if (run.wants_input) {
        const CompressedPiece* const next = input.piece_at(run.piece.end());
        if (next == nullptr) {
            return false;
        }
        run.piece = *next;
        run.inflater->take(run.piece.from(run.inflater->left()), run.piece.end());
        run.wants_input = false;
    }
    if (run.filling.bytes && run.filling.size == run.filling.bytes->size()) {
        if (!try_with_memory([&] { run.full.emplace_back(); })) {
            run.done = true;
            return false;
        }
        std::swap(run.full.back(), run.filling);
        changed_.notify_all();
    }
    if (!run.filling.bytes) {
        if (input.chunks >= InflateQueue::kMaxChunks) {
            return false;
        }
        ++input.chunks;
        lock.unlock();
        const bool there = try_with_memory([&] { run.filling.bytes = input.buffers.take(0); });
        lock.lock();
        if (!there) {
            --input.chunks;
            run.done = true;
            return false;
        }
    }
    return true;
}

// Return nothing if memory is short for what the job needs first.
std::optional<Inflater::Stop> InflatePool::fill(InflateJob& run) {
    const bool there = try_with_memory([&] {
        if (!run.inflater) {
            run.inflater = std::make_unique<Inflater>();
            run.inflater->take(run.piece.from(0).subspan(run.at - run.piece.at), run.piece.end());
        }
        std::vector<InflateQueue::Member>& members = run.filling.members;
        if (members.size() == members.capacity()) {
            members.reserve(std::max<std::size_t>(8, 2 * members.size()));
        }
    });
    if (!there) {
        return std::nullopt;
    }
    Inflater& inflater = *run.inflater;
    InflateQueue::Chunk& chunk = run.filling;
    inflater.set_output(std::span(*chunk.bytes).subspan(chunk.size));
    const Inflater::Stop stop = inflater.run(false);
    if (inflater.given() != 0 &&
        (chunk.members.empty() || chunk.members.back().at != inflater.member())) {
        chunk.members.push_back({chunk.size, inflater.member()});
    }
    chunk.size += inflater.given();
    return stop;
}

}  // namespace unecho::capture
