// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace unecho {

// Return the texts of all items with `between` between them: "a, b, c".
template <typename Items, typename TextOf = std::identity>
std::string join_text(const Items& items, std::string_view between = ", ", TextOf text_of = {}) {
    std::string out;
    for (const auto& item : items) {
        out.append(out.empty() ? "" : between).append(std::invoke(text_of, item));
    }
    return out;
}

}  // namespace unecho
