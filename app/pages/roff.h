// SPDX-License-Identifier: BSD-3-Clause
// OptionText for man(7) pages.
#pragma once

#include <string>
#include <string_view>

namespace unecho::app {

// As it stands: nothing in it is a request or an escape. A minus stays one, so that what is copied
// from the page can be typed.
std::string roff_text(std::string_view text);

std::string roff_bold(std::string_view text);
std::string roff_italic(std::string_view text);

// The argument of a request, in quotes.
std::string roff_argument(std::string_view text);

// Lines as they are, indented.
std::string roff_example(std::string_view text);

// The request that a page begins with.
std::string roff_title(std::string_view name, int section, std::string_view manual);

}  // namespace unecho::app
