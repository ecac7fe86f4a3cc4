// SPDX-License-Identifier: BSD-3-Clause
#include "offline/deduplicator.h"

#include <algorithm>
#include <utility>

#include "engines/isa.h"
#include "offline/pages.h"
#include "pipeline/bits.h"

namespace unecho::offline {
namespace {

using config::Engine;
using pipeline::Reason;

// Those that can judge, best first in speed or memory: the choice of "auto" without "exact".
constexpr std::array kTakeOver{Engine::kLine, Engine::kApbbf};

// A packet in the window, on its way from the table to the filter.
struct Memory {
    Digest digest;
    Nanoseconds time;
};

// The table's part of the memory, where a filter may take over: table and memories are there at a
// time, then memories and filter. A packet takes 44 bytes or more in the table.
constexpr std::uint64_t table_part(std::uint64_t memory) {
    return memory / (44 + sizeof(Memory)) * 44;
}

// While the oldest packets are forgotten it is asked so many times, in as many new packets as the
// table holds, whether that loses echoes.
constexpr std::uint64_t kLooks = 8;

// What a full table remembers of the window.
struct Held {
    std::uint64_t live = 0;
    Nanoseconds reach = 1;  // age of the oldest

    [[nodiscard]] double rate() const {
        return static_cast<double>(live) * kSecond / static_cast<double>(reach);
    }
};

Held held_by(const ExactDecider& exact, const DigestedBurst& part) {
    Held out;
    exact.for_each_live(part.burst, part.place, [&](Digest, Nanoseconds time) {
        if (out.live++ == 0) {
            out.reach = std::max<Nanoseconds>(part.burst.times[0] - time, 1);
        }
    });
    return out;
}

std::string full_text(const DigestedBurst& part) {
    return "packet " + std::to_string(part.place.numbers[0]) +
           ": more packets in the window than fit into --memory";
}

// Clears the bits of a burst that begins with bit `begin`.
void clear_bits(std::vector<std::uint64_t>& words, std::size_t begin, std::uint64_t mask) {
    const std::size_t shift = begin % 64;
    words[begin / 64] &= ~(mask << shift);
    if (shift != 0 && mask >> (64 - shift) != 0) {
        words[begin / 64 + 1] &= ~(mask >> (64 - shift));
    }
}

}  // namespace

Result<std::unique_ptr<Deduplicator>> Deduplicator::make(
    const Options& options, std::uint64_t memory, std::optional<std::uint64_t> most_packets) {
    // Before the first packet, whichever engine may take over later.
    if (const auto isa = engines::IsaChoice::detect().any(); !isa) {
        return tl::unexpected(isa.error());
    }
    std::unique_ptr<Deduplicator> out(new Deduplicator(options));
    Status status;
    const auto take = [&](auto made, auto& place) {
        if (made) {
            place = std::move(*made);
        } else {
            status = tl::unexpected(made.error());
        }
    };
    if (options.editcap) {
        take(EditcapDecider::make(options, memory), out->other_);
    } else if (options.engine == Engine::kAuto || options.engine == Engine::kExact) {
        const bool shared = options.engine == Engine::kAuto && options.fits_filters();
        if (shared) {
            const std::uint64_t sample = EchoAges::part(memory);
            out->memory_ = memory;
            take(EchoAges::make(options, sample), out->ages_);
            memory = table_part(memory - sample);
        }
        take(ExactDecider::make(options, memory), out->exact_);
    } else {
        take(FilterDecider::make(options, {&options.engine, 1}, memory, most_packets), out->other_);
    }
    if (!status) {
        return tl::unexpected(status.error());
    }
    return out;
}

Status Deduplicator::decide(std::vector<DigestedBurst>& bursts, std::size_t packets,
                            bool with_copies, Verdicts& verdicts) {
    verdicts.keep.assign((packets + 63) / 64, ~std::uint64_t{0});
    verdicts.copies.clear();
    std::size_t begin = 0;
    Originals originals;
    for (DigestedBurst& part : bursts) {
        if (memory_ != 0 && !exact_->has_room(part.burst, part.place)) {
            if (const Status full = on_full(part); !full) {
                return full;
            }
        }
        begin_ = begin_.value_or(part.burst.times[0]);
        now_ = part.burst.times[part.burst.count - 1];
        decider().decide(part.burst, part.place, originals);
        count(part.burst);
        if (memory_ != 0) {
            ages_->add(part.burst, part.place, originals);
        }
        if (part.burst.echoes != 0) {
            clear_bits(verdicts.keep, begin, part.burst.echoes);
            if (with_copies) {
                keep_copies(part, originals, begin, verdicts);
            }
        }
        begin += part.burst.count;
    }
    return {};
}

// A filter that holds the whole window loses nothing of it. One that does not still reaches further
// back than the table, but drops by accident and knows no originals: only where echoes are lost.
Status Deduplicator::on_full(const DigestedBurst& part) {
    if (part.place.first_number < next_look_) {
        return {};
    }
    const Held held = held_by(*exact_, part);
    const bool young = ages_->far_younger_than(held.reach);
    const auto stays = [&] { return young && filter_rate_.value_or(held.rate()) < held.rate(); };
    if (!stays()) {
        auto plan = FilterDecider::plan(options_, kTakeOver, memory_ - held.live * sizeof(Memory));
        if (!plan) {
            memory_ = 0;
            ages_.reset();
            notes_.push_back(full_text(part) + ", and no filter can take over (" +
                             plan.error().context + ")");
            return {};
        }
        filter_rate_ = plan->keys_per_second;
        if (!stays()) {
            return hand_over(part, held.live, std::move(*plan));
        }
    }
    next_look_ = part.place.first_number + std::max<std::uint64_t>(held.live / kLooks, kMaxBurst);
    return {};
}

Status Deduplicator::hand_over(const DigestedBurst& part, std::uint64_t live,
                               engines::FilterPlan plan) {
    memory_ = 0;
    ages_.reset();
    const std::string full = full_text(part);
    auto pages = Pages::allocate(live * sizeof(Memory));
    if (!pages) {
        return tl::unexpected(pages.error());
    }
    auto* const memories = reinterpret_cast<Memory*>(pages->bytes().data());
    Memory* end = memories;
    exact_->for_each_live(part.burst, part.place, [&](Digest digest, Nanoseconds time) {
        *end++ = {digest, time};
    });
    forgotten_ = exact_->forgotten();
    before_ = exact_->window(now_);
    before_at_ = now_;
    exact_.reset();
    auto filter = FilterDecider::make(std::move(plan));
    if (!filter) {
        return fail(filter.error().code, full + ": " + filter.error().context);
    }
    for (const Memory* one = memories; one != end; ++one) {
        (*filter)->remember(one->digest, one->time);
    }
    (*filter)->end_of_memories();
    handed_over_ = part.place.numbers[0];
    other_ = std::move(*filter);
    notes_.push_back(full + "; from here on " + other_->text() + "; planned for " +
                     format_count(*planned()) +
                     " new packets in a window, with more the window shrinks");
    return {};
}

std::optional<filter::WindowState> Deduplicator::window() const {
    auto state = decider().window(now_);
    if (state && before_) {
        state->achieved = std::min(state->achieved, before_->achieved + (now_ - before_at_));
        if (before_->shortest < state->shortest) {
            state->shortest = before_->shortest;
            state->shortest_at = before_->shortest_at;
        }
    }
    if (state && state->shortest < options_.window_time()) {
        state->shortest_at -= std::min(begin_.value_or(0), state->shortest_at);
    }
    return state;
}

void Deduplicator::count(const pipeline::Burst& burst) {
    const auto add = [&](const pipeline::Outcome& outcome) {
        std::uint64_t bytes = 0;
        pipeline::for_each_bit(outcome.mask, [&](unsigned i) { bytes += burst.lengths[i]; });
        reasons_[static_cast<std::size_t>(outcome.reason)].add(
            static_cast<std::uint64_t>(std::popcount(outcome.mask)), bytes);
    };
    const pipeline::Settlement settled = pipeline::settle(burst, pipeline::EchoAction::kDrop);
    std::for_each(settled.forward.begin(), settled.forward.end(), add);
    add(settled.away);
    pipeline::for_each_bit(burst.keys.non_ip,
                           [&](unsigned i) { non_ip_.add(burst.link, burst.frames[i]); });
}

// begin: the burst's first record in its batch.
void Deduplicator::keep_copies(const DigestedBurst& part, const Originals& originals,
                               std::size_t begin, Verdicts& verdicts) {
    pipeline::for_each_bit(part.burst.echoes, [&](unsigned i) {
        EchoPair copy;
        copy.record = begin + i;
        copy.number = part.place.numbers[i];
        copy.file = part.place.files[i];
        copy.known = originals.known;
        if (originals.known) {
            copy.original = originals.numbers[i];
            copy.original_file = originals.files[i];
            copy.age = originals.ages[i];
        }
        verdicts.copies.push_back(copy);
    });
}

}  // namespace unecho::offline
