// SPDX-License-Identifier: BSD-3-Clause
// A kernel interface that only one unecho of a network namespace may use. The kernel takes a claim
// back however the process ends.
#pragma once

#include <string>
#include <utility>

#include "base/result.h"

namespace unecho::eal {

class InterfaceClaim {
  public:
    InterfaceClaim() = default;  // of nothing
    // Errc::kBusy if somebody else has it.
    static Result<InterfaceClaim> take(const std::string& interface);
    ~InterfaceClaim();
    InterfaceClaim(InterfaceClaim&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
    InterfaceClaim& operator=(InterfaceClaim&& other) noexcept {
        std::swap(socket_, other.socket_);
        return *this;
    }
    InterfaceClaim(const InterfaceClaim&) = delete;
    InterfaceClaim& operator=(const InterfaceClaim&) = delete;

  private:
    explicit InterfaceClaim(int socket) : socket_(socket) {}

    int socket_ = -1;
};

}  // namespace unecho::eal
