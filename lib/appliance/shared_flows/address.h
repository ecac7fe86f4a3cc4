// SPDX-License-Identifier: BSD-3-Clause
// Resolves an endpoint's addresses without waiting. The system's resolver waits for its servers as
// long as it likes, so each lookup has a thread of its own.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include <sys/socket.h>

#include "appliance/shared_flows/endpoint.h"
#include "base/result.h"

namespace unecho::shared_flows {

struct Address {
    sockaddr_storage socket{};
    socklen_t size = 0;
};
// IPv4 addresses first.
using Addresses = std::vector<Address>;

class Lookup {
  public:
    // Lookups at a time, at most.
    static constexpr int kMost = 16;

    // Begin a lookup. It is done at once if the host is an address. Errc::kBusy: too many lookups.
    static Result<Lookup> begin(const Endpoint& of);

    // Return null while the result is not known.
    [[nodiscard]] const Result<Addresses>* answer() const {
        return shared_->done.load(std::memory_order_acquire) ? &shared_->found : nullptr;
    }

  private:
    // Shared with the thread, which may outlive the Lookup.
    struct Shared {
        Result<Addresses> found;
        std::atomic<bool> done{false};
    };
    explicit Lookup(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

    std::shared_ptr<Shared> shared_;
};

}  // namespace unecho::shared_flows
