// SPDX-License-Identifier: BSD-3-Clause
// The formulas of the shifting Bloom filters, one a function, and the geometry for a target. The
// numbers in brackets are the equations of "A Shifting Bloom Filter Framework for Set Queries".
// Pure arithmetic.
//
// Where a printed formula is an approximation or belongs to another rule, the derived one stands
// beside it; sizing uses the derived ones. All are for arrays much larger than a stretch.
//   m bits, n elements, k bits an element, t shifts, offsets 1 .. w_bar - 1.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"

namespace unecho::sizing {

// --- What a stretch can be (section 3) ---

// Largest w_bar for words of 64 bits without counters.
inline constexpr unsigned kMaxWBar = 57;

// Largest w_bar for which a word of so many bits, loaded at a byte, holds every stretch.
unsigned shbf_max_w_bar(unsigned word_bits, unsigned counter_bits = 1);

// --- Membership, one shift (section 3) ---

// A bit is still 0: (2), and its limit (3).
double shbf_zero_exact(double m, double n, double k);
double shbf_zero(double m, double n, double k);
// False-positive rate as printed, (1). It overstates how much the bits of a pair depend on each
// other: above the true one by 2 to 6 % at w_bar = 57 and 37 % at w_bar = 3, k = 4.
double shbf_m_fpr_printed(double m, double n, double k, unsigned w_bar);
// Pairs by inclusion and exclusion: an inserted pair misses both of two bits d apart with
// probability 1 - 4/m + 1/(m (w_bar - 1)), the last for its first bit and its offset both the same.
double shbf_m_fpr_pair(double m, double n, double k, unsigned w_bar);
// ... and the offset shared by all pairs of an element, as it is in the filter: elements with the
// query's offset, a binomial number, may hit all of them.
double shbf_m_fpr_shared(double m, std::uint64_t n, double k, unsigned w_bar);
// The Bloom filter of the same size, (8).
double bloom_fpr(double m, double n, double k);

// The k with the least false-positive rate is load * m / n; the rate is base^(m / n).
struct BloomOptimum {
    double load = 0;
    double base = 0;
};
BloomOptimum shbf_m_optimum(unsigned w_bar);  // of (1)
BloomOptimum bloom_optimum();

// --- Membership, t shifts (section 3) ---

// A bit is still 0, (10); limit: (3).
double shbf_zero_group(double m, double n, double k, unsigned t);
// The further bits of a group are 1 where its first is 1, (12), for a bit that is 0 with p.
double shbf_group_match(double p, unsigned w_bar, unsigned t);
// False-positive rate as printed, (11): within 2 % for t = 1 and 2 at w_bar = 57, 8 % too low at
// t = 5, 7 % too high at t = 2, w_bar = 13.
double shbf_fpr_printed(double m, double n, double k, unsigned w_bar, unsigned t);

// The derived rate for t shifts: all bits of a group are 1 by inclusion and exclusion over its
// subsets. An inserted group misses all bits of a subset iff its position is none of those from
// which one of its bits reaches one of them; their mean number depends on the query's offsets
// alone, over which the rate is averaged (all of them, or kSamples spread evenly). With t = 1 this
// is shbf_m_fpr_pair.
class ShbfGroupModel {
  public:
    ShbfGroupModel(unsigned w_bar, unsigned t);  // t of 1 to 8, less than w_bar
    [[nodiscard]] double fpr(double m, double n, double k) const;

  private:
    static constexpr unsigned kSamples = 64;
    using Offsets = std::vector<int>;  // of a group's bits, 0 the first

    [[nodiscard]] Offsets sample(unsigned number, unsigned samples) const;
    [[nodiscard]] double reaching_positions(const Offsets& bits, unsigned subset) const;

    int shifts_;
    int range_;
    // For each sample, by subset.
    std::vector<std::vector<double>> reach_;
};

// --- Association of two sets (section 4) ---

// Answers for an element of S1 or S2, (16), if a bit is 1 with probability fill: its region alone,
// with one other (each of two), with both others.
struct AssociationOutcomes {
    double clear = 0;
    double one_other = 0;
    double both_others = 0;
};
AssociationOutcomes shbf_a_outcomes(unsigned k, double fill = 0.5);
// Bits for fill 1/2.
double shbf_a_bits(double n1, double n2, double both, double k);
// Two separate Bloom filters: bits, and the chance that the answer is clear, a third of the
// elements being in each region.
double two_bloom_bits(double n1, double n2, double k);
double two_bloom_clear(unsigned k);

// --- Multiplicity (section 5) ---

// Another multiplicity matches by chance, (17).
double shbf_x_chance(double m, double n, double k);
// An absent element is answered 0, (18).
double shbf_x_correct_absent(double m, double n, double k, unsigned c);
// Of multiplicity j, if the smallest candidate is reported: (19) as printed.
double shbf_x_correct_smallest(double m, double n, double k, unsigned j);
// ... the largest, as section 5 and the filter do: none of the c - j larger ones matches.
double shbf_x_correct_largest(double m, double n, double k, unsigned c, unsigned j);

// --- Targets -> geometry ---

struct ShbfMTargets {
    std::uint64_t n = 0;  // elements
    double max_fpr = 0;
    unsigned t = 1;
    unsigned w_bar = kMaxWBar;
};

struct ShbfMGeometry {
    std::uint64_t m = 0;
    unsigned k = 0;
    double fpr = 0;  // that it has with n elements
};

// The fewest bits; of those within 1 % of that, the fewest loads.
Result<ShbfMGeometry> size_shbf_m(const ShbfMTargets& targets);

struct ShbfGeometry {
    std::uint64_t m = 0;
    unsigned k = 0;

    bool operator==(const ShbfGeometry&) const = default;
};

// For an answer that is the element's region alone with this probability; elements: |S1 u S2|.
Result<ShbfGeometry> size_shbf_a(std::uint64_t elements, double min_clear);
// For the right answer with this probability, for any multiplicity and absent elements.
Result<ShbfGeometry> size_shbf_x(std::uint64_t elements, unsigned c, double min_correct);

}  // namespace unecho::sizing
