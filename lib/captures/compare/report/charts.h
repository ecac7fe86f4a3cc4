// SPDX-License-Identifier: BSD-3-Clause
// The charts of a comparison's page, each a <figure>.
#pragma once

#include <string>

#include "captures/compare/comparison.h"
#include "captures/view/view.h"

namespace unecho::compare {

// Return the figure; empty if there is nothing to draw.
std::string draw(view::Chart chart, const Path& path);

}  // namespace unecho::compare
