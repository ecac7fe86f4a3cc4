// SPDX-License-Identifier: BSD-3-Clause
// Notifies the service manager that started this process, as sd_notify(3) describes: datagrams to
// the socket in $NOTIFY_SOCKET (docs/decisions/0012-sd-notify.md). Without that variable nothing is
// sent. Used by the control thread only; no call waits longer than 0.1 s.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"

namespace unecho::appliance {

class ServiceManager {
  public:
    // The process's environment variables; null: not set.
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
    // Return the watchdog's timeout: the manager acts on a process that does not feed it for so
    // long. 0: no watchdog.
    [[nodiscard]] Nanoseconds watchdog() const { return watchdog_; }

    // Report that packets are forwarded. Errc::kIo if it could not be sent; systemd then sees a
    // failed start. The same holds for the other changes of state.
    Status ready();
    Status stopping();
    // Report the begin and end of a reload; status() may say how it went.
    Status reloading();
    Status reloaded();

    // Send a line for people. It is lost if the manager cannot take it at once, and so is
    // feed_watchdog().
    void status(std::string_view text);
    void feed_watchdog();

  private:
    Status notify(const std::string& message);
    bool send(std::string_view message, int flags) const;

    std::string address_;
    int socket_ = -1;
    Nanoseconds watchdog_ = 0;
};

}  // namespace unecho::appliance
