// SPDX-License-Identifier: BSD-3-Clause
#include "support/source_root.h"

namespace unecho::test {

const std::string& source_root() {
    static const std::string root = UNECHO_SOURCE_ROOT;
    return root;
}

}  // namespace unecho::test
