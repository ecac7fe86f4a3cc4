// SPDX-License-Identifier: BSD-3-Clause
// The style sheet of the report's page, and the script of its copy button. Without the script the
// page lacks the button, nothing else.
#pragma once

#include <string>
#include <string_view>

namespace unecho::view {

// Return the style sheet. The contrast of text to any background it may have is at least 4.5, that
// of lines and areas 3 (WCAG 2.1, 1.4.3 and 1.4.11); the test of the page computes them.
std::string style_sheet();

std::string_view copy_script();

}  // namespace unecho::view
