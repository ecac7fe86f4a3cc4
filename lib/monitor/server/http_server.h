// SPDX-License-Identifier: BSD-3-Clause
// GET over HTTP/1.1, on libmicrohttpd and one thread (docs/decisions/0009-http-library.md). It
// knows no files, so a path leads nowhere but to what answers it.
//
// Everything has an end: a request's head by size and time, the answer by time, connections and the
// bytes of answers that wait for slow readers by number. When connections are short, the one that
// has waited for longest for its request to be whole is closed for the next, and readers have less
// time.
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

struct HttpRequest {
    std::string path;
    std::map<std::string, std::string> query;
};

using Body = std::shared_ptr<const std::string>;

struct HttpResponse {
    unsigned status = 200;
    std::string type = "text/plain; charset=utf-8";
    Body body;
    bool stream = false;  // of server-sent events, in place of the body
    // Content-Security-Policy: what a page may do; all else that is sent is no page.
    std::string_view policy = "default-src 'none'; frame-ancestors 'none'";
};

class HttpServer {
  public:
    using Handler = std::function<HttpResponse(const HttpRequest&)>;
    // What is sent to all streams, once a second.
    using Events = std::function<Body()>;

    static constexpr unsigned kMaxConnections = 800;
    static constexpr unsigned kMaxStreams = 200;
    static constexpr std::size_t kMaxRequestBytes = std::size_t{16}
                                                    << 10;  // bytes, each connection
    static constexpr std::size_t kMaxPendingBytes = std::size_t{128} << 20;  // bytes of answers
    static constexpr Nanoseconds kRequestTimeout = 10 * kSecond;  // for a whole request; and idle
    static constexpr Nanoseconds kResponseTimeout =
        30 * kSecond;  // to take the answer, or an event
    static constexpr Nanoseconds kBusyTimeout =
        3 * kSecond;  // for that, when connections are short

    // It listens from then on. Errors say why the address cannot be listened on.
    static Result<std::unique_ptr<HttpServer>> listen(ListenAddress address);
    ~HttpServer();
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

    // The address with the port that it has.
    [[nodiscard]] const ListenAddress& address() const { return address_; }

    // Until stop is set, looked at ten times a second. Both are called on this thread alone.
    Status run(const Handler& handler, const Events& events, const std::atomic<bool>& stop);

  private:
    struct State;
    HttpServer(ListenAddress address, ListeningSocket socket);

    ListenAddress address_;
    ListeningSocket socket_;
    std::unique_ptr<State> state_;
};

}  // namespace unecho::monitor
