// SPDX-License-Identifier: BSD-3-Clause
// A comparison for people: as text for a terminal, and as a page.
#pragma once

#include <string>

#include "captures/compare/comparison.h"

namespace unecho::compare {

std::string to_summary_text(const Comparison& comparison);  // the answer
std::string to_text(const Comparison& comparison);          // and all tables
std::string to_html(const Comparison& comparison);

}  // namespace unecho::compare
