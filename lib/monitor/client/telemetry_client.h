// SPDX-License-Identifier: BSD-3-Clause
// A client of DPDK's telemetry socket, without DPDK: a message of a command, one of JSON back
// (lib/telemetry of DPDK, "v2"); or of the socket that unecho has for a group. It waits for nobody
// longer than it was told to, and believes nothing that it reads: texts come escaped and cut.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "monitor/client/json_access.h"

namespace unecho::monitor {

// How long the answers of one look are waited for, all together: a little more than an appliance
// itself waits for a worker.
inline constexpr Nanoseconds kReplyTimeout = 1'500 * kMillisecond;

class TelemetryClient {
  public:
    // path: DPDK's socket; where it is not permitted, that for a group beside it is taken.
    // Errc::kNotFound: nobody listens there. Errc::kPermission. Errc::kBusy: somebody does, and
    // does not answer within patience, or has too many clients. Errc::kIo: no such socket. Once
    // stop is set, where it is given, nothing is waited for.
    static Result<TelemetryClient> connect(const std::string& path,
                                           Nanoseconds patience = kReplyTimeout,
                                           const std::atomic<bool>* stop = nullptr);
    ~TelemetryClient();
    TelemetryClient(TelemetryClient&& other) noexcept;
    TelemetryClient& operator=(TelemetryClient&& other) noexcept;
    TelemetryClient(const TelemetryClient&) = delete;
    TelemetryClient& operator=(const TelemetryClient&) = delete;

    // Whether line ends in texts stay, or are escaped as well.
    enum class Text : std::uint8_t { kLine, kLines };

    // The answer; null to what it does not know. Errors as above; after Errc::kBusy it may be asked
    // again, and what comes too late is not taken for the answer to something else.
    Result<Json> query(const std::string& command, Text as = Text::kLine);
    // What is asked from now on must all be answered by then (steady_now()), whatever the patience.
    void set_deadline(Nanoseconds deadline) { deadline_ = deadline; }
    void set_timeout(Nanoseconds patience) { timeout_ = patience; }

  private:
    TelemetryClient(int socket, Nanoseconds patience, const std::atomic<bool>* stop)
        : socket_(socket), timeout_(patience), stop_(stop) {}
    Result<std::string> receive(Nanoseconds deadline);
    Result<std::string> take(Nanoseconds deadline);
    [[nodiscard]] Status wait(short events, Nanoseconds deadline) const;

    static constexpr std::size_t kLongest = std::size_t{1} << 20;  // DPDK's are 16 KiB

    int socket_;
    Nanoseconds timeout_;
    Nanoseconds deadline_ = ~Nanoseconds{0};
    const std::atomic<bool>* stop_;
    unsigned outstanding_replies_ = 0;  // answers to what was asked and not waited for
    std::vector<char> buffer_;
};

}  // namespace unecho::monitor
