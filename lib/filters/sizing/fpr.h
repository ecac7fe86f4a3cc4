// SPDX-License-Identifier: BSD-3-Clause
// The formulas of sizing, one a function, each with its source. [APBF] is "Age-Partitioned Bloom
// Filters" by Shtul, Baquero and Almeida. Pure arithmetic: no targets, no limits.
//
// Segments are numbered by age, 0 the youngest. A profile holds, for each of the k + l segments,
// the probability that it matches a key that was never inserted. Segments hash independently. So
// these means alone determine the probability of any walk that reads each segment at most once.
#pragma once

#include <cstdint>
#include <vector>

namespace unecho::sizing {

using Profile = std::vector<double>;

// Completed share of the current generation: 0 after a shift, 1 before the next (the worst case).
using Progress = double;
inline constexpr Progress kBeforeShift = 1.0;

// --- The partitioned Bloom filter ([APBF] section 4) ---

// Return the expected share of set bits among m after n keys that set one bit each.
double fill_ratio(double m, double n);
// Return the number of slices for a false-positive rate at fill 1/2.
unsigned bloom_slices(double false_positive_rate);
double bloom_bits_per_key(unsigned k);
// Return the mean number of slices read by a query that answers "absent", at fill 1/2.
double bloom_accesses_absent(unsigned k);

// --- Sizes of the age-partitioned filter ([APBF] section 5.2) ---

// Return the keys of a generation that bring a slice of m bits to fill 1/2 in k generations.
std::uint64_t generation_capacity(std::uint64_t m, unsigned k);
// Return the memory for each key of the window, in bits, at that load.
double bits_per_window_key(unsigned k, unsigned l);
// Return a Bloom filter's memory for the same rate, relative to this filter's (section 5.5).
double space_efficiency(unsigned k, unsigned l, double false_positive_rate);

// --- Fill of the slices ([APBF] section 5.3) ---

// The paper's profile: (i + 1) / (2k) while a slice fills. F comes out up to 20 % too low.
Profile fills_linear(unsigned k, unsigned l);
// Return the expected fill of large slices with generation_capacity() keys: 1 - 2^(-n/kg).
Profile fills_half(unsigned k, unsigned l, Progress progress);
// Return the expected fill of slices of m bits with generations of g keys.
Profile fills(unsigned k, unsigned l, std::uint64_t m, std::uint64_t g, Progress progress);

// --- Any age-partitioned filter ---

// Return F(k, l, 0, 0), the probability of at least k consecutive matches ([APBF] section 5.3).
double false_positive_rate(unsigned k, unsigned l, const Profile& r);

// Return the mean number of segments that Algorithm 1 reads ([APBF] section 5.4), by kind of key.
double accesses_absent(unsigned k, unsigned l, const Profile& r);
double accesses_false_positive(unsigned k, unsigned l, const Profile& r);
// For a key of the window, its youngest segment uniform on 0..l-1 (the mean of Table 2).
double accesses_window(unsigned k, unsigned l, const Profile& r);
// Return the number of segments that a new key touches: those that Algorithm 1 reads, and the k
// youngest for the insertion.
double segments_of_new_key(unsigned k, unsigned l, const Profile& r);

// Return the peak normalised probability-weighted slack at fill 1/2 ([APBF] section 5.2).
double npws_half(unsigned k, unsigned l);
// Return that slack for given match probabilities of the oldest k segments. A generation of age l +
// i has lost i of its segments; i older segments must match by chance instead.
double npws(unsigned k, unsigned l, const Profile& r);
// Return the probability that a key of age l + i generations, 0 <= i <= k, is still answered
// "echo", by any run of segments. It is 1 for i = 0, and the false-positive rate for i = k.
double slack_match(unsigned k, unsigned l, const Profile& r, unsigned i);

// --- The blocked filter ([APBF] section 6) ---
// A key sets one bit in each of the b parts of a block of B bits. If b does not divide B, the first
// B mod b parts have one bit more than the others.

// Return the keys that bring the parts of a block to fill 1/2 (with mean size B / b), and that
// number relative to one array of B bits.
double block_capacity(unsigned B, unsigned b);
double relative_capacity(unsigned B, unsigned b);
// Return the probability that a block with n keys matches another key.
double block_match(double n, unsigned B, unsigned b);
// Return the probability that a segment matches a key that it does not hold: the mean over the load
// of the key's block. That load is Poisson for very many blocks; exactly it is binomial.
double segment_match_poisson(double mean_load, unsigned B, unsigned b);
double segment_match(std::uint64_t keys, std::uint64_t blocks, unsigned B, unsigned b);
// Just before a shift, where a full segment has a mean load of `load` keys a block.
Profile block_profile_poisson(unsigned k, unsigned l, unsigned B, unsigned b, double load);
Profile block_profile(unsigned k, unsigned l, unsigned B, unsigned b, std::uint64_t blocks,
                      std::uint64_t g, Progress progress);
// Return the memory for each key of the window, in bits, with blocks filled to capacity.
double bits_per_window_key(unsigned k, unsigned l, unsigned B, unsigned b);

// --- Digests ---

// Return the probability that a new key shares its digest with one of n others.
double digest_collision(double n);

}  // namespace unecho::sizing
