// SPDX-License-Identifier: BSD-3-Clause
// Monitors all appliances of the host: finds them, and queries each once a second on its own
// thread, so that a silent one delays no other.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "monitor/client/appliance_poller.h"
#include "monitor/client/appliance_status.h"

namespace unecho::monitor {

class HostMonitor {
  public:
    static constexpr Nanoseconds kInterval = kSecond;
    static constexpr std::size_t kMost =
        64;  // appliances; beyond that, the one gone for longest is removed

    // Logs one line for people, from any thread.
    using Log = std::function<void(const std::string&)>;

    HostMonitor(std::vector<std::string> folders, Log log, Nanoseconds interval = kInterval);
    ~HostMonitor();
    HostMonitor(const HostMonitor&) = delete;
    HostMonitor& operator=(const HostMonitor&) = delete;

    [[nodiscard]] ApplianceStatuses appliances() const;
    // Return the directories that cannot be read.
    [[nodiscard]] std::vector<std::string> problems() const;
    // Return the history of the appliance of this name as JSON; "" means the only one. Nothing if
    // there is none.
    [[nodiscard]] std::optional<std::string> history(const std::string& name,
                                                     std::size_t samples) const;

  private:
    struct PollerThread {
        explicit PollerThread(TelemetrySocket place) : watch(std::move(place), stop) {}
        std::atomic<bool> stop{false};
        AppliancePoller watch;
        std::atomic<bool> over{false};  // its thread is about to return
        std::thread thread;
    };

    void find();
    void end() noexcept;
    void join_finished();
    [[nodiscard]] std::vector<TelemetrySocket> new_sockets(
        const std::vector<TelemetrySocket>& places) const;
    void evict_longest_gone();
    void start(const TelemetrySocket& place);
    void run(PollerThread& watched);
    void log_change(const ApplianceStatus* before, const ApplianceStatus& after) const;
    // Return false if stop is set.
    bool sleep_until(Nanoseconds time, const std::atomic<bool>& stop);

    const std::vector<std::string> folders_;
    const Log log_;
    const Nanoseconds interval_;
    mutable std::mutex mutex_;
    std::condition_variable wake_;
    std::atomic<bool> stop_{false};
    std::vector<std::shared_ptr<PollerThread>>
        pollers_;  // only the finder changes it, under the lock
    std::vector<std::string> problems_;
    std::thread finder_;
};

}  // namespace unecho::monitor
