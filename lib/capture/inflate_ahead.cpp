// SPDX-License-Identifier: BSD-3-Clause
#include "capture/inflate_ahead.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

namespace unecho::capture {
namespace {

// What every compressor writes: magic, deflate, no flag that is reserved, how hard it tried.
bool may_begin_member(const std::uint8_t* bytes) {
    return bytes[1] == 0x8B && bytes[2] == 8 && (bytes[3] & 0xE0U) == 0 &&
           (bytes[8] == 0 || bytes[8] == 2 || bytes[8] == 4);
}
constexpr std::size_t kMemberHeader = 10;

// A thread of these has nobody to tell that memory is short: what it was at is left to the reader,
// who needs less. False: it was.
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

PackedAhead::PackedAhead(std::shared_ptr<Inflaters> inflaters, std::size_t piece)
    : inflaters_(std::move(inflaters)),
      shared_(std::make_shared<Shared>(chunk(piece))),
      apart_(piece / 4),
      next_run_(apart_) {
    const std::lock_guard lock(inflaters_->mutex_);
    inflaters_->inputs_.push_back(shared_);
}

PackedAhead::~PackedAhead() {
    const std::lock_guard lock(inflaters_->mutex_);
    std::erase(inflaters_->inputs_, shared_);
    while (!shared_->runs.empty()) {
        drop_first();
    }
    if (met_) {
        met_->to_leave = true;
    }
}

bool PackedAhead::has_threads() const {
    const std::lock_guard lock(inflaters_->mutex_);
    return inflaters_->wanted_ != 0;
}

std::size_t PackedAhead::begun() const {
    const std::lock_guard lock(inflaters_->mutex_);
    return shared_->begun();
}

std::size_t PackedAhead::pieces() const {
    const std::lock_guard lock(inflaters_->mutex_);
    return shared_->pieces.size();
}

void PackedAhead::put(PackedPiece piece) {
    const std::lock_guard lock(inflaters_->mutex_);
    if (inflaters_->wanted_ != 0) {
        seek_members(piece);
    }
    shared_->pieces.push_back(std::move(piece));
    if (!shared_->runs.empty()) {
        inflaters_->start();
        inflaters_->to_do_.notify_all();
    }
}

std::optional<PackedPiece> PackedAhead::piece_at(std::uint64_t at) {
    const std::lock_guard lock(inflaters_->mutex_);
    std::erase_if(shared_->pieces, [&](const PackedPiece& piece) { return piece.at < at; });
    const PackedPiece* const found = shared_->piece_at(at);
    return found != nullptr ? std::optional(*found) : std::nullopt;
}

void PackedAhead::passed(std::uint64_t at) {
    const std::lock_guard lock(inflaters_->mutex_);
    std::erase_if(shared_->pieces, [&](const PackedPiece& piece) { return piece.end() <= at; });
    while (!shared_->runs.empty() && shared_->runs.front()->at < at) {
        drop_first();
    }
}

bool PackedAhead::meet(std::uint64_t at) {
    passed(at);
    const std::lock_guard lock(inflaters_->mutex_);
    if (shared_->runs.empty() || shared_->runs.front()->at != at) {
        return false;
    }
    const std::shared_ptr<Run> run = shared_->runs.front();
    shared_->runs.pop_front();
    if (run->begun) {
        met_ = run;
    } else {
        shared_->forget(*run);
    }
    return met_ != nullptr;
}

std::size_t PackedAhead::give(std::span<std::byte> to) {
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

PackedAhead::Chunk PackedAhead::take_chunk() {
    Inflaters::Lock lock(inflaters_->mutex_);
    if (giving_.bytes) {
        giving_ = {};
        --shared_->chunks;
        inflaters_->to_do_.notify_one();
    }
    while (met_->full.empty() && met_->busy) {
        met_->to_leave = true;
        inflaters_->changed_.wait(lock);
    }
    if (met_->full.empty()) {
        return std::exchange(met_->filling, {});
    }
    Chunk chunk = std::move(met_->full.front());
    met_->full.pop_front();
    return chunk;
}

PackedAhead::Taken PackedAhead::take_over() {
    const std::lock_guard lock(inflaters_->mutex_);
    Taken taken{std::move(met_->inflater), std::move(met_->piece)};
    met_ = nullptr;
    return taken;
}

// One each so often: a run goes over short members.
void PackedAhead::seek_members(const PackedPiece& piece) {
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
        const auto run = std::make_shared<Run>();
        run->at = at;
        run->piece = piece;
        shared_->runs.push_back(run);
        next_run_ = at + apart_;
        at = next_run_;
    }
}

void PackedAhead::drop_first() {
    Run& run = *shared_->runs.front();
    run.to_leave = run.dropped = true;
    if (!run.busy) {
        shared_->forget(run);
        inflaters_->to_do_.notify_one();
    }
    shared_->runs.pop_front();
}

void PackedAhead::Shared::forget(Run& run) {
    chunks -= run.full.size() + (run.filling.bytes ? 1 : 0);
    run.full.clear();
    run.filling = {};
}

const PackedPiece* PackedAhead::Shared::piece_at(std::uint64_t at) const {
    const auto found = std::find_if(pieces.begin(), pieces.end(),
                                    [&](const PackedPiece& piece) { return piece.at == at; });
    return found == pieces.end() ? nullptr : &*found;
}

bool PackedAhead::Shared::is_taken(std::uint64_t at) const {
    return std::any_of(runs.begin(), runs.end(),
                       [&](const std::shared_ptr<Run>& run) { return run->at == at; });
}

std::size_t PackedAhead::Shared::begun() const {
    return static_cast<std::size_t>(
        std::count_if(runs.begin(), runs.end(), [](const auto& run) { return run->begun; }));
}

bool PackedAhead::Shared::can_go_on(const Run& run) const {
    if (run.busy || run.done) {
        return false;
    }
    if (!run.begun) {
        return chunks < kMostChunks && begun() < kMostBegun;
    }
    return run.wants_input ? piece_at(run.piece.end()) != nullptr : chunks < kMostChunks;
}

std::shared_ptr<PackedAhead::Run> PackedAhead::Shared::next() const {
    const auto found =
        std::find_if(runs.begin(), runs.end(),
                     [this](const std::shared_ptr<Run>& run) { return can_go_on(*run); });
    return found == runs.end() ? nullptr : *found;
}

// ---- the threads --------------------------------------------------------------------------------

Inflaters::~Inflaters() {
    {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
        to_do_.notify_all();
    }
    for (std::thread& thread : threads_) {
        thread.join();
    }
}

void Inflaters::start() {
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

void Inflaters::work() {
    Lock lock(mutex_);
    while (!stopped_) {
        bool found = false;
        for (std::size_t i = 0; i < inputs_.size() && !found; ++i) {
            const std::shared_ptr<Shared> input = inputs_[i];
            if (const std::shared_ptr<Run> run = input->next()) {
                go_on(lock, *input, *run);
                found = true;
            }
        }
        if (!found) {
            to_do_.wait(lock);
        }
    }
}

void Inflaters::go_on(Lock& lock, Shared& input, Run& run) {
    using Stop = Inflater::Stop;
    run.begun = run.busy = true;
    while (!run.to_leave && !stopped_ && !run.done && provide(lock, input, run)) {
        lock.unlock();
        const std::optional<Stop> stop = fill(run);
        lock.lock();
        run.wants_input = stop == Stop::kInput;
        run.done = !stop || stop == Stop::kChecksum || stop == Stop::kEnd ||
                   (stop == Stop::kBorder && input.is_taken(run.inflater->position()));
    }
    run.begun = run.inflater != nullptr;
    run.busy = false;
    if (run.dropped) {
        input.forget(run);
    }
    changed_.notify_all();
}

bool Inflaters::provide(Lock& lock, Shared& input, Run& run) {
    if (run.wants_input) {
        const PackedPiece* const next = input.piece_at(run.piece.end());
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
        if (input.chunks >= PackedAhead::kMostChunks) {
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

// Nothing: there was no memory for what it takes beforehand.
std::optional<Inflater::Stop> Inflaters::fill(Run& run) {
    const bool there = try_with_memory([&] {
        if (!run.inflater) {
            run.inflater = std::make_unique<Inflater>();
            run.inflater->take(run.piece.from(0).subspan(run.at - run.piece.at), run.piece.end());
        }
        std::vector<PackedAhead::Member>& members = run.filling.members;
        if (members.size() == members.capacity()) {
            members.reserve(std::max<std::size_t>(8, 2 * members.size()));
        }
    });
    if (!there) {
        return std::nullopt;
    }
    Inflater& inflater = *run.inflater;
    PackedAhead::Chunk& chunk = run.filling;
    inflater.put_into(std::span(*chunk.bytes).subspan(chunk.size));
    const Inflater::Stop stop = inflater.run(false);
    if (inflater.given() != 0 &&
        (chunk.members.empty() || chunk.members.back().at != inflater.member())) {
        chunk.members.push_back({chunk.size, inflater.member()});
    }
    chunk.size += inflater.given();
    return stop;
}

}  // namespace unecho::capture
