// SPDX-License-Identifier: BSD-3-Clause
// Answers members of [run] telemetry_group on a socket of unecho's own, by the protocol of DPDK's
// telemetry ("v2"): a greeting, then an answer of JSON to each message. DPDK's socket stays the
// user's alone, as its commands can change devices and some can end the process (22.11:
// /eal/heap_info,-1).
//
// May not: change anything, wait for a client, take more than a quarter of a CPU.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/os/persistent_file.h"
#include "base/result.h"

namespace unecho::control {

class MonitorServer {
  public:
    // Returns the JSON that answers a command, as "/unecho/ports,1". It may throw: the client who
    // asked is then dropped.
    using Answer = std::function<std::string(std::string_view command)>;

    // As many as DPDK's socket takes; one more is accepted and closed, as there.
    static constexpr std::size_t kMaxClients = 10;

    // listening: a socket of SOCK_SEQPACKET, open for as long as this lives. Calls answer on a
    // thread of its own. Errc::kNoMemory where there is no thread or no descriptor.
    static Result<std::unique_ptr<MonitorServer>> start(int listening, Answer answer);
    ~MonitorServer();
    MonitorServer(const MonitorServer&) = delete;
    MonitorServer& operator=(const MonitorServer&) = delete;

  private:
    MonitorServer(int listening, Descriptor stop, Answer answer)
        : listening_(listening), stop_(std::move(stop)), answer_(std::move(answer)) {}
    void serve() noexcept;
    void serve_once();
    void accept_one();
    bool hear(const Descriptor& client);
    // Whether the thread is to end, waiting so long for it.
    [[nodiscard]] bool stopped(std::chrono::nanoseconds patience) const;
    void pause(std::chrono::nanoseconds time) const { static_cast<void>(stopped(time)); }

    const int listening_;
    const Descriptor stop_;  // readable once the thread is to end
    const Answer answer_;
    std::vector<Descriptor> clients_;  // the thread's own
    std::thread thread_;
};

}  // namespace unecho::control
