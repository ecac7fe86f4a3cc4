// SPDX-License-Identifier: BSD-3-Clause
// An HTTP/1.1 server for requests without a body, on libmicrohttpd and one thread
// (docs/decisions/0009-http-library.md). It serves no files, so a path reaches only its handler.
//
// Everything is bounded: a request's head in size and time, a response in time, connections and the
// bytes of responses that wait for slow readers in number. When connections run short, the one
// whose request has been incomplete for longest is closed, and readers get less time.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"
#include "monitor/server/listening_socket.h"

struct MHD_Daemon;

namespace unecho::monitor {

// A browser lets no page of another site send a header of its own making.
inline constexpr const char* kChangeHeader = "X-Unecho-Change";

struct HttpRequest {
    std::string method;
    std::string path;
    bool deliberate = false;  // has kChangeHeader
    std::map<std::string, std::string> query;
};

using Body = std::shared_ptr<const std::string>;

struct HttpResponse {
    unsigned status = 200;
    std::string type = "text/plain; charset=utf-8";
    Body body;
    bool stream = false;               // server-sent events instead of a body
    // Content-Security-Policy of a page; anything else that is sent is no page.
    std::string_view policy = "default-src 'none'; frame-ancestors 'none'";
    std::string_view allowed = "GET";  // the method, if the status is 405
};

class HttpServer {
  public:
    using Handler = std::function<HttpResponse(const HttpRequest&)>;
    // Makes the next event for all streams, once a second.
    using Events = std::function<Body()>;

    static constexpr unsigned kMaxConnections = 800;
    static constexpr unsigned kMaxStreams = 200;
    static constexpr std::size_t kMaxRequestBytes = std::size_t{16}
                                                    << 10;  // bytes, each connection
    static constexpr std::size_t kMaxPendingBytes = std::size_t{128} << 20;  // bytes of answers
    static constexpr Nanoseconds kRequestTimeout =
        10 * kSecond;  // for a complete request; also the idle time
    static constexpr Nanoseconds kResponseTimeout =
        30 * kSecond;  // to read the response, or an event
    static constexpr Nanoseconds kBusyTimeout =
        3 * kSecond;  // likewise, when connections run short

    // Listen from now on. An error says why the address cannot be used.
    static Result<std::unique_ptr<HttpServer>> listen(ListenAddress address);
    ~HttpServer();
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

    // Return the address with its actual port.
    [[nodiscard]] const ListenAddress& address() const { return address_; }

    // Serve until stop is set, which is checked ten times a second. Both functions are called on
    // this thread only.
    Status run(const Handler& handler, const Events& events, const std::atomic<bool>& stop);

  private:
    struct State;
    HttpServer(ListenAddress address, ListeningSocket socket);

    ListenAddress address_;
    ListeningSocket socket_;
    std::unique_ptr<State> state_;
};

}  // namespace unecho::monitor
