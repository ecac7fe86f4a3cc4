// SPDX-License-Identifier: BSD-3-Clause
// The page of `unecho serve`: one file that loads nothing and asks /api/v1 alone. Made of its
// sources here by join_page.py when the program is built.
#pragma once

#include <string_view>

namespace unecho::monitor {

// Complete, UTF-8: to be sent as text/html; charset=utf-8.
std::string_view page_html();

// What Content-Security-Policy has to say with it: its own style and script by their hashes,
// requests to its own server, and nothing else.
std::string_view page_policy();

}  // namespace unecho::monitor
