// SPDX-License-Identifier: BSD-3-Clause
// Monitors all appliances of the host: finds them, and queries each once a second on its own
// thread, so that a silent one delays no other. Appliances that are expected are reported whether
// they exist or not. One that is gone and not expected is forgotten after a time, or on demand.
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

#include "base/result.h"
#include "monitor/client/appliance_poller.h"
#include "monitor/client/appliance_status.h"
#include "monitor/server/history_file.h"

namespace unecho::monitor {

struct HostMonitorSpec {
    std::vector<std::string> folders;  // the parents of runtime directories
    // Returns the names of appliances that should exist. Asked each second, on one thread at a
    // time.
    std::function<std::vector<std::string>()> expected = {};
    Nanoseconds forget_after = 24 * 3600 * kSecond;     // since an unexpected appliance is gone
    std::shared_ptr<const HistoryFolder> history = {};  // null: histories are in memory only
    Nanoseconds interval = kSecond;
};

class HostMonitor {
  public:
    static constexpr std::size_t kMost =
        64;  // appliances; beyond that, the one gone for longest is removed

    // Logs one line for people, from any thread.
    using Log = std::function<void(const std::string&)>;

    HostMonitor(HostMonitorSpec spec, Log log);
    ~HostMonitor();
    HostMonitor(const HostMonitor&) = delete;
    HostMonitor& operator=(const HostMonitor&) = delete;

    [[nodiscard]] ApplianceStatuses appliances() const;
    // Return the directories that cannot be read.
    [[nodiscard]] std::vector<std::string> problems() const;
    // Return the history of the appliance of this name as JSON; "" means the only one. Nothing if
    // there is none.
    [[nodiscard]] std::optional<std::string> history(const std::string& name,
                                                     std::size_t seconds) const;
    // Forget an appliance that is gone, with its history. Errc::kNotFound: there is none of this
    // name. Errc::kBusy: it exists, or is expected.
    Status forget(const std::string& name);

    [[nodiscard]] const HostMonitorSpec& spec() const { return spec_; }

  private:
    struct PollerThread {
        PollerThread(TelemetrySocket place, std::shared_ptr<const HistoryFolder> history)
            : watch(std::move(place), stop, std::move(history)) {}
        // Return the status unless it is to be forgotten; null before the first.
        [[nodiscard]] std::shared_ptr<const ApplianceStatus> seen() const {
            return stop ? nullptr : watch.seen();
        }
        std::atomic<bool> stop{false};
        AppliancePoller watch;
        std::atomic<bool> over{false};  // its thread is about to return
        std::thread thread;
    };

    void find();
    void end() noexcept;
    void join_finished();
    void follow(const std::vector<TelemetrySocket>& places,
                const std::vector<std::string>& expected);
    [[nodiscard]] std::vector<TelemetrySocket> new_sockets(
        const std::vector<TelemetrySocket>& places, const std::vector<std::string>& expected) const;
    void forget_old();
    void evict_longest_gone();
    void start(const TelemetrySocket& place, bool expected);
    void run(PollerThread& watched);
    void log_change(const ApplianceStatus* before, const ApplianceStatus& after) const;
    // Return false if stop is set.
    bool sleep_until(Nanoseconds time, const std::atomic<bool>& stop);

    const HostMonitorSpec spec_;
    const Log log_;
    mutable std::mutex mutex_;
    std::condition_variable wake_;
    std::atomic<bool> stop_{false};
    std::vector<std::shared_ptr<PollerThread>>
        pollers_;  // only the finder changes it, under the lock
    std::vector<std::string> problems_;
    std::thread finder_;
};

}  // namespace unecho::monitor
