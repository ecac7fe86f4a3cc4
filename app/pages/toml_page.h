// SPDX-License-Identifier: BSD-3-Clause
// unecho.toml(5), in man(7), from docs/configuration.md. Of Markdown it knows what that page uses:
// headings, paragraphs, lists, tables, code, bold and links.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace unecho::app {

// Errc::kInvalidArgument: the page has no row for a key that the configuration knows.
Result<std::string> toml_page(std::string_view markdown);

}  // namespace unecho::app
