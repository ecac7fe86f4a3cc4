// SPDX-License-Identifier: BSD-3-Clause
// A kernel interface that only one unecho of a network namespace may use, whoever runs it. The
// kernel takes a claim back however the process ends.
#pragma once

#include <string>

#include "base/descriptor.h"
#include "base/result.h"

namespace unecho::eal {

class InterfaceClaim {
  public:
    InterfaceClaim() = default;  // of nothing
    // Errc::kBusy: another process has it. Errc::kPermission: this one lacks CAP_NET_RAW, without
    // which nobody can hold a claim up. Of an interface that is not there it is a claim of nothing.
    static Result<InterfaceClaim> take(const std::string& interface);

  private:
    explicit InterfaceClaim(Descriptor socket) : socket_(std::move(socket)) {}

    Descriptor socket_;
};

}  // namespace unecho::eal
