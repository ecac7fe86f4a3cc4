// SPDX-License-Identifier: BSD-3-Clause
// From a filter's rule to the judge of its lanes, and to words.
#pragma once

#include <optional>
#include <string>

#include "config/schema.h"
#include "pipeline/judge.h"

namespace unecho::control {

// Absent for rule "match", and for a filter without a rule.
std::optional<pipeline::Judge> judge_of(const config::Filter& filter);

// Which matches are echoes, in one line.
std::string rule_text(const config::Filter& filter);

}  // namespace unecho::control
