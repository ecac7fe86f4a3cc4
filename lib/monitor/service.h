// SPDX-License-Identifier: BSD-3-Clause
// What each path of `unecho serve` answers. docs/monitoring.md has them all.
#pragma once

#include <map>
#include <string>

#include "base/units.h"
#include "monitor/http_server.h"
#include "monitor/watcher.h"

namespace unecho::monitor {

class Service {
  public:
    Service(const Watcher& watcher, const ListenAddress& address);

    HttpAnswer answer(const HttpRequest& request);
    // The state as an event for streams.
    Body event();

  private:
    using Member = HttpAnswer (Service::*)(const HttpRequest&);
    struct Path {
        const char* path;
        Member answer;
        const char* help;
    };
    static const Path kPaths[];

    HttpAnswer page(const HttpRequest&);
    HttpAnswer index(const HttpRequest&);
    HttpAnswer metrics(const HttpRequest&);
    HttpAnswer health(const HttpRequest&);
    HttpAnswer readiness(const HttpRequest&);
    HttpAnswer state(const HttpRequest&);
    HttpAnswer history(const HttpRequest& request);
    HttpAnswer stream(const HttpRequest&);
    [[nodiscard]] Json state_json() const;

    // Many that ask at the same time get the same text, for a moment.
    template <typename Make>
    Body recent(const std::string& key, Make&& make);
    struct Recent {
        Body body;
        Nanoseconds made = 0;
    };

    const Watcher& watcher_;
    const std::string url_;
    const Nanoseconds started_;
    std::map<std::string, Recent> recent_;
};

}  // namespace unecho::monitor
