// SPDX-License-Identifier: BSD-3-Clause
// Claims a kernel interface for one unecho of a network namespace, whoever runs it. The kernel
// releases the claim however the process ends.
#pragma once

#include <string>

#include "base/descriptor.h"
#include "base/result.h"

namespace unecho::eal {

class InterfaceClaim {
  public:
    InterfaceClaim() = default;  // claims nothing
    // Claim an interface, or nothing if there is no such interface. Errc::kBusy: another process
    // has it. Errc::kPermission: this process lacks CAP_NET_RAW, which a claim needs.
    static Result<InterfaceClaim> take(const std::string& interface);

  private:
    explicit InterfaceClaim(Descriptor socket) : socket_(std::move(socket)) {}

    Descriptor socket_;
};

}  // namespace unecho::eal
