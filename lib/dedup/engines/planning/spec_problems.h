// SPDX-License-Identifier: BSD-3-Clause
// What of a filter as it is asked for is beyond its range or does not go together: said once for
// all who are asked for one, configurations and commands. Each puts its own name of the field
// before it. What keys of a geometry there must be is said where they are read.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dedup/engines/spec.h"

namespace unecho::engines {

// Fields are called as in configurations.
using FieldNames = std::vector<std::string_view>;

struct SpecProblem {
    FieldNames fields;  // the one to change, then those that it does not go with
    std::string what;   // what is wrong with it, and what is allowed
};

// Sets what is left open: the rule, and what gives way when the filter is full.
void fill_defaults(FilterSpec& spec);

// written: what somebody wrote down, which is a problem where it says nothing.
std::vector<SpecProblem> problems_of(const FilterSpec& spec, const FieldNames& written);

// Whether a max_false_drop may be this, and "above 0 up to 0.5, as in 1e-6".
bool is_false_drop(double value);
std::string false_drops_allowed();

// "a", "b" or "c", each behind the same words.
std::string alternatives(std::span<const std::string_view> names, const std::string& before);

}  // namespace unecho::engines
