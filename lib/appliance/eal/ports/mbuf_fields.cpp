// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/eal/ports/mbuf_fields.h"

#include <cstdio>
#include <string>

#include <fmt/core.h>
#include <rte_errno.h>
#include <rte_mbuf_dyn.h>

namespace unecho::eal {

Result<int> register_mbuf_field(const char* name, std::size_t size, std::size_t align) {
    rte_mbuf_dynfield field{};
    std::snprintf(field.name, sizeof(field.name), "%s", name);
    field.size = size;
    field.align = align;
    const int offset = rte_mbuf_dynfield_register(&field);
    if (offset < 0) {
        return fail(Errc::kNoMemory,
                    fmt::format("no room in the mbuf for {}: {}", name, rte_strerror(rte_errno)));
    }
    return offset;
}

Result<int> timestamp_field() {
    int offset = -1;
    if (rte_mbuf_dyn_rx_timestamp_register(&offset, nullptr) < 0) {
        return fail(Errc::kNoMemory,
                    std::string("no room in the mbuf for timestamps: ") + rte_strerror(rte_errno));
    }
    return offset;
}

}  // namespace unecho::eal
