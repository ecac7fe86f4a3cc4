// SPDX-License-Identifier: BSD-3-Clause
// The formulas of the shifting Bloom filters, one a function, and the geometry for a target. (n) is
// an equation of "A Shifting Bloom Filter Framework for Set Queries". Pure arithmetic.
//
// If a printed formula is an approximation or belongs to another rule, the derived one stands next
// to it, and sizing uses that. All are for arrays much larger than a stretch.
//   m bits, n elements, k bits an element, t shifts, offsets 1 .. w_bar - 1.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"

namespace unecho::sizing {

// --- Limits of a stretch (section 3) ---

// Largest w_bar without counters, for words of 64 bits.
inline constexpr unsigned kMaxWBar = 57;

// Return the largest w_bar for which a word of word_bits bits, loaded at a byte, holds a stretch.
unsigned shbf_max_w_bar(unsigned word_bits, unsigned counter_bits = 1);

// --- Membership, one shift (section 3) ---

// Return the probability that a bit is still 0: (2), and its limit (3).
double shbf_zero_exact(double m, double n, double k);
double shbf_zero(double m, double n, double k);
// Return the false-positive rate as printed, (1). It overstates how much the bits of a pair depend
// on each other. It is too high by 2 to 6 % at w_bar = 57, by 37 % at w_bar = 3, k = 4.
double shbf_m_fpr_printed(double m, double n, double k, unsigned w_bar);
// Return the rate by inclusion and exclusion over pairs. An inserted pair misses both of two bits d
// apart with probability 1 - 4/m + 1/(m (w_bar - 1)); the last term is for equal bits and offsets.
double shbf_m_fpr_pair(double m, double n, double k, unsigned w_bar);
// The same if all pairs of an element share an offset, as in the filter. Elements with the query's
// offset, a binomial number of them, may hit all of its pairs.
double shbf_m_fpr_shared(double m, std::uint64_t n, double k, unsigned w_bar);
// Return the rate of a Bloom filter of the same size, (8).
double bloom_fpr(double m, double n, double k);

// The k with the least false-positive rate is load * m / n. That rate is base^(m / n).
struct BloomOptimum {
    double load = 0;
    double base = 0;
};
BloomOptimum shbf_m_optimum(unsigned w_bar);  // by (1)
BloomOptimum bloom_optimum();

// --- Membership, t shifts (section 3) ---

// Return the probability that a bit is still 0, (10); its limit is (3).
double shbf_zero_group(double m, double n, double k, unsigned t);
// Return the probability that a group's other bits are 1 if its first is, (12); p: of a 0 bit.
double shbf_group_match(double p, unsigned w_bar, unsigned t);
// Return the false-positive rate as printed, (11). At w_bar = 57 it is within 2 % for t = 1 and 2,
// and 8 % too low for t = 5. At w_bar = 13, t = 2 it is 7 % too high.
double shbf_fpr_printed(double m, double n, double k, unsigned w_bar, unsigned t);

// The derived rate for t shifts, by inclusion and exclusion over subsets of a group's bits. An
// inserted group misses all bits of a subset if and only if none of its bits reaches one of them
// from its position. The mean number of positions that reach depends on the query's offsets alone.
// The rate is averaged over those (all, or kSamples spread evenly). t = 1 gives shbf_m_fpr_pair().
class ShbfGroupModel {
  public:
    ShbfGroupModel(unsigned w_bar, unsigned t);  // t of 1 to 8, less than w_bar
    [[nodiscard]] double fpr(double m, double n, double k) const;

  private:
    static constexpr unsigned kSamples = 64;
    using Offsets = std::vector<int>;  // of a group's bits; the first is 0

    [[nodiscard]] Offsets sample(unsigned number, unsigned samples) const;
    [[nodiscard]] double reaching_positions(const Offsets& bits, unsigned subset) const;

    int shifts_;
    int range_;
    // By sample, then by subset.
    std::vector<std::vector<double>> reach_;
};

// --- Association of two sets (section 4) ---

// Return the probabilities of answers for an element of S1 or S2, (16), if a bit is 1 with
// probability `fill`: its region alone, with one other (for each of two), with both others.
struct AssociationOutcomes {
    double clear = 0;
    double one_other = 0;
    double both_others = 0;
};
AssociationOutcomes shbf_a_outcomes(unsigned k, double fill = 0.5);
// Return the bits for fill 1/2.
double shbf_a_bits(double n1, double n2, double both, double k);
// Two separate Bloom filters: their bits, and the probability of a clear answer if a third of the
// elements is in each region.
double two_bloom_bits(double n1, double n2, double k);
double two_bloom_clear(unsigned k);

// --- Multiplicity (section 5) ---

// Return the probability that another multiplicity matches by accident, (17).
double shbf_x_chance(double m, double n, double k);
// Return the probability that an absent element is answered 0, (18).
double shbf_x_correct_absent(double m, double n, double k, unsigned c);
// (19) as printed: a right answer for multiplicity j, if the smallest candidate is reported.
double shbf_x_correct_smallest(double m, double n, double k, unsigned j);
// The same for the largest, as section 5 and the filter do: none of the c - j larger ones matches.
double shbf_x_correct_largest(double m, double n, double k, unsigned c, unsigned j);

// --- From targets to geometry ---

struct ShbfMTargets {
    std::uint64_t n = 0;  // elements
    double max_fpr = 0;
    unsigned t = 1;
    unsigned w_bar = kMaxWBar;
};

struct ShbfMGeometry {
    std::uint64_t m = 0;
    unsigned k = 0;
    double fpr = 0;  // its rate with n elements
};

// Return the geometry with the fewest bits; within 1 % of that, with the fewest loads.
Result<ShbfMGeometry> size_shbf_m(const ShbfMTargets& targets);

struct ShbfGeometry {
    std::uint64_t m = 0;
    unsigned k = 0;

    bool operator==(const ShbfGeometry&) const = default;
};

// min_clear: probability that an answer is the element's region alone. elements: |S1 u S2|.
Result<ShbfGeometry> size_shbf_a(std::uint64_t elements, double min_clear);
// min_correct: probability of the right answer, for any multiplicity and for absent elements.
Result<ShbfGeometry> size_shbf_x(std::uint64_t elements, unsigned c, double min_correct);

}  // namespace unecho::sizing
