// SPDX-License-Identifier: BSD-3-Clause
// Text for man(7) pages.
#pragma once

#include <string>
#include <string_view>

namespace unecho::app {

// Escape text so that nothing in it is a request or escape. Minus signs stay, so that text copied
// from the page can be typed.
std::string roff_text(std::string_view text);

std::string roff_bold(std::string_view text);
std::string roff_italic(std::string_view text);

// Format an argument of a request, in quotes.
std::string roff_argument(std::string_view text);

// Format lines unchanged, indented.
std::string roff_example(std::string_view text);

// Format the first request of a page.
std::string roff_title(std::string_view name, int section, std::string_view manual);

}  // namespace unecho::app
