// SPDX-License-Identifier: BSD-3-Clause
#include "engines/isa.h"

#include <algorithm>
#include <cstdlib>

namespace unecho::engines {

IsaChoice IsaChoice::detect() {
    IsaChoice out;
    out.widest = filter::best_isa();
    if (const char* forced = std::getenv("UNECHO_ISA"); forced != nullptr) {
        out.forced = forced;
    }
    return out;
}

Result<filter::Isa> IsaChoice::of(std::string_view name) const {
    std::string allowed = "auto";
    for (unsigned isa = 0; isa <= static_cast<unsigned>(widest); ++isa) {
        allowed += ", " + std::string(filter::kIsaNames.at(isa));
        if (filter::kIsaNames.at(isa) == name) {
            return static_cast<filter::Isa>(isa);
        }
    }
    if (name == "auto") {
        return widest;
    }
    const bool known = std::find(filter::kIsaNames.begin(), filter::kIsaNames.end(), name) !=
                       filter::kIsaNames.end();
    return fail(known ? Errc::kUnsupported : Errc::kInvalidArgument,
                "\"" + std::string(name) + "\"" +
                    (known ? " is not on this processor" : " is no instruction set") +
                    "; allowed: " + allowed);
}

Result<filter::Isa> IsaChoice::any() const {
    Result<filter::Isa> found = of(forced.value_or("auto"));
    if (!found) {
        return fail(Errc::kInvalidArgument, "UNECHO_ISA: " + found.error().context);
    }
    return found;
}

}  // namespace unecho::engines
