// SPDX-License-Identifier: BSD-3-Clause
// What the service manager that started this process is told of it, as sd_notify(3) describes:
// datagrams to the socket that $NOTIFY_SOCKET names (docs/decisions/0012-sd-notify.md). Without one
// nothing is said. The control thread's; nothing here waits for long.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"

namespace unecho::control {

class ServiceManager {
  public:
    // As the process was started with; null: not there.
    struct Environment {
        const char* notify_socket = nullptr;
        const char* watchdog_usec = nullptr;
        const char* watchdog_pid = nullptr;

        static Environment of_this_process();
    };

    explicit ServiceManager(const Environment& environment);
    ~ServiceManager();
    ServiceManager(const ServiceManager&) = delete;
    ServiceManager& operator=(const ServiceManager&) = delete;

    [[nodiscard]] bool listens() const { return socket_ >= 0; }
    // It acts on a process that does not feed its watchdog for so long; 0: it has none.
    [[nodiscard]] Nanoseconds watchdog() const { return watchdog_; }

    // Packets are forwarded. Errc::kIo if this could not be said, of which systemd would make a
    // start that failed; so for the others that change what it takes the process for.
    Status ready();
    Status stopping();
    // Around a change of what runs; status() may say how it went.
    Status reloading();
    Status reloaded();

    // A line for people. Lost where nobody takes it at once, as is the next.
    void status(std::string_view text);
    void feed_watchdog();

  private:
    Status notify(const std::string& message);
    bool send(std::string_view message, int flags) const;

    std::string address_;  // as in the environment
    int socket_ = -1;
    Nanoseconds watchdog_ = 0;
};

}  // namespace unecho::control
