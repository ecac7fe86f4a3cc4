// SPDX-License-Identifier: BSD-3-Clause
// The rates of the baselines (filter/baseline/), one formula a function. "Rate" is the probability
// that a digest matches that was never inserted. Pure arithmetic, as fpr.h.
//
// Where the paper's formula is an approximation that measurements contradict, both are here and the
// comment says by how much they differ.
#pragma once

#include <cstdint>

#include "filters/sizing/fpr.h"

namespace unecho::sizing {

// --- Sets: n digests ---

// Bloom filter of m bits, k a digest; that of a counting Bloom filter, and of a spectral one's
// taking an absent digest for present or (minimum selection, n other digests) counting wrong. Takes
// the mean fill for the fill, which is too low by about k^2 / 8m of the rate at fill 1/2.
double bloom_rate(double m, double n, unsigned k);
// The same exactly, by the distribution of the number of set bits: for small m.
// References: Bose et al., On the False-Positive Rate of Bloom Filters, IPL 108(4), 2008.
double bloom_rate_exact(unsigned m, std::uint64_t n, unsigned k);
// k slices of m / k bits.
double partitioned_rate(double m, double n, unsigned k);
// Blocks of B bits with a Poisson load of that mean: the exact rate of a block, averaged.
double blocked_rate(double mean_load, unsigned B, unsigned k);
// The same with bloom_rate for each block, as the papers have it. Too low: at fill 1/2, for k = 4,
// 8 and 16, by 0.4, 1.6 and 6 % of B = 512, by 2.5, 9 and 22 % of B = 64 (1MemBF).
double blocked_rate_mean_fill(double mean_load, unsigned B, unsigned k);
// A bound on the probability that any of m 4-bit counters overflows (reaches 16); Fan et al.
double counting_overflow(double m, double n, unsigned k);

// --- Windows: generations of g digests, the present one up to progress ---

double double_buffering_rate(double m, double g, unsigned k, Progress progress);
// Two filters that match with probability p and q, in turn: A2 buffering, rotating blocked filters.
double rotating_rate(double younger, double older);
double a2_rate(double m, double g, unsigned k, Progress progress);
double rotating_blocked_rate(std::uint64_t blocks, double g, unsigned k, Progress progress);
double forgetful_rate(double m, double g, unsigned k, Progress progress);

// Stable Bloom filter in its stable state: the share of cells that are 0 (Deng and Rafiei's
// stable point), the rate, and the P that gives a rate at most.
double stable_zeroes(double m, unsigned k, unsigned max, double P);
double stable_rate(double m, unsigned k, unsigned max, double P);
double stable_decrements(double m, unsigned k, unsigned max, double rate);

// SWAMP with W distinct digests in the window, and its bound, for fingerprints of f bits.
double swamp_rate(double W, unsigned f);
double swamp_bound(double W, unsigned f);

// --- Counts ---

// Count-Min: an estimate exceeds the truth by more than this, of a total count N ...
double count_min_error(double w, double N);
// ... with at most this probability.
double count_min_failure(unsigned d);
// An estimate exceeds the truth by more than j when n other digests count 1 each.
double count_min_exceeds(std::uint64_t w, unsigned d, std::uint64_t n, std::uint64_t j);

// --- Associations ---

// iBF: the share of clear answers about digests equally often in S1 alone, S2 alone and both, for
// the rates of the two Bloom filters. At fill 1/2 that is two_bloom_clear (shbf.h), 2/3 (1 - 2^-k).
double ibf_clear(double first_rate, double second_rate);

}  // namespace unecho::sizing
