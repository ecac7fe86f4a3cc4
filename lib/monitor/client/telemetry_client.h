// SPDX-License-Identifier: BSD-3-Clause
// A client of DPDK's telemetry socket ("v2" in DPDK's lib/telemetry), or of unecho's socket for a
// group, without DPDK: one message with a command, one JSON reply. Every wait has a timeout, and
// replies are foreign input: texts come escaped and cut.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "monitor/client/json_access.h"

namespace unecho::monitor {

// Timeout for all replies of one query together: a little longer than an appliance waits for a
// worker.
inline constexpr Nanoseconds kReplyTimeout = 1'500 * kMillisecond;

class TelemetryClient {
  public:
    // path: DPDK's socket; without permission, the group's socket beside it is used.
    // Errc::kNotFound: no process listens. Errc::kPermission. Errc::kBusy: no reply within
    // patience, or too many clients. Errc::kIo: no telemetry socket. Once *stop is set, no call
    // waits any more.
    static Result<TelemetryClient> connect(const std::string& path,
                                           Nanoseconds patience = kReplyTimeout,
                                           const std::atomic<bool>* stop = nullptr);
    ~TelemetryClient();
    TelemetryClient(TelemetryClient&& other) noexcept;
    TelemetryClient& operator=(TelemetryClient&& other) noexcept;
    TelemetryClient(const TelemetryClient&) = delete;
    TelemetryClient& operator=(const TelemetryClient&) = delete;

    // Line ends in texts: escaped (kLine) or kept (kLines).
    enum class Text : std::uint8_t { kLine, kLines };

    // Return the reply; null to an unknown command. Errors as above. After Errc::kBusy, query() may
    // be called again: a late reply is not mistaken for the reply to another command.
    Result<Json> query(const std::string& command, Text as = Text::kLine);
    // From now on all replies must come before deadline (steady_now()), whatever the timeout.
    void set_deadline(Nanoseconds deadline) { deadline_ = deadline; }
    void set_timeout(Nanoseconds patience) { timeout_ = patience; }

  private:
    TelemetryClient(int socket, Nanoseconds patience, const std::atomic<bool>* stop)
        : socket_(socket), timeout_(patience), stop_(stop) {}
    Result<std::string> receive(Nanoseconds deadline);
    Result<std::string> take(Nanoseconds deadline);
    [[nodiscard]] Status wait(short events, Nanoseconds deadline) const;

    static constexpr std::size_t kLongest = std::size_t{1}
                                            << 20;  // bytes; DPDK's replies have up to 16 KiB

    int socket_;
    Nanoseconds timeout_;
    Nanoseconds deadline_ = ~Nanoseconds{0};
    const std::atomic<bool>* stop_;
    unsigned outstanding_replies_ = 0;  // to commands whose wait timed out
    std::vector<char> buffer_;
};

}  // namespace unecho::monitor
