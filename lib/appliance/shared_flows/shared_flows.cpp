// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/shared_flows/shared_flows.h"

#include <atomic>
#include <mutex>
#include <thread>
#include <utility>

#include <pthread.h>

#include "appliance/shared_flows/cluster_client.h"
#include "base/utf8.h"

namespace unecho::shared_flows {
namespace {

// Workers do not wake the thread: a flow waits for at most this long before it is queried.
constexpr Nanoseconds kLook = kMillisecond;
constexpr std::size_t kMostLines = 64;
constexpr std::size_t kMaxLine = 2000;  // bytes

class Thread final : public SharedFlows {
  public:
    Thread(Layout layout, ClusterClientSpec spec, std::vector<FlowFeed*> feeds)
        : client_(std::move(layout), std::move(spec), std::move(feeds),
                  [this](const LogLine& line) { keep(line); }) {}
    ~Thread() override {
        stop_.store(true, std::memory_order_relaxed);
        if (thread_.joinable()) {
            thread_.join();
        }
    }
    Thread(const Thread&) = delete;
    Thread& operator=(const Thread&) = delete;
    Thread(Thread&&) = delete;
    Thread& operator=(Thread&&) = delete;

    Status contact(Nanoseconds patience) { return client_.contact(patience); }

    void run() {
        thread_ = std::thread([this] {
            pthread_setname_np(pthread_self(), "unecho-root");
            while (!stop_.load(std::memory_order_relaxed)) {
                client_.step(kLook);
                const std::lock_guard lock(mutex_);
                counters_ = client_.counters();
            }
        });
    }

    [[nodiscard]] Counters counters() const override {
        const std::lock_guard lock(mutex_);
        return counters_;
    }
    [[nodiscard]] std::vector<LogLine> take_lines() override {
        const std::lock_guard lock(mutex_);
        return std::exchange(lines_, {});
    }

  private:
    void keep(const LogLine& line) {
        const std::lock_guard lock(mutex_);
        if (lines_.size() < kMostLines) {
            // other nodes choose the names in it
            lines_.emplace_back(line.severity, line.event, shortened(escaped(line.text), kMaxLine));
        }
    }

    ClusterClient client_;  // the thread's, once it runs
    std::atomic<bool> stop_{false};
    mutable std::mutex mutex_;
    Counters counters_;
    std::vector<LogLine> lines_;
    std::thread thread_;
};

}  // namespace

Status SharedFlows::available() {
    return {};
}

Result<std::unique_ptr<SharedFlows>> SharedFlows::start(Layout layout, ClusterClientSpec spec,
                                                        std::vector<FlowFeed*> feeds,
                                                        std::optional<Nanoseconds> patience) {
    auto thread = std::make_unique<Thread>(std::move(layout), std::move(spec), std::move(feeds));
    if (patience) {
        UNECHO_TRY(thread->contact(*patience));
    }
    thread->run();
    return thread;
}

}  // namespace unecho::shared_flows
