// SPDX-License-Identifier: BSD-3-Clause
// The web page of `unecho serve`: one file that loads nothing and requests only /api/v1. The build
// joins it from its sources with join_page.py.
#pragma once

#include <string_view>

namespace unecho::monitor {

// Return the page in UTF-8, to be sent as text/html; charset=utf-8.
std::string_view page_html();

// Return the page's Content-Security-Policy: its own style and script by their hashes, and requests
// to its own server only.
std::string_view page_policy();

// Return docs/runbook.md as a page with an anchor for each health rule, and its policy.
std::string_view runbook_html();
std::string_view runbook_policy();

}  // namespace unecho::monitor
