// SPDX-License-Identifier: BSD-3-Clause
// The formulas of sliced, growing and timed Bloom filters, one a function, each with its source:
// [ONE] is "One is enough: distributed filtering for duplicate elimination"; (n) its equation.
// Pure arithmetic: nothing here knows targets or limits.
//
// A filter has m bits in S slices (S S' when diced) and holds n keys of k bits each; f slices have
// failed. Two kinds of formula of [ONE] do not hold as printed: they are here as printed, and as
// derived, which measurements agree with.
#pragma once

#include <cstdint>
#include <span>

namespace unecho::sizing::slicing {

// --- False positives without failures ([ONE] section 3) ---

// (1), and (3) for vertical slices: slicing vertically changes nothing.
double fpr(double m, unsigned k, double n);
// (2), the limit for large m.
double fpr_limit(double m, unsigned k, double n);
// The share of set bits behind (2).
double fill_limit(double m, unsigned k, double n);
// (4): horizontal slices, all with the same n / S keys.
double fpr_horizontal(double m, unsigned k, unsigned S, double n);
// (4) without that assumption: the mean over the load of a slice, which is binomial.
double fpr_horizontal_loads(double m, unsigned k, unsigned S, std::uint64_t n);
// Diced slices, all with the same load of k n / (S S') bits.
double fpr_diced(double m, unsigned k, unsigned S, unsigned S2, double n);
// Diced slices with binomial loads: a key's bits are spread over one group of slices, so only the
// number of groups counts: S of them when diced h-v, S' (columns) when diced v-h.
double fpr_diced_hv_loads(double m, unsigned k, unsigned S, std::uint64_t n);
double fpr_diced_vh_loads(double m, unsigned k, unsigned S2, std::uint64_t n);

// --- Failed slices ([ONE] section 3.2) ---

// False positives if a failed slice's bits count as set: (5), from the rate without failures; (6),
// and (7) with S S' for S, from the share of set bits. (7) holds if every group of slices over
// which a key's bits are spread has lost the same share of its own; a group lost as a whole counts
// as a horizontal slice, (5).
double fpr_failed_horizontal(double f, double S, double rate);
double fpr_failed_vertical(double f, double S, double fill, unsigned k);
// If they count as unset.
double fpr_unset_horizontal(double f, double S, double rate);
double fpr_unset_vertical(double f, double S, double fill, unsigned k);
// The fault tolerance parameter S_f: slices that keep the false positives of f failures to
// `allowed`, given the rate without failures; whole ones after rounding up.
double fault_parameter_horizontal(double f, double rate, double allowed);
double fault_parameter_vertical(double f, double rate, double allowed, unsigned k);
// False negatives if a failed slice's bits count as unset. The sum printed lacks the binomial
// coefficients.
double fnr_unset_horizontal(double f, double S);
double fnr_unset_vertical(double f, double S, unsigned k);
double fnr_unset_vertical_printed(double f, double S, unsigned k);

// --- The heuristic of x of k bits ([ONE] section 3.2), vertical slices ---

// False negatives: fewer than x of a key's bits are live. The sum printed lacks the coefficients.
double fnr_hybrid(double f, double S, unsigned k, unsigned x);
double fnr_hybrid_printed(double f, double S, unsigned k, unsigned x);
// False positives, strictly: no live bit is 0, and at least x are live.
double fpr_hybrid_strict(double f, double S, double fill, unsigned k, unsigned x);
// Taken literally: at least x bits are live and set, live zeros notwithstanding.
double fpr_hybrid_literal(double f, double S, double fill, unsigned k, unsigned x);
// As printed: the other k - x bits are left out.
double fpr_hybrid_printed(double f, double S, double fill, unsigned x);

// --- Messages and load ---

// Mean slices that an operation contacts, of S over which k bits are spread, none failed (own
// derivation: occupied urns). Its variance.
double contacted(unsigned S, unsigned k);
double contacted_variance(unsigned S, unsigned k);
// Jain's index, 1 if all loads are the same, 1 / S if one has all; the largest load's share of all.
double fairness(std::span<const double> loads);
double largest_share(std::span<const double> loads);
// Fairness over S slices that each operation asks for k cells (1 if horizontal: a key's cells are
// together), keys having the shares p of the operations: 1 / (1 + (S - 1) sum p^2 / k). The mean of
// its reciprocal exactly (own derivation).
double fairness_expected(unsigned S, double sum_of_squared_shares, unsigned k);

// --- Timers with the heuristic of equal timers ---

// [ONE]: all k timers of a new key are those of one certain insertion.
double fpr_all_timers_equal(double m, unsigned k);
// All k timers of a new key are younger than a window of w insertions, and x or more of them are
// equal. Own derivation, taking the ages of timers for independent: (3) at x = 1, else an estimate,
// within 15 % for m of some thousands.
double fpr_equal_timers(double m, unsigned k, std::uint64_t w, unsigned x);
// The mean over the ages 0..w-1 of a key, in insertions, that fewer than x of its timers are still
// its own; 0 at x = 1, where others' timers do as well. Own derivation with the same assumption, an
// estimate within 3 % or so: beyond x = 1 others' timers are seldom equal.
double fnr_equal_timers(double m, unsigned k, std::uint64_t w, unsigned x);

// --- Growth ([ONE] section 5) ---

// Keys after which the rate is reached, bits for them, and the set bits at that rate (z).
double capacity(double m, unsigned k, double rate);
double bits(double n, unsigned k, double rate);
double density_limit(double m, unsigned k, double rate);
// A chain of so many filters of that rate each: any of them matches.
double fpr_chain(double rate, unsigned filters);

}  // namespace unecho::sizing::slicing
