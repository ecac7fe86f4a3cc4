// SPDX-License-Identifier: BSD-3-Clause
// Sliced, timed and growing filters and Bloom trees against exact sets and models made of ordered
// sets and maps, on random streams over small and odd geometries.
#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/ids.h"
#include "filters/bits.h"
#include "filters/sets/bloom_tree.h"
#include "filters/sets/growing.h"
#include "filters/sets/sliced.h"
#include "filters/sets/sliced_timers.h"
#include "streams.h"
#include "support/filter_memory.h"
#include "support/sanitizers.h"
#include "support/seed.h"
#include "support/slices.h"
#include "support/tree.h"
#include "support/window_oracle.h"

namespace unecho::test::slicing_test {
namespace {

using namespace filter;

using Sliced = SlicedInstance<SlicedFilter, SlicedParams>;
using Timers = SlicedInstance<SlicedTimers, SlicedTimersParams>;
using Cell = std::pair<unsigned, std::uint64_t>;

constexpr Slicing kSlicings[] = {Slicing::kHorizontal, Slicing::kVertical, Slicing::kDicedHv,
                                 Slicing::kDicedVh};

unsigned up_to(Random& random, unsigned n) {
    return 1 + static_cast<unsigned>(random.below(n));
}

SliceGeometry random_geometry(Random& random, unsigned cells) {
    SliceGeometry geometry;
    geometry.slicing = kSlicings[random.below(4)];
    const bool diced =
        geometry.slicing == Slicing::kDicedHv || geometry.slicing == Slicing::kDicedVh;
    geometry.k = up_to(random, random.one_in(5) ? 64 : 9);
    geometry.S = up_to(random, random.one_in(5) ? 40 : 7);
    geometry.S2 = diced ? up_to(random, 5) : 1;
    geometry.m = std::uint64_t{geometry.slices()} * up_to(random, 1 + cells / geometry.slices());
    return geometry;
}

std::string text(const SliceGeometry& g) {
    return "slicing " + std::to_string(static_cast<int>(g.slicing)) + " k " + std::to_string(g.k) +
           " m " + std::to_string(g.m) + " S " + std::to_string(g.S) + " S' " +
           std::to_string(g.S2);
}

SliceGeometry cut(Slicing slicing, unsigned k, std::uint64_t m, unsigned S, unsigned S2 = 1) {
    return {.slicing = slicing, .k = k, .m = m, .S = S, .S2 = S2};
}

// --- Sliced filters ---

// The filter's definition as a set of cells.
struct SlicedModel {
    explicit SlicedModel(const SliceGeometry& geometry) : map(geometry) {}

    [[nodiscard]] bool query(Digest digest, unsigned needed) const {
        unsigned live = 0;
        for (const CellPlace& place : map.places(digest)) {
            if (failed.contains(place.slice)) {
                continue;
            }
            ++live;
            if (!cells.contains({place.slice, place.cell})) {
                return false;
            }
        }
        return live >= needed;
    }
    void insert(Digest digest) {
        for (const CellPlace& place : map.places(digest)) {
            if (!failed.contains(place.slice)) {
                cells.insert({place.slice, place.cell});
            }
        }
        ++insertions;
    }
    // Count an operation: a message to each live slice, and an access for each of its cells.
    void contact(Digest digest) {
        std::set<unsigned> contacted;
        for (const CellPlace& place : map.places(digest)) {
            if (!failed.contains(place.slice)) {
                contacted.insert(place.slice);
                ++accesses[place.slice];
            }
        }
        messages += contacted.size();
    }

    SliceMap map;
    std::set<Cell> cells;
    std::set<unsigned> failed;
    std::map<unsigned, std::uint64_t> accesses;
    std::uint64_t messages = 0;
    std::uint64_t insertions = 0;
};

TEST(sliced_property, answers_are_the_models_whatever_fails_and_returns) {
    SCOPED_TRACE(seed_note());
    for (unsigned c = 0; c < 400; ++c) {
        Random random(1000 + c);
        const SliceGeometry geometry = random_geometry(random, 600);
        SCOPED_TRACE(text(geometry));
        const unsigned least = c % 3 == 2 ? up_to(random, geometry.k) : 0;
        const FailedCells failed[] = {FailedCells::kSet, FailedCells::kUnset,
                                      FailedCells::kAtLeast};
        const unsigned needed[] = {0, geometry.k, least};
        Sliced i(*SlicedParams::make({.geometry = geometry, .failed = failed[c % 3], .x = least}));
        SlicedModel model(geometry);
        Digests digests(random);
        for (unsigned step = 0; step < 300; ++step) {
            if (random.one_in(20)) {
                const auto slice = static_cast<unsigned>(random.below(geometry.slices()));
                if (random.one_in(2)) {
                    i.filter.fail(slice);
                    model.failed.insert(slice);
                } else {
                    i.filter.restore(slice);
                    model.failed.erase(slice);
                }
            }
            const Digest digest = digests.next();
            const bool expected = model.query(digest, needed[c % 3]);
            ASSERT_EQ(i.filter.query(digest), expected);
            model.contact(digest);  // by this query, and by the operation below
            model.contact(digest);
            if (random.one_in(3)) {
                i.filter.insert(digest);
                model.insert(digest);
            } else {
                ASSERT_EQ(i.filter.test_and_insert(digest), expected);
                if (!expected) {
                    model.insert(digest);
                }
            }
            ASSERT_EQ(i.filter.counters().messages, model.messages);
        }
        EXPECT_EQ(i.filter.counters().insertions, model.insertions);
        for (unsigned slice = 0; slice < geometry.slices(); ++slice) {
            ASSERT_EQ(i.filter.slices()[slice].accesses, model.accesses[slice]);
        }
    }
}

// A plain Bloom filter by its definition.
struct Plain {
    Plain(unsigned k, std::uint64_t m) : k(k), bits(m) {}
    bool test_and_insert(Digest digest) {
        bool echo = true;
        for (unsigned salt = 1; salt <= k; ++salt) {
            const std::uint64_t bit = reduce(remix(digest, salt), bits.size());
            echo = echo && bits[bit];
            bits[bit] = true;
        }
        return echo;
    }
    unsigned k;
    std::vector<bool> bits;
};

// Expect equal answers and messages, up to saturation.
template <typename A, typename B>
void expect_same_answers(A& a, B& b, Random& random) {
    Digests digests(random);
    for (unsigned step = 0; step < 400; ++step) {
        const Digest digest = digests.next();
        ASSERT_EQ(a.test_and_insert(digest), b.test_and_insert(digest)) << step;
    }
}

TEST(sliced_property, one_slice_or_vertical_ones_answer_as_the_plain_filter) {
    SCOPED_TRACE(seed_note());
    for (unsigned c = 0; c < 300; ++c) {
        Random random(2000 + c);
        const unsigned k = up_to(random, 10);
        const unsigned S = c % 3 == 0 ? 1 : up_to(random, 50);
        const std::uint64_t m = std::uint64_t{S} * up_to(random, 900 / S + 1);
        const Slicing slicing = S == 1 ? kSlicings[c % 4] : Slicing::kVertical;
        SCOPED_TRACE(text(cut(slicing, k, m, S)));
        Sliced i(*SlicedParams::make({.geometry = cut(slicing, k, m, S)}));
        Plain plain(k, m);
        expect_same_answers(i.filter, plain, random);
    }
}

TEST(sliced_property, diced_into_one_answers_as_the_plain_slicing) {
    SCOPED_TRACE(seed_note());
    for (unsigned c = 0; c < 300; ++c) {
        Random random(3000 + c);
        const unsigned k = up_to(random, 10);
        const unsigned S = up_to(random, 20);
        const std::uint64_t m = std::uint64_t{S} * up_to(random, 900 / S + 1);
        const bool hv = c % 2 == 0;
        const auto plain = cut(hv ? Slicing::kHorizontal : Slicing::kVertical, k, m, S);
        const auto diced = cut(hv ? Slicing::kDicedHv : Slicing::kDicedVh, k, m, S, 1);
        // The reverse: one slice, diced into S.
        const auto inner = cut(hv ? Slicing::kDicedVh : Slicing::kDicedHv, k, m, 1, S);
        SCOPED_TRACE(text(plain));
        Sliced a(*SlicedParams::make({.geometry = plain}));
        Sliced b(*SlicedParams::make({.geometry = diced}));
        Sliced d(*SlicedParams::make({.geometry = inner}));
        Random again = random;
        expect_same_answers(a.filter, b.filter, random);
        Sliced e(*SlicedParams::make({.geometry = plain}));
        expect_same_answers(e.filter, d.filter, again);
        EXPECT_EQ(a.filter.counters().messages, b.filter.counters().messages);
        EXPECT_EQ(a.filter.counters().messages, d.filter.counters().messages);
        for (unsigned slice = 0; slice < S; ++slice) {
            EXPECT_EQ(a.sites.memory()[slice], b.sites.memory()[slice]);
            EXPECT_EQ(a.filter.slices()[slice].accesses, b.filter.slices()[slice].accesses);
            EXPECT_EQ(a.sites.memory()[slice], d.sites.memory()[slice]);
        }
    }
}

// --- Timers ---

// The definition, in ticks that never wrap.
class TimersModel {
  public:
    explicit TimersModel(const SlicedTimersParams& params)
        : params_(params), map_(params.geometry()) {}

    void advance(std::uint64_t generation) {
        if (params_.clock() == TimerClock::kGenerations) {
            now_ = std::max(now_, generation);
        }
    }
    [[nodiscard]] bool query(Digest digest) const {
        unsigned live = 0;
        unsigned largest = 0;
        std::map<std::uint64_t, unsigned> groups;
        for (const CellPlace& place : map_.places(digest)) {
            if (failed_.contains(place.slice)) {
                continue;
            }
            ++live;
            const auto found = written_.find({place.slice, place.cell});
            if (found == written_.end() || now_ - found->second >= params_.w()) {
                return false;
            }
            largest = std::max(largest, ++groups[found->second]);
        }
        const unsigned unknown = params_.geometry().k - live;
        return live >= params_.needed() && largest + unknown >= params_.x();
    }
    void insert(Digest digest) {
        ++insertions_;
        now_ += params_.clock() == TimerClock::kInsertions ? 1 : 0;
        for (const CellPlace& place : map_.places(digest)) {
            if (!failed_.contains(place.slice)) {
                written_[{place.slice, place.cell}] = now_;
            }
        }
    }
    bool test_and_insert(Digest digest) {
        const bool echo = query(digest);
        if (!echo || params_.policy() == EchoPolicy::kRefresh) {
            insert(digest);
        }
        return echo;
    }
    void fail(unsigned slice) { failed_.insert(slice); }
    void restore(unsigned slice) {
        if (failed_.erase(slice) != 0) {
            std::erase_if(written_, [=](const auto& timer) { return timer.first.first == slice; });
        }
    }
    void clear() { written_.clear(); }
    [[nodiscard]] std::uint64_t insertions() const { return insertions_; }

  private:
    SlicedTimersParams params_;
    SliceMap map_;
    std::uint64_t now_ = 0;
    std::uint64_t insertions_ = 0;
    std::map<Cell, std::uint64_t> written_;
    std::set<unsigned> failed_;
};

SlicedTimersParams random_timers(Random& random, std::uint64_t cells) {
    const SliceGeometry geometry = random_geometry(random, static_cast<unsigned>(cells));
    const unsigned windows[] = {
        1, 2, 3, up_to(random, 40), up_to(random, 1000), 65534, 65533, up_to(random, 65534)};
    const bool least = random.one_in(4);
    return *SlicedTimersParams::make(
        {.geometry = geometry,
         .w = windows[random.below(std::size(windows))],
         .x = random.one_in(2) ? 1 : up_to(random, geometry.k),
         .clock = random.one_in(3) ? TimerClock::kInsertions : TimerClock::kGenerations,
         .policy = random.one_in(2) ? EchoPolicy::kFixed : EchoPolicy::kRefresh,
         .failed = least ? FailedCells::kAtLeast
                         : (random.one_in(2) ? FailedCells::kSet : FailedCells::kUnset),
         .live = least ? up_to(random, geometry.k) : 0});
}

// Draw a number of ticks: mostly 0 or 1, sometimes the edges of the window and the timers' cycle.
std::uint64_t random_ticks(Random& random, std::uint64_t w) {
    if (!random.one_in(30)) {
        return random.one_in(4) ? 1 : 0;
    }
    const std::uint64_t steps[] = {2,         w - 1,           w,         w + 1,
                                   w / 2,     kTimerCycle - 1, 65535,     65536,
                                   1'000'003, 131070,          65535 - w, std::uint64_t{1} << 40};
    return steps[random.below(std::size(steps))];
}

TEST(timers_property, answers_are_the_models_through_wraps_and_failures) {
    SCOPED_TRACE(seed_note());
    for (unsigned c = 0; c < quarter_under_asan(300U); ++c) {
        Random random(4000 + c);
        const SlicedTimersParams params = random_timers(random, 300);
        SCOPED_TRACE(text(params.geometry()) + " w " + std::to_string(params.w()) + " x " +
                     std::to_string(params.x()));
        Timers i(params);
        TimersModel model(params);
        Digests digests(random);
        std::uint64_t generation = 0;
        for (unsigned step = 0; step < 400; ++step) {
            generation += random_ticks(random, params.w());
            i.filter.advance({.generation = generation});
            model.advance(generation);
            if (random.one_in(30)) {
                const auto slice = static_cast<unsigned>(random.below(params.geometry().slices()));
                if (random.one_in(3)) {
                    i.filter.fail(slice);
                    model.fail(slice);
                } else {
                    i.filter.restore(slice);
                    model.restore(slice);
                }
            }
            if (random.one_in(200)) {
                i.filter.clear();
                model.clear();
            }
            const Digest digest = digests.next();
            ASSERT_EQ(i.filter.query(digest), model.query(digest)) << step;
            ASSERT_EQ(i.filter.test_and_insert(digest), model.test_and_insert(digest)) << step;
        }
        EXPECT_EQ(i.filter.counters().insertions, model.insertions());
    }
}

TEST(timers_property, a_burst_is_its_digests_in_order) {
    SCOPED_TRACE(seed_note());
    for (unsigned c = 0; c < 100; ++c) {
        Random random(7000 + c);
        const SlicedTimersParams params = random_timers(random, 2000);
        Timers burst(params);
        Timers single(params);
        Digests digests(random);
        std::uint64_t generation = 0;
        for (unsigned step = 0; step < 20; ++step) {
            generation += random_ticks(random, params.w());
            burst.filter.advance({.generation = generation});
            single.filter.advance({.generation = generation});
            std::vector<Digest> batch;
            for (std::uint64_t n = random.below(kMaxBurst + 1); n > 0; --n) {
                batch.push_back(digests.next());
            }
            std::uint64_t expected = 0;
            for (std::size_t n = 0; n < batch.size(); ++n) {
                expected |= std::uint64_t{single.filter.test_and_insert(batch[n])} << n;
            }
            ASSERT_EQ(burst.filter.test_and_insert_burst(batch), expected);
        }
        EXPECT_EQ(burst.filter.messages(), single.filter.messages());
    }
}

// --- Growth ---

// The definition, in sets of bits.
class ChainModel {
  public:
    explicit ChainModel(const GrowingParams& params) : params_(params), chain_(1) {}

    [[nodiscard]] bool query(Digest digest) const {
        const std::set<std::uint64_t> bits = bits_of(digest);
        return std::any_of(chain_.begin(), chain_.end(), [&](const Stage& stage) {
            return std::includes(stage.bits.begin(), stage.bits.end(), bits.begin(), bits.end());
        });
    }
    void insert(Digest digest) {
        const bool full = params_.by() == GrowBy::kDensity
                              ? chain_.back().bits.size() > params_.limit()
                              : chain_.back().insertions == params_.limit() + overfull_;
        if (full && chain_.size() < params_.filters()) {
            chain_.emplace_back();
        } else if (full) {
            ++overfull_;
        }
        for (const std::uint64_t bit : bits_of(digest)) {
            chain_.back().bits.insert(bit);
        }
        ++chain_.back().insertions;
    }
    [[nodiscard]] std::size_t filters() const { return chain_.size(); }
    [[nodiscard]] std::size_t set_bits() const { return chain_.back().bits.size(); }
    [[nodiscard]] std::uint64_t overfull() const { return overfull_; }

  private:
    struct Stage {
        std::set<std::uint64_t> bits;
        std::uint64_t insertions = 0;
    };

    [[nodiscard]] std::set<std::uint64_t> bits_of(Digest digest) const {
        std::set<std::uint64_t> bits;
        for (unsigned salt = 1; salt <= params_.k(); ++salt) {
            bits.insert(reduce(remix(digest, salt), params_.m()));
        }
        return bits;
    }

    GrowingParams params_;
    std::vector<Stage> chain_;
    std::uint64_t overfull_ = 0;
};

GrowingParams random_chain(Random& random, GrowBy by) {
    const std::uint64_t m = 2 + random.below(700);
    return *GrowingParams::make(
        {.k = up_to(random, 9),
         .m = m,
         .filters = up_to(random, 12),
         .by = by,
         .limit = by == GrowBy::kDensity ? 1 + random.below(m - 1) : 1 + random.below(80)});
}

TEST(growing_property, no_false_negative_and_the_chain_is_the_models) {
    SCOPED_TRACE(seed_note());
    for (unsigned c = 0; c < 300; ++c) {
        Random random(8000 + c);
        const GrowingParams params =
            random_chain(random, c % 2 == 0 ? GrowBy::kDensity : GrowBy::kCardinality);
        FilterMemory memory(GrowingFilter::bytes(params));
        GrowingFilter filter(params, memory.span());
        ChainModel model(params);
        std::set<Digest> seen;
        std::uint64_t insertions = 0;
        Digests digests(random);
        for (unsigned step = 0; step < 400; ++step) {
            const Digest digest = digests.next();
            const bool expected = model.query(digest);
            ASSERT_TRUE(expected || !seen.contains(digest));
            ASSERT_EQ(filter.query(digest), expected) << step;
            const bool anyway = random.one_in(6);
            if (anyway) {
                filter.insert(digest);
            } else {
                ASSERT_EQ(filter.test_and_insert(digest), expected);
            }
            if (anyway || !expected) {
                model.insert(digest);
                ++insertions;
            }
            seen.insert(digest);
            ASSERT_EQ(filter.filters(), model.filters());
            ASSERT_EQ(filter.youngest_set_bits(), model.set_bits());
        }
        EXPECT_EQ(filter.counters().overfull, model.overfull());
        EXPECT_EQ(filter.counters().insertions, insertions);
    }
}

// --- Trees ---

BloomTreeSpec random_tree(Random& random, bool room) {
    BloomTreeSpec spec;
    spec.levels = up_to(random, 4);
    spec.fanout = up_to(random, spec.levels > 2 ? 4 : 9);
    spec.k = room ? 12 : up_to(random, 6);
    for (unsigned level = 0; level < spec.levels; ++level) {
        spec.m[level] = room ? 60'000 + random.below(9000) : up_to(random, 400);
    }
    spec.insertion = random.one_in(2) ? TreeInsertion::kSparse : TreeInsertion::kDense;
    return spec;
}

std::string text(const BloomTreeSpec& spec) {
    return "d " + std::to_string(spec.fanout) + " L " + std::to_string(spec.levels) + " k " +
           std::to_string(spec.k) +
           (spec.insertion == TreeInsertion::kDense ? " dense" : " sparse");
}

std::uint64_t messages_of_query(const BloomTreeParams& params, const Reached& reached) {
    return 1 + params.fanout() * (reached.on_way + reached.off_way);
}

std::uint64_t messages_of_insertion(const BloomTreeParams& params, const Reached& reached) {
    const std::uint64_t d = params.fanout();
    if (params.insertion() == TreeInsertion::kDense) {
        return params.levels() + (d - 1) * reached.on_way + d * reached.off_way;
    }
    return messages_of_query(params, reached) + (reached.sites.empty() ? params.levels() : 0);
}

// Follow the nodes' bits, by their definition.
Reached reached_by_bits(const Tree& t, unsigned site, Digest digest) {
    return reached(t.params, site, [&](unsigned node) {
        unsigned level = 0;
        while (node >= t.params.first_node(level + 1)) {
            ++level;
        }
        for (unsigned salt = 1; salt <= t.params.k(); ++salt) {
            if (!test_bit(t.node(node).data(), reduce(remix(digest, salt), t.params.m(level)))) {
                return false;
            }
        }
        return true;
    });
}

TEST(tree_property, answers_and_messages_follow_the_bits) {
    SCOPED_TRACE(seed_note());
    for (unsigned c = 0; c < 300; ++c) {
        Random random(9000 + c);
        const BloomTreeSpec spec = random_tree(random, false);
        SCOPED_TRACE(text(spec));
        Tree t(spec);
        std::map<Digest, std::set<unsigned>> seen;
        Digests digests(random);
        for (unsigned step = 0; step < 150; ++step) {
            const Digest digest = digests.next();
            const auto site = static_cast<unsigned>(random.below(t.params.sites()));
            const Reached expected = reached_by_bits(t, site, digest);
            for (const unsigned at : seen[digest]) {
                ASSERT_TRUE(std::binary_search(expected.sites.begin(), expected.sites.end(), at));
            }
            std::vector<unsigned> sites(t.params.sites());
            ASSERT_EQ(t.messages_of([&] { sites.resize(t.tree.locate(digest, sites)); }),
                      messages_of_query(t.params, expected));
            ASSERT_EQ(sites, expected.sites);
            const bool echo = !expected.sites.empty();
            ASSERT_EQ(t.messages_of([&] { ASSERT_EQ(t.tree.test_and_insert(site, digest), echo); }),
                      messages_of_insertion(t.params, expected));
            if (!echo || spec.insertion == TreeInsertion::kDense) {
                seen[digest].insert(site);
            }
        }
    }
}

// Roomy enough for no accidental match (60 digests of 12 bits in 60 000: chance 1e-23 a node):
// answers, sites and messages equal those of exact sets.
TEST(tree_property, with_room_answers_sites_and_messages_are_those_of_exact_sets) {
    SCOPED_TRACE(seed_note());
    for (unsigned c = 0; c < 100; ++c) {
        Random random(10'000 + c);
        const BloomTreeSpec spec = random_tree(random, true);
        SCOPED_TRACE(text(spec));
        Tree t(spec);
        std::map<Digest, std::set<unsigned>> seen;  // leaves, and all nodes above them
        Digests digests(random);
        for (unsigned step = 0; step < 100; ++step) {
            const Digest digest = digests.next();
            const auto site = static_cast<unsigned>(random.below(t.params.sites()));
            std::set<unsigned>& nodes = seen[digest];
            const Reached expected =
                reached(t.params, site, [&](unsigned node) { return nodes.contains(node); });
            const bool echo = !nodes.empty();
            ASSERT_EQ(t.messages_of([&] { ASSERT_EQ(t.tree.query(digest), echo); }),
                      messages_of_query(t.params, expected));
            ASSERT_EQ(t.messages_of([&] { ASSERT_EQ(t.tree.test_and_insert(site, digest), echo); }),
                      messages_of_insertion(t.params, expected));
            if (echo && spec.insertion == TreeInsertion::kSparse) {
                continue;
            }
            for (unsigned node = t.params.first_node(spec.levels - 1) + site;;
                 node = (node - 1) / spec.fanout) {
                nodes.insert(node);
                if (node == 0) {
                    break;
                }
            }
        }
    }
}

}  // namespace
}  // namespace unecho::test::slicing_test
