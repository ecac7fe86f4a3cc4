// SPDX-License-Identifier: BSD-3-Clause
// Claims a kernel interface for one unecho of a network namespace, whoever runs it, or says that
// this one uses it. The kernel releases the claim however the process ends.
#pragma once

#include <string>

#include "base/descriptor.h"
#include "base/result.h"

namespace unecho::eal {

// How unechos of this network namespace use an interface.
enum class InterfaceUse { kFree, kShared, kAlone };

// Return the use by claims that exist now; kFree if they cannot be listed. Needs no privilege.
InterfaceUse interface_use(const std::string& interface);

class InterfaceClaim {
  public:
    InterfaceClaim() = default;  // claims nothing
    // Claim an interface, or nothing if there is no such interface. Errc::kBusy: another process
    // has it. Errc::kPermission: this process lacks CAP_NET_RAW, which a claim needs.
    static Result<InterfaceClaim> take(const std::string& interface);
    // Say that this process uses an interface that others may use as well. Claims nothing if that
    // is not permitted.
    static InterfaceClaim share(const std::string& interface);

  private:
    explicit InterfaceClaim(Descriptor socket) : socket_(std::move(socket)) {}

    Descriptor socket_;
};

}  // namespace unecho::eal
