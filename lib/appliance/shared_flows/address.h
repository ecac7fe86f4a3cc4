// SPDX-License-Identifier: BSD-3-Clause
// Where an endpoint is, without waiting for it: the system's resolver waits for its servers as long
// as it likes, so a name is asked for by a thread of its own.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include <sys/socket.h>

#include "appliance/shared_flows/endpoint.h"
#include "base/result.h"

namespace unecho::root {

struct Address {
    sockaddr_storage socket{};
    socklen_t size = 0;
};
// IPv4 first.
using Addresses = std::vector<Address>;

class Lookup {
  public:
    // As many names are asked for at a time.
    static constexpr int kMost = 16;

    // Answered at once where the host is an address. Errc::kBusy: too many are asked for.
    static Result<Lookup> begin(const Endpoint& of);

    // Null while it is not known.
    [[nodiscard]] const Result<Addresses>* answer() const {
        return shared_->done.load(std::memory_order_acquire) ? &shared_->found : nullptr;
    }

  private:
    // The thread may outlive who asked, and has its own part of this.
    struct Shared {
        Result<Addresses> found;
        std::atomic<bool> done{false};
    };
    explicit Lookup(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

    std::shared_ptr<Shared> shared_;
};

}  // namespace unecho::root
