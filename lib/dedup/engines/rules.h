// SPDX-License-Identifier: BSD-3-Clause
// A filter's rule as a confidence policy of its contexts, and as text.
#pragma once

#include <optional>
#include <string>

#include "dedup/engines/spec.h"
#include "dedup/pipeline/confidence_policy.h"

namespace unecho::engines {

// Return the policy; absent for rule "match", and for a filter without a rule.
std::optional<pipeline::ConfidencePolicy> confidence_of(const FilterSpec& filter);

std::string rule_text(const FilterSpec& filter);

}  // namespace unecho::engines
