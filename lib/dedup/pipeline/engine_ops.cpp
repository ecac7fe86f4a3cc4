// SPDX-License-Identifier: BSD-3-Clause
#include "dedup/pipeline/engine_ops.h"

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <type_traits>
#include <variant>

#include "base/assert.h"
#include "dedup/pipeline/any_filter.h"
#include "dedup/pipeline/bits.h"
#include "filters/first_packets.h"

namespace unecho::pipeline {
namespace {

// Filters that count the packets of a flow themselves, without a digest for each packet.
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
filter::Answers test_any(F& f, std::span<const Digest> digests, unsigned first,
                         const filter::ChanceLimits* limits) noexcept {
    if constexpr (filter::ConfidenceFilter<F>) {
        if (limits != nullptr) {
            return filter::test_and_insert_first_burst(f, digests, first, *limits);
        }
    }
    UNECHO_ASSERT(limits == nullptr);
    return {test_unjudged(f, digests, first), 0};
}

template <typename F>
concept Segmented = requires(F f) {
    { f.segments() } -> std::same_as<filter::SegmentRing&>;
};

// Filters that age by generations, which a load may end.
template <typename F>
concept Loaded = requires(const F f) {
    { f.load() } -> std::same_as<std::uint64_t>;
};

// Filters that give up keys when they have no room, and report up to which generation.
template <typename F>
concept Losing = requires(const F f) {
    { f.lost_before() } -> std::same_as<std::uint64_t>;
};

// Record lost keys. Call it after each test, before time advances.
template <typename F>
void tell_losses([[maybe_unused]] const F& f, [[maybe_unused]] filter::Ageing& ageing) noexcept {
    if constexpr (Losing<F>) {
        if (const std::uint64_t before = f.lost_before(); before != 0) [[unlikely]] {
            ageing.record_loss(before);
        }
    }
}

// End the present generation, which is full. If no zeroed segment is ready, it continues: nothing
// is cleared in the packet path.
template <Loaded F>
void end_generation(F& f, filter::Ageing& ageing) noexcept {
    if constexpr (Segmented<F>) {
        if (!f.segments().has_zeroed() && !ageing.may_clear()) {
            return ageing.hold();
        }
    }
    f.advance(ageing.turn_early(f.load()));
}

// Test in parts, each of which at most fills the present generation: it ends before the packet that
// finds it full, whatever the burst. A packet adds at most `first` to the load.
template <Loaded F>
filter::Answers test_in_parts(F& f, filter::Ageing& ageing, std::span<const Digest> digests,
                              unsigned first, const filter::ChanceLimits* limits) noexcept {
    filter::Answers answers;
    for (std::size_t begin = 0; begin < digests.size();) {
        if (ageing.room(f.load()) == 0) {
            end_generation(f, ageing);
        }
        const std::size_t rest = digests.size() - begin;
        const std::uint64_t room = ageing.room(f.load());
        const std::size_t n = room == 0 ? rest : std::clamp<std::uint64_t>(room / first, 1, rest);
        const auto part = limits == nullptr ? filter::ChanceLimits(1.0F) : limits->from(begin);
        const filter::Answers some =
            test_any(f, digests.subspan(begin, n), first, limits == nullptr ? nullptr : &part);
        tell_losses(f, ageing);
        answers.echoes |= some.echoes << begin;
        answers.doubts |= some.doubts << begin;
        begin += n;
    }
    return answers;
}

template <filter::SlidingFilter F>
filter::Answers test(void* filter, [[maybe_unused]] filter::Ageing& ageing,
                     std::span<const Digest> digests, filter::TimerSnapshot published,
                     unsigned first, const filter::ChanceLimits* limits) noexcept {
    F& f = *static_cast<F*>(filter);
    if constexpr (Loaded<F>) {
        f.advance(ageing.advance_to(published, f.load()));
        if (ageing.room(f.load()) < digests.size() * first) [[unlikely]] {
            return test_in_parts(f, ageing, digests, first, limits);
        }
    } else {
        f.advance({.now = published.now});
    }
    const filter::Answers answers = test_any(f, digests, first, limits);
    tell_losses(f, ageing);
    return answers;
}

template <typename F>
concept Prepared = requires(const F f, std::span<const Digest> digests,
                            filter::PreparedBurst& burst) {
    f.prepare(digests, burst);
};

template <Prepared F>
void prepare(const void* filter, std::span<const Digest> digests,
             filter::PreparedBurst& burst) noexcept {
    static_cast<const F*>(filter)->prepare(digests, burst);
}

template <Prepared F>
void prefetch_lines(const void* filter, filter::PreparedBurst& burst, unsigned digests) noexcept {
    static_cast<const F*>(filter)->prefetch_lines(burst, digests);
}

template <Prepared F>
filter::Answers test_prepared(void* filter, filter::Ageing& ageing, std::span<const Digest> digests,
                              const filter::PreparedBurst& burst, filter::TimerSnapshot published,
                              const filter::ChanceLimits* limits,
                              filter::PreparedBurst* next) noexcept {
    static_assert(Loaded<F> && filter::ConfidenceFilter<F>);
    F& f = *static_cast<F*>(filter);
    f.advance(ageing.advance_to(published, f.load()));
    if (ageing.room(f.load()) < digests.size()) [[unlikely]] {
        return test_in_parts(f, ageing, digests, 1, limits);
    }
    const filter::Answers answers = limits != nullptr
                                        ? f.test_and_insert_burst(burst, *limits, next)
                                        : filter::Answers{f.test_and_insert_burst(burst, next), 0};
    tell_losses(f, ageing);
    return answers;
}

// Packets of one time are one burst to the filter. The times of a capture mostly differ, so all
// digests are prefetched beforehand.
template <filter::SlidingFilter F>
filter::Answers test_timed(void* filter, filter::Ageing& ageing, std::span<const Digest> digests,
                           const Nanoseconds* times, unsigned first,
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
        const auto part = limits == nullptr ? filter::ChanceLimits(1.0F) : limits->from(begin);
        const filter::Answers some =
            test<F>(filter, ageing, digests.subspan(begin, end - begin),
                    ageing.published_at(times[begin]), first, limits == nullptr ? nullptr : &part);
        answers.echoes |= some.echoes << begin;
        answers.doubts |= some.doubts << begin;
        begin = end;
    }
    return answers;
}

// Test the slots of filters/first_packets.h one by one. The chance limit applies only to the last.
template <filter::SlidingFilter F>
filter::Answers test_slots(F& f, Digest digest, unsigned first,
                           const PredecessorResult& beside) noexcept {
    const bool refreshes = f.params().policy() == filter::EchoPolicy::kRefresh;
    for (unsigned i = 0; i < first; ++i) {
        const Digest slot = filter::first_slot(digest, i, first);
        const bool judged = beside.limit && i + 1 == first;
        if ((beside.known_slots >> i & 1) != 0) {
            if constexpr (filter::ConfidenceFilter<F>) {
                if (judged && f.chance(slot) > *beside.limit - beside.chance) {
                    f.insert(slot);
                    return {0, 1};
                }
            } else if (judged && beside.chance > *beside.limit) {
                const bool known = f.test_and_insert(slot);
                return {std::uint64_t{known}, std::uint64_t{!known}};
            }
            if (refreshes) {
                f.test_and_insert(slot);
            }
            continue;
        }
        if constexpr (filter::ConfidenceFilter<F>) {
            if (judged) {
                return f.test_and_insert_burst({&slot, 1},
                                               filter::ChanceLimits(*beside.limit - beside.chance));
            }
        }
        if (!f.test_and_insert(slot)) {
            return {};
        }
    }
    return {1, 0};
}

template <filter::SlidingFilter F>
filter::Answers test_with_predecessor(void* filter, [[maybe_unused]] filter::Ageing& ageing,
                                      Digest digest, filter::TimerSnapshot published,
                                      unsigned first, const PredecessorResult& beside) noexcept {
    F& f = *static_cast<F*>(filter);
    if constexpr (Loaded<F>) {
        f.advance(ageing.advance_to(published, f.load()));
        if (ageing.room(f.load()) == 0) [[unlikely]] {
            end_generation(f, ageing);
        }
    } else {
        f.advance({.now = published.now});
    }
    if constexpr (Counting<F>) {
        const bool believed = !beside.limit || beside.chance <= *beside.limit;
        const auto others = believed ? static_cast<unsigned>(std::popcount(beside.known_slots)) : 0;
        return {std::uint64_t{f.test_and_insert_first(digest, first, others)}, 0};
    } else {
        const filter::Answers answers = test_slots(f, digest, first, beside);
        tell_losses(f, ageing);
        return answers;
    }
}

template <filter::SlidingFilter F>
std::uint64_t known_slots(const void* filter, Digest digest, unsigned first) noexcept {
    const F& f = *static_cast<const F*>(filter);
    if constexpr (Counting<F>) {
        return first_bits(std::min(f.count(digest, first), first));
    } else {
        std::uint64_t slots = 0;
        for (unsigned i = 0; i < first; ++i) {
            slots |= std::uint64_t{f.query(filter::first_slot(digest, i, first))} << i;
        }
        return slots;
    }
}

template <filter::SlidingFilter F>
float chance(const void* filter, Digest digest) noexcept {
    return static_cast<const F*>(filter)->chance(digest);
}

template <filter::SlidingFilter F>
void advance(void* filter, [[maybe_unused]] filter::Ageing& ageing,
             filter::TimerSnapshot published) noexcept {
    F& f = *static_cast<F*>(filter);
    if constexpr (Loaded<F>) {
        f.advance(ageing.advance_to(published, f.load()));
    } else {
        f.advance({.now = published.now});
    }
}

template <filter::SlidingFilter F>
filter::WindowState window([[maybe_unused]] const void* filter,
                           [[maybe_unused]] const filter::Ageing& ageing,
                           Nanoseconds now) noexcept {
    if constexpr (Loaded<F>) {
        return ageing.state(now);
    } else {
        const filter::AchievedWindow& kept = static_cast<const F*>(filter)->kept();
        return {kept.at(now), kept.shortest(), kept.shortest_at(), 0, 0};
    }
}

template <filter::SlidingFilter F>
std::uint64_t fill(const void* filter, [[maybe_unused]] const filter::Ageing& ageing) noexcept {
    const F& f = *static_cast<const F*>(filter);
    if constexpr (Loaded<F>) {
        return ageing.fill(f.load());
    } else {
        return f.used();
    }
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

template <filter::SlidingFilter F>
filter::SegmentRing* segments([[maybe_unused]] void* filter) noexcept {
    if constexpr (Segmented<F>) {
        return &static_cast<F*>(filter)->segments();
    } else {
        return nullptr;
    }
}

// Filters that note which points showed a digest.
template <typename F>
concept NotingPoints = requires(F f, std::span<const Digest> digests,
                                std::span<const std::uint8_t> points) {
    { f.note_points(digests, points) }
    noexcept;
};

template <filter::SlidingFilter F>
constexpr EngineOps table_of() noexcept {
    float (*chance_of)(const void*, Digest) noexcept = nullptr;
    if constexpr (filter::ConfidenceFilter<F>) {
        chance_of = &chance<F>;
    }
    EngineOps ops{};
    if constexpr (Prepared<F>) {
        ops.prepare = &prepare<F>;
        ops.prefetch_lines = &prefetch_lines<F>;
        ops.test_prepared = &test_prepared<F>;
    }
    ops.test = &test<F>;
    ops.test_timed = &test_timed<F>;
    ops.test_with_predecessor = &test_with_predecessor<F>;
    ops.known_slots = &known_slots<F>;
    ops.chance = chance_of;
    ops.advance = &advance<F>;
    ops.counters = &counters<F>;
    ops.window = &window<F>;
    ops.fill = &fill<F>;
    ops.maintain = maintain_of<F>();
    if constexpr (NotingPoints<F>) {
        ops.note_points = [](void* filter, std::span<const Digest> digests,
                             std::span<const std::uint8_t> points) noexcept {
            static_cast<F*>(filter)->note_points(digests, points);
        };
        ops.start_points = [](void* filter) noexcept { static_cast<F*>(filter)->start_points(); };
        ops.miss_points = [](void* filter) noexcept { static_cast<F*>(filter)->miss_points(); };
        ops.forgotten = [](const void* filter) noexcept -> const filter::ForgottenByPoints& {
            return static_cast<const F*>(filter)->forgotten();
        };
    }
    ops.segments = &segments<F>;
    return ops;
}

template <typename... Filters>
constexpr auto tables_of(std::type_identity<std::variant<Filters...>> /*filters*/) noexcept {
    return std::array{table_of<Filters>()...};
}

constexpr auto kTables = tables_of(std::type_identity<AnyFilter>{});

}  // namespace

const EngineOps& ops_at(std::size_t index) noexcept {
    return kTables[index];
}

}  // namespace unecho::pipeline
