// SPDX-License-Identifier: BSD-3-Clause
// From a filter's rule to the judge of its lanes, and to words.
#pragma once

#include <optional>
#include <string>

#include "dedup/engines/spec.h"
#include "dedup/pipeline/confidence_policy.h"

namespace unecho::engines {

// Absent for rule "match", and for a filter without a rule.
std::optional<pipeline::ConfidencePolicy> confidence_of(const FilterSpec& filter);

// Which matches are echoes, in one line.
std::string rule_text(const FilterSpec& filter);

}  // namespace unecho::engines
