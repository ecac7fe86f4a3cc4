// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/engine.h"

#include <concepts>

#include "base/assert.h"
#include "filter/apbbf.h"
#include "filter/apbf.h"
#include "filter/apshbf.h"
#include "filter/btbf.h"
#include "filter/exact.h"
#include "filter/first.h"
#include "filter/line.h"
#include "filter/shbf_x_window.h"
#include "filter/tlbf.h"

namespace unecho::dataplane {
namespace {

// Counts the packets of a flow itself, without a digest for each.
template <typename F>
concept Counting = requires(F f, std::span<const Digest> digests, unsigned first) {
    { f.test_and_insert_first_burst(digests, first) } -> std::same_as<std::uint64_t>;
};

template <filter::SlidingFilter F>
std::uint64_t test_unjudged(F& filter, std::span<const Digest> digests, unsigned first) noexcept {
    if (first == 1) {
        return filter.test_and_insert_burst(digests);
    }
    if constexpr (Counting<F>) {
        return filter.test_and_insert_first_burst(digests, first);
    } else {
        return filter::test_and_insert_first_burst(filter, digests, first);
    }
}

template <filter::SlidingFilter F>
filter::Answers test(void* filter, std::span<const Digest> digests, filter::Moment moment,
                     unsigned first, const filter::ChanceLimits* limits) noexcept {
    F& f = *static_cast<F*>(filter);
    f.advance(moment);
    if constexpr (filter::JudgingFilter<F>) {
        if (limits != nullptr) {
            return filter::test_and_insert_first_burst(f, digests, first, *limits);
        }
    }
    UNECHO_ASSERT(limits == nullptr);
    return {test_unjudged(f, digests, first), 0};
}

// Packets of one time are one burst to the filter; a capture's times mostly differ, so all of them
// are prefetched beforehand.
template <filter::SlidingFilter F>
filter::Answers test_timed(void* filter, std::span<const Digest> digests, const Nanoseconds* times,
                           filter::GenerationClock clock, unsigned first,
                           const filter::ChanceLimits* limits) noexcept {
    F& f = *static_cast<F*>(filter);
    for (const Digest digest : digests) {
        f.prefetch(digest);
    }
    filter::Answers answers;
    for (std::size_t begin = 0; begin < digests.size();) {
        std::size_t end = begin + 1;
        while (end < digests.size() && times[end] == times[begin]) {
            ++end;
        }
        const filter::Moment moment{times[begin], clock.generation_of(times[begin])};
        const auto part = limits == nullptr ? filter::ChanceLimits(1.0F) : limits->from(begin);
        const filter::Answers some = test<F>(filter, digests.subspan(begin, end - begin), moment,
                                             first, limits == nullptr ? nullptr : &part);
        answers.echoes |= some.echoes << begin;
        answers.doubts |= some.doubts << begin;
        begin = end;
    }
    return answers;
}

template <filter::SlidingFilter F>
float chance(const void* filter, Digest digest) noexcept {
    return static_cast<const F*>(filter)->chance(digest);
}

template <filter::SlidingFilter F>
void advance(void* filter, filter::Moment moment) noexcept {
    static_cast<F*>(filter)->advance(moment);
}

template <filter::SlidingFilter F>
const filter::FilterCounters& counters(const void* filter) noexcept {
    return static_cast<const F*>(filter)->counters();
}

template <typename F>
concept Maintained = requires(F f) {
    { f.maintain() }
    noexcept;
};

template <filter::SlidingFilter F>
void maintain(void* filter) noexcept {
    static_cast<F*>(filter)->maintain();
}

template <filter::SlidingFilter F>
constexpr auto maintain_of() noexcept -> void (*)(void*) noexcept {
    if constexpr (Maintained<F>) {
        return &maintain<F>;
    } else {
        return nullptr;
    }
}

template <typename F>
concept Segmented = requires(F f) {
    { f.segments() } -> std::same_as<filter::SegmentRing&>;
};

template <filter::SlidingFilter F>
filter::SegmentRing* segments([[maybe_unused]] void* filter) noexcept {
    if constexpr (Segmented<F>) {
        return &static_cast<F*>(filter)->segments();
    } else {
        return nullptr;
    }
}

template <filter::SlidingFilter F>
constexpr EngineOps ops_of() noexcept {
    float (*chance_of)(const void*, Digest) noexcept = nullptr;
    if constexpr (filter::JudgingFilter<F>) {
        chance_of = &chance<F>;
    }
    return {&test<F>,     &test_timed<F>,   chance_of,   &advance<F>,
            &counters<F>, maintain_of<F>(), &segments<F>};
}

}  // namespace

constexpr EngineOps kLineOps = ops_of<filter::LineFilter>();
constexpr EngineOps kApbfOps = ops_of<filter::Apbf>();
constexpr EngineOps kApbbfOps = ops_of<filter::Apbbf>();
constexpr EngineOps kTlbfOps = ops_of<filter::Tlbf>();
constexpr EngineOps kBtbfOps = ops_of<filter::TimedBtbf>();
constexpr EngineOps kApshbfOps = ops_of<filter::Apshbf>();
constexpr EngineOps kShbfXOps = ops_of<filter::ShbfXWindow>();
constexpr EngineOps kExactOps = ops_of<filter::Exact>();

}  // namespace unecho::dataplane
