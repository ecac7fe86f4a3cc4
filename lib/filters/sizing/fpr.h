// SPDX-License-Identifier: BSD-3-Clause
// The formulas behind sizing, one a function, each with its source: [APBF] is "Age-Partitioned
// Bloom Filters" by Shtul, Baquero and Almeida. Pure arithmetic: nothing here knows targets or
// limits.
//
// Segments are numbered by age, 0 the youngest. A profile holds for each of the k + l segments the
// probability that it matches a key that was never inserted. As the segments hash independently,
// any probability of a walk over them that reads each at most once depends on these means alone.
#pragma once

#include <cstdint>
#include <vector>

namespace unecho::sizing {

using Profile = std::vector<double>;

// How far the current generation is: 0 just after a shift, 1 just before the next (the worst case).
using Progress = double;
inline constexpr Progress kBeforeShift = 1.0;

// --- The partitioned Bloom filter ([APBF] section 4) ---

// Expected share of set bits among m after n keys, each setting one.
double fill_ratio(double m, double n);
// Slices for a false-positive rate at fill 1/2.
unsigned bloom_slices(double false_positive_rate);
double bloom_bits_per_key(unsigned k);
// Mean slices read by a query that answers "absent", at fill 1/2.
double bloom_accesses_absent(unsigned k);

// --- Sizes of the age-partitioned filter ([APBF] section 5.2) ---

// Keys of a generation that bring a slice of m bits to fill 1/2 in k generations.
std::uint64_t generation_capacity(std::uint64_t m, unsigned k);
// Memory per key of the window at that load.
double bits_per_window_key(unsigned k, unsigned l);
// Memory of a Bloom filter of the same false-positive rate, relative to this one's (section 5.5).
double space_efficiency(unsigned k, unsigned l, double false_positive_rate);

// --- Fill of the slices ([APBF] section 5.3) ---

// The paper's profile: (i + 1) / (2k) while a slice fills. Below the true one by up to 20 % of F.
Profile fills_linear(unsigned k, unsigned l);
// Expected fill of large slices whose capacity is generation_capacity: 1 - 2^(-n/kg).
Profile fills_half(unsigned k, unsigned l, Progress progress);
// Expected fill for slices of m bits and generations of g keys.
Profile fills(unsigned k, unsigned l, std::uint64_t m, std::uint64_t g, Progress progress);

// --- Any age-partitioned filter ---

// F(k, l, 0, 0): at least k consecutive matches ([APBF] section 5.3).
double false_positive_rate(unsigned k, unsigned l, const Profile& r);

// Mean segments that Algorithm 1 reads ([APBF] section 5.4), by what the key is.
double accesses_absent(unsigned k, unsigned l, const Profile& r);
double accesses_false_positive(unsigned k, unsigned l, const Profile& r);
// Key of the window, its youngest segment uniform on 0..l-1 (what Table 2 averages over).
double accesses_window(unsigned k, unsigned l, const Profile& r);
// Segments that a new key touches in all: those Algorithm 1 reads, and the k youngest for
// insertion.
double segments_of_new_key(unsigned k, unsigned l, const Profile& r);

// Peak normalised probability-weighted slack at fill 1/2 ([APBF] section 5.2).
double npws_half(unsigned k, unsigned l);
// ... for the match probabilities of the oldest k segments: a generation of age l + i has lost i of
// its segments, and i segments older than those left must match by chance instead.
double npws(unsigned k, unsigned l, const Profile& r);
// Probability that a key of age l + i generations, 0 <= i <= k, is still answered "echo", by
// whatever run of segments: at i = 0 certain, at i = k the false-positive rate.
double slack_match(unsigned k, unsigned l, const Profile& r, unsigned i);

// --- The blocked filter ([APBF] section 6): blocks of B bits in b parts, a bit in each for a key
// --- If b does not divide B, the first B mod b parts have one bit more than the others.

// Keys that bring the parts of a block to fill 1/2 (their mean size being B / b), and that relative
// to one array of B bits.
double block_capacity(unsigned B, unsigned b);
double relative_capacity(unsigned B, unsigned b);
// A block that holds n keys matches a foreign one.
double block_match(double n, unsigned B, unsigned b);
// A segment matches a foreign key: mean over the load of the block it falls into, which is Poisson
// with very many blocks, and binomial exactly.
double segment_match_poisson(double mean_load, unsigned B, unsigned b);
double segment_match(std::uint64_t keys, std::uint64_t blocks, unsigned B, unsigned b);
// Just before a shift, a full segment having the mean load of `load` keys a block.
Profile block_profile_poisson(unsigned k, unsigned l, unsigned B, unsigned b, double load);
Profile block_profile(unsigned k, unsigned l, unsigned B, unsigned b, std::uint64_t blocks,
                      std::uint64_t g, Progress progress);
// Memory per key of the window with blocks filled to capacity.
double bits_per_window_key(unsigned k, unsigned l, unsigned B, unsigned b);

// --- Digests ---

// A new key shares its digest with one of n others.
double digest_collision(double n);

}  // namespace unecho::sizing
