// SPDX-License-Identifier: BSD-3-Clause
// The responses to each path of `unecho serve`. docs/monitoring.md describes them.
#pragma once

#include <map>
#include <string>

#include "base/units.h"
#include "monitor/server/host_monitor.h"
#include "monitor/server/http_server.h"

namespace unecho::monitor {

class HttpApi {
  public:
    HttpApi(HostMonitor& watcher, const ListenAddress& address);

    HttpResponse answer(const HttpRequest& request);
    // Return the state as a server-sent event.
    Body event();

  private:
    using Member = HttpResponse (HttpApi::*)(const HttpRequest&);
    struct Path {
        const char* path;
        Member answer;
        const char* help;
        const char* method = "GET";
    };
    static const Path kPaths[];

    HttpResponse page(const HttpRequest&);
    HttpResponse runbook(const HttpRequest&);
    HttpResponse index(const HttpRequest&);
    HttpResponse metrics(const HttpRequest&);
    HttpResponse health(const HttpRequest&);
    HttpResponse readiness(const HttpRequest&);
    HttpResponse state(const HttpRequest&);
    HttpResponse history(const HttpRequest& request);
    HttpResponse stream(const HttpRequest&);
    HttpResponse forget(const HttpRequest& request);
    [[nodiscard]] Json state_json() const;

    // Requests within a short time share one body.
    template <typename Make>
    Body cached(const std::string& key, Make&& make);
    struct CachedBody {
        Body body;
        Nanoseconds made = 0;
    };

    HostMonitor& monitor_;
    const std::string url_;
    const bool changes_;  // are accepted at this address
    const Nanoseconds started_;
    std::map<std::string, CachedBody> cache_;
};

}  // namespace unecho::monitor
