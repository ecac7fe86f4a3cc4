// SPDX-License-Identifier: BSD-3-Clause
// In place of root.cpp, where hiredis was not there to build with.
#include "root/root.h"

namespace unecho::root {

Status Root::available() {
    return fail(Errc::kUnsupported,
                "this unecho was built without hiredis, which speaks Redis' protocol");
}

Result<std::unique_ptr<Root>> Root::start(Layout /*layout*/, AskerSpec /*spec*/,
                                          std::vector<Feed*> /*feeds*/,
                                          std::optional<Nanoseconds> /*patience*/) {
    return tl::unexpected(available().error());
}

}  // namespace unecho::root
