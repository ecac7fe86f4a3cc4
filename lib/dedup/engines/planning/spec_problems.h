// SPDX-License-Identifier: BSD-3-Clause
// Finds fields of a filter spec that are out of range or contradict each other, for configurations
// and commands alike. Each caller puts its own name of the field before the message. Missing or
// excess keys of a geometry are reported where they are read.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dedup/engines/spec.h"

namespace unecho::engines {

// Fields have their names in configurations.
using FieldNames = std::vector<std::string_view>;

struct SpecProblem {
    FieldNames fields;  // the one to change, then those that it contradicts
    std::string what;   // what is wrong, and what is allowed
};

// Set what is left open: the rule, and what gives way when the filter is full.
void fill_defaults(FilterSpec& spec);

// written: fields that the user set, which are problems where they have no effect.
std::vector<SpecProblem> problems_of(const FilterSpec& spec, const FieldNames& written);

// Return true if a max_false_drop may be this value; and the text "above 0 up to 0.5, as in 1e-6".
bool is_false_drop(double value);
std::string false_drops_allowed();

// "a", "b" or "c", each after the same words.
std::string alternatives(std::span<const std::string_view> names, const std::string& before);

}  // namespace unecho::engines
