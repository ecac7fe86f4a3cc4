// SPDX-License-Identifier: BSD-3-Clause
// The formulas of sliced, growing and timed Bloom filters, one a function. [ONE] is their source,
// "One is enough: distributed filtering for duplicate elimination"; (n) is its equation. Pure
// arithmetic: no targets, no limits.
//
// A filter has m bits in S slices (S S' if diced) and holds n keys of k bits each; f slices have
// failed. Two kinds of formula of [ONE] do not hold as printed. They are here both as printed and
// as derived; measurements agree with the derived ones.
#pragma once

#include <cstdint>
#include <span>

namespace unecho::sizing::slicing {

// --- False positives without failures ([ONE] section 3) ---

// (1), and (3) for vertical slices, which change nothing.
double fpr(double m, unsigned k, double n);
// (2), the limit for large m.
double fpr_limit(double m, unsigned k, double n);
// Return the share of set bits behind (2).
double fill_limit(double m, unsigned k, double n);
// (4): horizontal slices, each with n / S keys.
double fpr_horizontal(double m, unsigned k, unsigned S, double n);
// (4) without that assumption: the mean over the load of a slice, which is binomial.
double fpr_horizontal_loads(double m, unsigned k, unsigned S, std::uint64_t n);
// Diced slices, each with k n / (S S') bits.
double fpr_diced(double m, unsigned k, unsigned S, unsigned S2, double n);
// Diced slices with binomial loads. A key's bits are spread over one group of slices, so only the
// number of groups matters: S for h-v, S' (columns) for v-h.
double fpr_diced_hv_loads(double m, unsigned k, unsigned S, std::uint64_t n);
double fpr_diced_vh_loads(double m, unsigned k, unsigned S2, std::uint64_t n);

// --- Failed slices ([ONE] section 3.2) ---

// False positives if a failed slice's bits count as set: (5), from the rate without failures; (6),
// and (7) with S S' for S, from the share of set bits. (7) holds if every group of slices over
// which a key's bits are spread has lost the same share. A group lost as a whole counts as a
// horizontal slice, (5).
double fpr_failed_horizontal(double f, double S, double rate);
double fpr_failed_vertical(double f, double S, double fill, unsigned k);
// False positives if they count as unset.
double fpr_unset_horizontal(double f, double S, double rate);
double fpr_unset_vertical(double f, double S, double fill, unsigned k);
// Return the fault tolerance parameter S_f, before rounding up: the number of slices with which f
// failures keep false positives at `allowed`, given the rate without failures.
double fault_parameter_horizontal(double f, double rate, double allowed);
double fault_parameter_vertical(double f, double rate, double allowed, unsigned k);
// False negatives if a failed slice's bits count as unset. The printed sum lacks coefficients.
double fnr_unset_horizontal(double f, double S);
double fnr_unset_vertical(double f, double S, unsigned k);
double fnr_unset_vertical_printed(double f, double S, unsigned k);

// --- The heuristic of x of k bits ([ONE] section 3.2), vertical slices ---

// False negatives: fewer than x of a key's bits are live. The printed sum lacks the coefficients.
double fnr_hybrid(double f, double S, unsigned k, unsigned x);
double fnr_hybrid_printed(double f, double S, unsigned k, unsigned x);
// False positives, read strictly: no live bit is 0, and at least x bits are live.
double fpr_hybrid_strict(double f, double S, double fill, unsigned k, unsigned x);
// False positives, read literally: at least x bits are live and set, whatever other live bits are.
double fpr_hybrid_literal(double f, double S, double fill, unsigned k, unsigned x);
// The printed form leaves out the other k - x bits.
double fpr_hybrid_printed(double f, double S, double fill, unsigned x);

// --- Messages and load ([ONE] section 3) ---

// Return the mean number of slices that an operation contacts, and its variance, if k bits are
// spread over S slices and none has failed (own derivation: occupied urns).
double contacted(unsigned S, unsigned k);
double contacted_variance(unsigned S, unsigned k);
// Jain's index: 1 if all loads are equal, 1 / S if one has everything; the largest load's share.
double fairness(std::span<const double> loads);
double largest_share(std::span<const double> loads);
// Fairness over S slices if each operation accesses k cells (k = 1 if horizontal, where a key's
// cells are together). With p the keys' shares of the operations it is 1 / (1 + (S - 1) sum p^2 /
// k). The mean of its reciprocal is exact (own derivation).
double fairness_expected(unsigned S, double sum_of_squared_shares, unsigned k);

// --- Timers with the heuristic of equal timers ([ONE] section 3) ---

// [ONE]: all k timers of a new key were written by one given insertion.
double fpr_all_timers_equal(double m, unsigned k);
// All k timers of a new key are younger than a window of w insertions, and at least x of them are
// equal. Own derivation, with the ages of timers taken as independent. It is (3) for x = 1, else an
// estimate, within 15 % for m of some thousands.
double fpr_equal_timers(double m, unsigned k, std::uint64_t w, unsigned x);
// Return the probability that fewer than x of a key's timers are still its own, as a mean over its
// ages 0..w-1 in insertions. It is 0 for x = 1, where other keys' timers do as well. Own derivation
// with the same assumption, within about 3 %: for x > 1 other keys' timers are seldom equal.
double fnr_equal_timers(double m, unsigned k, std::uint64_t w, unsigned x);

// --- Growth ([ONE] section 5) ---

// Keys after which the rate is reached; bits for that many keys; set bits at that rate (z).
double capacity(double m, unsigned k, double rate);
double bits(double n, unsigned k, double rate);
double density_limit(double m, unsigned k, double rate);
// A chain of filters, each with that rate: any of them may match.
double fpr_chain(double rate, unsigned filters);

}  // namespace unecho::sizing::slicing
