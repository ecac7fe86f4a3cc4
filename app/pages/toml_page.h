// SPDX-License-Identifier: BSD-3-Clause
// The man page unecho.toml(5), in man(7), from docs/configuration.md. It supports the Markdown of
// that page: headings, paragraphs, lists, tables, code, bold and links.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace unecho::app {

// Errc::kInvalidArgument if the page has no row for some key of the configuration.
Result<std::string> toml_page(std::string_view markdown);

}  // namespace unecho::app
