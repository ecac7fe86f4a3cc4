// SPDX-License-Identifier: BSD-3-Clause
// Answers members of [run] telemetry_group on unecho's own socket, with the protocol of DPDK's
// telemetry ("v2"): a greeting, then a JSON reply to each message. DPDK's own socket is open to its
// user only, because its commands can change devices, and some can end the process (22.11:
// /eal/heap_info,-1).
//
// The server changes nothing, waits for no client, and takes at most a quarter of a CPU.
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

namespace unecho::appliance {

class MonitorServer {
  public:
    // Return the JSON reply to a command such as "/unecho/ports,1". An exception drops the client.
    using Answer = std::function<std::string(std::string_view command)>;

    // The limit of DPDK's socket. One more client is accepted and closed, as DPDK does.
    static constexpr std::size_t kMaxClients = 10;

    // listening: an open SOCK_SEQPACKET socket that outlives the server. answer is called on the
    // server's thread. Errc::kNoMemory without a thread or descriptor for it.
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
    // Return true if the thread is to end. Wait for that at most `patience`.
    [[nodiscard]] bool stopped(std::chrono::nanoseconds patience) const;
    void pause(std::chrono::nanoseconds time) const { static_cast<void>(stopped(time)); }

    const int listening_;
    const Descriptor stop_;  // readable when the thread is to end
    const Answer answer_;
    std::vector<Descriptor> clients_;  // used by the thread only
    std::thread thread_;
};

}  // namespace unecho::appliance
