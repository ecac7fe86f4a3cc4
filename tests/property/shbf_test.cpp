// SPDX-License-Identifier: BSD-3-Clause
// Shifting Bloom filters on random sequences against exact sets and a plain model of the array. In
// small arrays, where accidental matches are everywhere, every answer must equal the model's.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "streams.h"
#include "support/sanitizers.h"
#include "support/shbf_filters.h"

namespace unecho::test::shbf_test {
namespace {

using filter::Association;
using filter::Region;
using filter::SetOfTwo;

constexpr unsigned kCases = 150;
constexpr unsigned kSteps = 600;

// An array of saturating counters, by index.
class Model {
  public:
    explicit Model(unsigned z) : largest_((std::uint64_t{1} << z) - 1) {}

    void add(std::uint64_t index) {
        std::uint64_t& value = values_[index];
        value = std::min(value + 1, largest_);
    }
    void remove(std::uint64_t index) {
        if (std::uint64_t& value = values_[index]; value != largest_ && value != 0) {
            --value;
        }
    }
    [[nodiscard]] std::uint64_t at(std::uint64_t index) const {
        const auto found = values_.find(index);
        return found == values_.end() ? 0 : found->second;
    }
    [[nodiscard]] bool all(const std::vector<std::uint64_t>& indices) const {
        return std::all_of(indices.begin(), indices.end(),
                           [this](std::uint64_t index) { return at(index) != 0; });
    }
    [[nodiscard]] bool empty() const {
        return std::all_of(values_.begin(), values_.end(),
                           [](const auto& value) { return value.second == 0; });
    }

  private:
    std::uint64_t largest_;
    std::map<std::uint64_t, std::uint64_t> values_;
};

// Draws from few digests, so that each recurs; foreign ones are never inserted.
struct Pool {
    explicit Pool(Random& random) : digests(1 + random.below(60)) {
        for (Digest& digest : digests) {
            digest = random.bits();
        }
    }
    std::vector<Digest> digests;
};

std::uint64_t small_m(Random& random) {
    const std::uint64_t sizes[] = {1, 2, 7, 8, 9, 63, 64, 65, 455, 456, 457};
    return random.one_in(2) ? sizes[random.below(std::size(sizes))] : 1 + random.below(3000);
}

unsigned from_to(Random& random, unsigned low, unsigned high) {
    return low + static_cast<unsigned>(random.below(high - low + 1));
}

template <typename Function>
void for_each_case(Function function) {
    for (unsigned index = 1; index <= quarter_under_asan(kCases); ++index) {
        SCOPED_TRACE(seed_note() + " case " + std::to_string(index));
        Random random(index);
        function(random);
        if (testing::Test::HasFatalFailure()) {
            return;
        }
    }
}

// --- Membership ---

std::vector<std::uint64_t> bits_of(Digest digest, const filter::ShbfShape& shape, std::uint64_t m) {
    std::vector<std::uint64_t> bits;
    for (unsigned group = 0; group < shape.groups(); ++group) {
        for (unsigned offset = 0; offset < filter::kMaxWBar; ++offset) {
            if ((shape.pattern(digest) >> offset & 1) != 0) {
                bits.push_back(filter::first_bit_of(digest, group, m) + offset);
            }
        }
    }
    return bits;
}

filter::ShbfMSpec random_membership(Random& random) {
    const unsigned t = from_to(random, 1, filter::kMaxShifts);
    return {.m = small_m(random),
            .k = (t + 1) * from_to(random, 1, filter::kMaxShbfBits / (t + 1)),
            .t = t,
            .w_bar = from_to(random, t + 1, filter::kMaxWBar)};
}

TEST(shbf_m_property, inserted_matches_and_others_as_their_bits_say) {
    for_each_case([](Random& random) {
        Membership i(random_membership(random));
        const Pool pool(random);
        Model model(filter::kMaxCounterBits);
        std::map<Digest, bool> inserted;
        for (unsigned step = 0; step < kSteps; ++step) {
            const Digest digest = pool.digests[random.below(pool.digests.size())];
            const auto bits = bits_of(digest, i.params.shape(), i.params.m());
            ASSERT_EQ(bits.size(), i.params.k());
            if (random.one_in(10)) {
                i.filter.insert(digest);
                inserted[digest] = true;
                std::for_each(bits.begin(), bits.end(), [&](auto bit) { model.add(bit); });
            }
            ASSERT_TRUE(!inserted[digest] || i.filter.query(digest));
            ASSERT_EQ(i.filter.query(digest), model.all(bits));
        }
    });
}

TEST(cshbf_m_property, erasures_leave_exactly_the_rest) {
    for_each_case([](Random& random) {
        const unsigned z = from_to(random, filter::kMinCounterBits, filter::kMaxCounterBits);
        const unsigned t = from_to(random, 1, std::min(filter::kMaxShifts, 57 / z - 1));
        const unsigned groups = from_to(random, 1, std::min(6U, filter::kMaxShbfBits / (t + 1)));
        CountingMembership i({.m = small_m(random), .k = (t + 1) * groups, .t = t, .z = z});
        const Pool pool(random);
        Model model(z);
        std::map<Digest, unsigned> copies;
        for (unsigned step = 0; step < kSteps; ++step) {
            const Digest digest = pool.digests[random.below(pool.digests.size())];
            const auto bits = bits_of(digest, i.params.shape(), i.params.m());
            if (random.one_in(2)) {
                i.filter.insert(digest);
                ++copies[digest];
                std::for_each(bits.begin(), bits.end(), [&](auto bit) { model.add(bit); });
            } else if (copies[digest] > 0) {
                ASSERT_TRUE(i.filter.erase(digest));
                --copies[digest];
                std::for_each(bits.begin(), bits.end(), [&](auto bit) { model.remove(bit); });
            }
            const Digest other = pool.digests[random.below(pool.digests.size())];
            ASSERT_TRUE(copies[other] == 0 || i.filter.query(other));
            ASSERT_EQ(i.filter.query(other),
                      model.all(bits_of(other, i.params.shape(), i.params.m())));
        }
        for (const auto& [digest, count] : copies) {
            for (unsigned copy = 0; copy < count; ++copy) {
                ASSERT_TRUE(i.filter.erase(digest));
                for (const auto bit : bits_of(digest, i.params.shape(), i.params.m())) {
                    model.remove(bit);
                }
            }
        }
        ASSERT_EQ(i.all_zero(), model.empty());
        // At most 600 steps of 64 counters: 16 bits never saturate.
        ASSERT_TRUE(z < filter::kMaxCounterBits || i.all_zero());
    });
}

// --- Association ---

std::vector<std::uint64_t> bits_of(Digest digest, Region region,
                                   const filter::ShbfAParams& params) {
    filter::OffsetDigits digits(digest);
    const unsigned range = (params.w_bar() - 1) / 2;
    const unsigned both = 1 + digits.next(range);
    const unsigned second = both + 1 + digits.next(range);
    const unsigned offset = region == Region::kFirstOnly ? 0
                            : region == Region::kBoth    ? both
                                                         : second;
    std::vector<std::uint64_t> bits;
    for (unsigned i = 0; i < params.k(); ++i) {
        bits.push_back(filter::first_bit_of(digest, i, params.m()) + offset);
    }
    return bits;
}

constexpr Region kRegions[] = {Region::kFirstOnly, Region::kBoth, Region::kSecondOnly};

Association answer_of(const Model& model, Digest digest, const filter::ShbfAParams& params) {
    unsigned mask = 0;
    for (const Region region : kRegions) {
        mask |= model.all(bits_of(digest, region, params)) ? static_cast<unsigned>(region) : 0;
    }
    return static_cast<Association>(mask);
}

filter::ShbfASpec random_association(Random& random) {
    return {.m = small_m(random),
            .k = from_to(random, 1, 12),
            .w_bar = from_to(random, 3, filter::kMaxWBar),
            .z = from_to(random, filter::kMinCounterBits, filter::kMaxCounterBits)};
}

TEST(shbf_a_property, answer_contains_the_region_and_what_the_bits_say) {
    for_each_case([](Random& random) {
        AssociationFilter i(random_association(random));
        const Pool pool(random);
        Model model(filter::kMaxCounterBits);
        std::map<Digest, Region> regions;
        for (const Digest digest : pool.digests) {
            const Region region = kRegions[random.below(3)];
            i.filter.insert(digest, region);
            regions[digest] = region;
            for (const auto bit : bits_of(digest, region, i.params)) {
                model.add(bit);
            }
        }
        for (const Digest digest : pool.digests) {
            ASSERT_TRUE(may_be(i.filter.query(digest), regions[digest]));
            ASSERT_EQ(i.filter.query(digest), answer_of(model, digest, i.params));
            ASSERT_EQ(i.filter.query(~digest), answer_of(model, ~digest, i.params));
        }
    });
}

// Two exact sets, from which the region of a digest follows.
struct Sets {
    std::map<Digest, bool> member[2];

    [[nodiscard]] Region region(Digest digest) {
        if (member[0][digest]) {
            return member[1][digest] ? Region::kBoth : Region::kFirstOnly;
        }
        return member[1][digest] ? Region::kSecondOnly : Region::kNone;
    }
};

// Insert an element into a set or remove it, in the filter, the model and the exact sets.
void change(CountingAssociation& i, Model& model, Sets& sets, Digest digest, bool second, bool in) {
    const Region before = sets.region(digest);
    sets.member[second ? 1 : 0][digest] = in;
    const SetOfTwo set = second ? SetOfTwo::kSecond : SetOfTwo::kFirst;
    const Region now =
        in ? i.filter.insert(digest, set, before) : i.filter.erase(digest, set, before);
    ASSERT_EQ(now, sets.region(digest));
    if (before == now) {
        return;
    }
    // Position by position as in the filter: what is added first may saturate.
    for (unsigned position = 0; position < i.params.k(); ++position) {
        if (now != Region::kNone) {
            model.add(bits_of(digest, now, i.params)[position]);
        }
        if (before != Region::kNone) {
            model.remove(bits_of(digest, before, i.params)[position]);
        }
    }
}

TEST(cshbf_a_property, elements_that_join_and_leave_are_in_their_region) {
    for_each_case([](Random& random) {
        CountingAssociation i(random_association(random));
        const Pool pool(random);
        Model model(i.params.z());
        Sets sets;
        for (unsigned step = 0; step < kSteps; ++step) {
            const Digest digest = pool.digests[random.below(pool.digests.size())];
            change(i, model, sets, digest, random.one_in(2), random.one_in(2));
            const Digest other = pool.digests[random.below(pool.digests.size())];
            const Association answer = i.filter.query(other);
            const Region region = sets.region(other);
            ASSERT_TRUE(region == Region::kNone || may_be(answer, region));
            ASSERT_EQ(answer, answer_of(model, other, i.params));
        }
        for (const Digest digest : pool.digests) {
            change(i, model, sets, digest, false, false);
            change(i, model, sets, digest, true, false);
        }
        ASSERT_EQ(i.all_zero(), model.empty());
        ASSERT_TRUE(i.params.z() < filter::kMaxCounterBits || i.all_zero());
    });
}

// --- Multiplicity ---

filter::ShbfXSpec random_multiplicity(Random& random) {
    return {.m = small_m(random),
            .k = from_to(random, 1, 12),
            .c = from_to(random, 1, filter::kMaxMultiplicity),
            .z = from_to(random, filter::kMinCounterBits, filter::kMaxCounterBits)};
}

std::vector<std::uint64_t> bits_of(Digest digest, unsigned j, const filter::ShbfXParams& params) {
    std::vector<std::uint64_t> bits;
    for (unsigned i = 0; i < params.k(); ++i) {
        bits.push_back(filter::first_bit_of(digest, i, params.m()) + j - 1);
    }
    return bits;
}

std::uint64_t candidates_of(const Model& model, Digest digest, const filter::ShbfXParams& params) {
    std::uint64_t mask = 0;
    for (unsigned j = 1; j <= params.c(); ++j) {
        mask |= std::uint64_t{model.all(bits_of(digest, j, params))} << (j - 1);
    }
    return mask;
}

// Return the number of the highest bit that is set.
unsigned largest_of(std::uint64_t candidates) {
    unsigned largest = 0;
    for (unsigned j = 1; j <= filter::kMaxMultiplicity; ++j) {
        largest = (candidates >> (j - 1) & 1) != 0 ? j : largest;
    }
    return largest;
}

// Change a multiplicity as the filter does, position by position.
void move(Model& model, Digest digest, unsigned from, unsigned to,
          const filter::ShbfXParams& params) {
    for (unsigned i = 0; i < params.k() && from != to; ++i) {
        if (to != 0) {
            model.add(bits_of(digest, to, params)[i]);
        }
        if (from != 0) {
            model.remove(bits_of(digest, from, params)[i]);
        }
    }
}

TEST(shbf_x_property, answer_is_never_below_the_multiplicity) {
    for_each_case([](Random& random) {
        Multiplicity i(random_multiplicity(random));
        const Pool pool(random);
        Model model(filter::kMaxCounterBits);
        std::map<Digest, unsigned> counts;
        for (const Digest digest : pool.digests) {
            counts[digest] = from_to(random, 1, i.params.c());
            i.filter.insert(digest, counts[digest]);
            move(model, digest, 0, counts[digest], i.params);
        }
        for (const Digest digest : pool.digests) {
            ASSERT_GE(i.filter.query(digest), counts[digest]);
            for (const Digest asked : {digest, ~digest}) {
                const std::uint64_t candidates = candidates_of(model, asked, i.params);
                ASSERT_EQ(i.filter.candidates(asked), candidates);
                ASSERT_EQ(i.filter.query(asked), largest_of(candidates));
            }
        }
    });
}

TEST(cshbf_x_property, exact_rule_never_answers_below_the_multiplicity) {
    for_each_case([](Random& random) {
        CountingMultiplicity i(random_multiplicity(random));
        const unsigned c = i.params.c();
        const Pool pool(random);
        Model model(i.params.z());
        std::map<Digest, unsigned> counts;
        const auto table = [&](Digest digest) { return counts[digest]; };
        const auto change = [&](Digest digest, bool more) {
            const unsigned before = counts[digest];
            more ? i.filter.insert(digest, table) : i.filter.erase(digest, table);
            counts[digest] = more ? before + 1 : before - std::min(before, 1U);
            move(model, digest, std::min(before, c), std::min(counts[digest], c), i.params);
        };
        for (unsigned step = 0; step < kSteps; ++step) {
            change(pool.digests[random.below(pool.digests.size())], !random.one_in(3));
            const Digest other = pool.digests[random.below(pool.digests.size())];
            ASSERT_GE(i.filter.query(other), std::min(counts[other], c));
            ASSERT_EQ(i.filter.candidates(other), candidates_of(model, other, i.params));
        }
        for (const Digest digest : pool.digests) {
            while (counts[digest] > 0) {
                change(digest, false);
            }
        }
        ASSERT_EQ(i.all_zero(), model.empty());
        ASSERT_TRUE(i.params.z() < filter::kMaxCounterBits || i.all_zero());
    });
}

// By the filter's own answers alone: exactly the stated rule, even if it loses elements by it.
TEST(cshbf_x_property, trusting_rule_moves_the_largest_candidate) {
    for_each_case([](Random& random) {
        CountingMultiplicity i(random_multiplicity(random));
        const unsigned c = i.params.c();
        const Pool pool(random);
        Model model(i.params.z());
        for (unsigned step = 0; step < kSteps; ++step) {
            const Digest digest = pool.digests[random.below(pool.digests.size())];
            const unsigned before = largest_of(candidates_of(model, digest, i.params));
            if (random.one_in(3)) {
                i.filter.erase_trusting(digest);
                move(model, digest, before, before - std::min(before, 1U), i.params);
            } else {
                i.filter.insert_trusting(digest);
                move(model, digest, before, std::min(before + 1, c), i.params);
            }
            const Digest other = pool.digests[random.below(pool.digests.size())];
            ASSERT_EQ(i.filter.candidates(other), candidates_of(model, other, i.params));
        }
    });
}

}  // namespace
}  // namespace unecho::test::shbf_test
