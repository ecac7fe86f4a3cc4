// SPDX-License-Identifier: BSD-3-Clause
// The rates of filters/papers, one formula a function. A rate is the probability that a digest
// matches that was never inserted. Pure arithmetic, like fpr.h.
//
// If measurements contradict a paper's approximation, both formulas are here, and the comment says
// by how much they differ.
#pragma once

#include <cstdint>

#include "filters/sizing/fpr.h"

namespace unecho::sizing {

// --- Sets: n digests ---

// Return the rate of a Bloom filter of m bits, k for each digest; also of a counting one. For a
// spectral Bloom filter it is the rate of taking an absent digest for present, or with minimum
// selection and n other digests of counting wrong. It uses the mean fill; at fill 1/2 the true rate
// is higher by a share of about k^2 / 8m.
double bloom_rate(double m, double n, unsigned k);
// Return the exact rate, by the distribution of the number of set bits; for small m.
// References: Bose et al., On the False-Positive Rate of Bloom Filters, IPL 108(4), 2008.
double bloom_rate_exact(unsigned m, std::uint64_t n, unsigned k);
// Return the rate of a filter of k slices of m / k bits.
double partitioned_rate(double m, double n, unsigned k);
// Blocks of B bits with a Poisson load: the mean over the load of a block's exact rate.
double blocked_rate(double mean_load, unsigned B, unsigned k);
// The same with bloom_rate() for each block, as in the papers. It is too low. At fill 1/2, for k =
// 4, 8 and 16: by 0.4, 1.6 and 6 % for B = 512, and by 2.5, 9 and 22 % for B = 64 (1MemBF).
double blocked_rate_mean_fill(double mean_load, unsigned B, unsigned k);
// Bound the probability that any of m 4-bit counters overflows, at 16 (Fan et al.).
double counting_overflow(double m, double n, unsigned k);

// --- Windows: generations of g digests, the present one up to `progress` ---

double double_buffering_rate(double m, double g, unsigned k, Progress progress);
// Two filters in turn with the given rates: A2 buffering, rotating blocked filters.
double rotating_rate(double younger, double older);
double a2_rate(double m, double g, unsigned k, Progress progress);
double rotating_blocked_rate(std::uint64_t blocks, double g, unsigned k, Progress progress);
double forgetful_rate(double m, double g, unsigned k, Progress progress);

// Stable Bloom filter in its stable state: the share of cells that are 0 (Deng and Rafiei's stable
// point), the rate, and the P for which the rate is at most `rate`.
double stable_zeroes(double m, unsigned k, unsigned max, double P);
double stable_rate(double m, unsigned k, unsigned max, double P);
double stable_decrements(double m, unsigned k, unsigned max, double rate);

// SWAMP with W distinct digests in the window and fingerprints of f bits: the rate and its bound.
double swamp_rate(double W, unsigned f);
double swamp_bound(double W, unsigned f);

// --- Counts ---

// Count-Min: an estimate exceeds the truth by more than this, for a total count N, ...
double count_min_error(double w, double N);
// ... with at most this probability.
double count_min_failure(unsigned d);
// Return the probability that an estimate is too large by more than j; n others count 1 each.
double count_min_exceeds(std::uint64_t w, unsigned d, std::uint64_t n, std::uint64_t j);

// --- Associations ---

// iBF: the share of clear answers, given the rates of its two Bloom filters. The digests are
// equally often in S1 alone, S2 alone and both. At fill 1/2 see two_bloom_clear() (sets/shbf.h).
double ibf_clear(double first_rate, double second_rate);

}  // namespace unecho::sizing
