// SPDX-License-Identifier: BSD-3-Clause
#include "monitor/server/http_server.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <list>
#include <string_view>
#include <utility>

#include <microhttpd.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/os/clock.h"
#include "base/os/errno_code.h"
#include "base/os/fatal_handler.h"

namespace unecho::monitor {
namespace {

constexpr int kTurn = 100;           // milliseconds between two checks of timeouts
constexpr unsigned kSpare = 32;      // connections kept free for the next clients
constexpr rlim_t kOtherFiles = 192;  // descriptors for everything else

// Raise the limit of descriptors if possible. Return the connections that they suffice for.
unsigned possible_connections() {
    rlimit files{};
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) {
        return HttpServer::kMaxConnections;
    }
    const rlim_t wanted = HttpServer::kMaxConnections + kOtherFiles;
    if (files.rlim_cur < wanted) {
        files.rlim_cur = std::min(wanted, files.rlim_max);
        setrlimit(RLIMIT_NOFILE, &files);
        getrlimit(RLIMIT_NOFILE, &files);
    }
    const rlim_t spare = files.rlim_cur > kOtherFiles ? files.rlim_cur - kOtherFiles : 0;
    return static_cast<unsigned>(
        std::clamp<rlim_t>(spare, 2 * kSpare, HttpServer::kMaxConnections));
}

// A page of another site can make a browser send requests here under that site's name (DNS
// rebinding). A server on loopback only is addressed by IP or as localhost.
bool is_name_of_this_host(std::string_view host) {
    if (host.starts_with('[')) {
        host = host.substr(1, host.find(']') - 1);
    } else {
        host = host.substr(0, host.find(':'));
    }
    return host == "localhost" || is_ip_address(std::string(host));
}

// libmicrohttpd calls this when an invariant of its own fails.
void on_panic(void* /*cls*/, const char* /*file*/, unsigned /*line*/, const char* why) {
    std::string text = why == nullptr ? "it does not say why" : why;
    text.resize(text.find_last_not_of(".\n") + 1);
    report_fatal(("the server's library gave up: " + text).c_str());
}

// libmicrohttpd passes paths as C strings. A decoded "%00" would hide the rest of a path, and a
// nonexistent path would be answered like its beginning.
std::size_t unescape(void* /*cls*/, MHD_Connection* /*connection*/, char* text) {
    return std::strstr(text, "%00") != nullptr ? std::strlen(text) : MHD_http_unescape(text);
}

}  // namespace

struct HttpServer::State {
    // A connection; `clients` has them oldest first.
    struct Client {
        int socket = -1;
        Nanoseconds since = 0;  // begin of the present request or response
        bool answering = false;
    };
    struct Stream {
        State* state = nullptr;
        MHD_Connection* connection = nullptr;
        Client* client = nullptr;
        Body event;
        std::size_t sent = 0;
        std::uint64_t number = 0;  // of the event
        bool suspended = false;
    };
    // A response while it is being sent.
    struct Sending {
        Body body;
    };

    static void on_connection(void* cls, MHD_Connection* connection, void** context,
                              MHD_ConnectionNotificationCode code);
    static void on_completed(void* cls, MHD_Connection* connection, void** request,
                             MHD_RequestTerminationCode code);
    static MHD_Result on_request(void* cls, MHD_Connection* connection, const char* url,
                                 const char* method, const char* version, const char* upload,
                                 std::size_t* upload_size, void** request);
    static MHD_Result add_argument(void* cls, MHD_ValueKind kind, const char* name,
                                   const char* value);
    static ssize_t read_stream(void* cls, std::uint64_t position, char* to, std::size_t most);
    static void end_stream(void* cls);
    static void end_sending(void* cls);

    MHD_Result answer(MHD_Connection* connection, const char* url, const char* method,
                      bool has_body);
    MHD_Result queue(MHD_Connection* connection, const HttpResponse& answer,
                     MHD_Response* response) const;
    MHD_Result say(MHD_Connection* connection, unsigned status, const char* text) const;
    MHD_Result send_body(MHD_Connection* connection, const HttpResponse& answer);
    MHD_Result open_stream(MHD_Connection* connection);
    [[nodiscard]] std::size_t waiting_bytes();
    [[nodiscard]] bool is_short() const { return clients.size() + kSpare > most_connections; }
    void close_timed_out(Nanoseconds now);
    void close_oldest();
    void publish(Body event);
    void end_streams();

    MHD_Daemon* daemon = nullptr;
    const Handler* handler = nullptr;
    unsigned most_connections = kMaxConnections;
    bool loopback = true;
    bool ending = false;
    std::list<Client> clients;
    std::list<Stream> streams;
    std::list<std::weak_ptr<const std::string>> waiting;
    Body event;
    std::uint64_t event_number = 0;
    Nanoseconds event_due = 0;  // of the next event; none is made without streams
};

void HttpServer::State::on_connection(void* cls, MHD_Connection* connection, void** context,
                                      MHD_ConnectionNotificationCode code) {
    auto& state = *static_cast<State*>(cls);
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const MHD_ConnectionInfo* info =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        state.clients.push_back({info == nullptr ? -1 : info->connect_fd, steady_now(), false});
        *context = &state.clients.back();
        if (state.is_short()) {
            state.close_oldest();
        }
    } else {
        state.clients.remove_if([&](const Client& client) { return &client == *context; });
    }
}

void HttpServer::State::on_completed(void* /*cls*/, MHD_Connection* connection, void** /*request*/,
                                     MHD_RequestTerminationCode /*code*/) {
    const MHD_ConnectionInfo* info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    if (info != nullptr && info->socket_context != nullptr) {
        auto& client = *static_cast<Client*>(info->socket_context);
        client.since = steady_now();
        client.answering = false;
    }
}

MHD_Result HttpServer::State::on_request(void* cls, MHD_Connection* connection, const char* url,
                                         const char* method, const char* /*version*/,
                                         const char* /*upload*/, std::size_t* upload_size,
                                         void** request) {
    auto& state = *static_cast<State*>(cls);
    static int begun;
    const auto header = [&](const char* name) {
        return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
    };
    const char* length = header(MHD_HTTP_HEADER_CONTENT_LENGTH);
    const bool has_body = *upload_size != 0 ||
                          header(MHD_HTTP_HEADER_TRANSFER_ENCODING) != nullptr ||
                          (length != nullptr && std::string_view(length) != "0");
    // libmicrohttpd calls once before a body and once after it. A request with a body is answered
    // at once, and its connection closed.
    if (*request == nullptr && !has_body) {
        *request = &begun;
        return MHD_YES;
    }
    const MHD_ConnectionInfo* info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    if (info != nullptr && info->socket_context != nullptr) {
        auto& client = *static_cast<Client*>(info->socket_context);
        client.since = steady_now();
        client.answering = true;
    }
    return state.answer(connection, url, method, has_body);
}

MHD_Result HttpServer::State::add_argument(void* cls, MHD_ValueKind /*kind*/, const char* name,
                                           const char* value) {
    (*static_cast<std::map<std::string, std::string>*>(cls))[name] = value == nullptr ? "" : value;
    return MHD_YES;
}

MHD_Result HttpServer::State::queue(MHD_Connection* connection, const HttpResponse& answer,
                                    MHD_Response* response) const {
    if (response == nullptr) {
        return MHD_NO;
    }
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer.type.c_str());
    MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(response, "Content-Security-Policy",
                            std::string(answer.policy).c_str());
    if (answer.status == MHD_HTTP_METHOD_NOT_ALLOWED) {
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW,
                                std::string(answer.allowed).c_str());
    }
    const MHD_Result done = MHD_queue_response(connection, answer.status, response);
    MHD_destroy_response(response);
    return done;
}

MHD_Result HttpServer::State::say(MHD_Connection* connection, unsigned status,
                                  const char* text) const {
    MHD_Response* response = MHD_create_response_from_buffer(
        std::strlen(text), const_cast<char*>(text), MHD_RESPMEM_MUST_COPY);
    HttpResponse answer;
    answer.status = status;
    return queue(connection, answer, response);
}

MHD_Result HttpServer::State::answer(MHD_Connection* connection, const char* url,
                                     const char* method, bool has_body) {
    if (has_body) {
        return say(connection, MHD_HTTP_CONTENT_TOO_LARGE, "a request has no body here\n");
    }
    const char* host =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
    if (loopback && host != nullptr && !is_name_of_this_host(host)) {
        return say(connection, MHD_HTTP_MISDIRECTED_REQUEST,
                   "ask for localhost or an address: this server has no other name\n");
    }
    HttpRequest request;
    request.method = method;
    request.path = url;
    request.deliberate =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, kChangeHeader) != nullptr;
    MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, add_argument, &request.query);
    const HttpResponse given = (*handler)(request);
    return given.stream ? open_stream(connection) : send_body(connection, given);
}

// Return the bytes of responses still being read, each counted once for all its readers.
std::size_t HttpServer::State::waiting_bytes() {
    std::size_t bytes = 0;
    waiting.remove_if([](const auto& body) { return body.expired(); });
    for (const auto& each : waiting) {
        const Body body = each.lock();
        bytes += body ? body->size() : 0;
    }
    return bytes;
}

MHD_Result HttpServer::State::send_body(MHD_Connection* connection, const HttpResponse& answer) {
    const bool known = std::any_of(waiting.begin(), waiting.end(),
                                   [&](const auto& each) { return each.lock() == answer.body; });
    if (!known) {
        if (waiting_bytes() + answer.body->size() > kMaxPendingBytes) {
            return say(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
                       "too many answers wait for slow readers\n");
        }
        waiting.emplace_back(answer.body);
    }
    auto sending = std::make_unique<Sending>(Sending{answer.body});
    MHD_Response* response = MHD_create_response_from_buffer_with_free_callback_cls(
        answer.body->size(), const_cast<char*>(answer.body->data()), end_sending, sending.get());
    if (response == nullptr) {
        return MHD_NO;
    }
    sending.release();
    return queue(connection, answer, response);
}

void HttpServer::State::end_sending(void* cls) {
    const std::unique_ptr<Sending> over(static_cast<Sending*>(cls));
}

MHD_Result HttpServer::State::open_stream(MHD_Connection* connection) {
    if (streams.size() >= kMaxStreams) {
        return say(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "too many streams are open\n");
    }
    const MHD_ConnectionInfo* info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    event_due = streams.empty() ? 0 : event_due;
    Stream& stream = streams.emplace_back();
    stream.state = this;
    stream.number = event_number;
    stream.connection = connection;
    stream.client = info == nullptr ? nullptr : static_cast<Client*>(info->socket_context);
    MHD_Response* response = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, std::size_t{16} << 10, read_stream, &stream, end_stream);
    if (response == nullptr) {
        streams.pop_back();
        return MHD_NO;
    }
    HttpResponse answer;
    answer.type = "text/event-stream";
    return queue(connection, answer, response);
}

// A slow reader misses events.
ssize_t HttpServer::State::read_stream(void* cls, std::uint64_t /*position*/, char* to,
                                       std::size_t most) {
    auto& stream = *static_cast<Stream*>(cls);
    State& state = *stream.state;
    if (state.ending) {
        return MHD_CONTENT_READER_END_OF_STREAM;
    }
    if (!stream.event || stream.sent == stream.event->size()) {
        if (stream.client != nullptr) {
            stream.client->since = steady_now();  // it has read everything so far
        }
        if (stream.number == state.event_number) {
            stream.event = nullptr;
            stream.suspended = true;
            MHD_suspend_connection(stream.connection);
            return 0;
        }
        stream.event = state.event;
        stream.number = state.event_number;
        stream.sent = 0;
    }
    const std::size_t n = std::min(most, stream.event->size() - stream.sent);
    std::memcpy(to, stream.event->data() + stream.sent, n);
    stream.sent += n;
    return static_cast<ssize_t>(n);
}

void HttpServer::State::end_stream(void* cls) {
    auto& stream = *static_cast<Stream*>(cls);
    stream.state->streams.remove_if([&](const Stream& each) { return &each == &stream; });
}

void HttpServer::State::publish(Body next) {
    event = std::move(next);
    ++event_number;
    for (Stream& stream : streams) {
        if (stream.suspended) {
            stream.suspended = false;
            if (stream.client != nullptr) {
                stream.client->since = steady_now();
            }
            MHD_resume_connection(stream.connection);
        }
    }
}

// libmicrohttpd limits silence only: a client that sends a byte now and then would stay for ever.
void HttpServer::State::close_timed_out(Nanoseconds now) {
    const Nanoseconds answer_time = is_short() ? kBusyTimeout : kResponseTimeout;
    for (const Client& client : clients) {
        const Nanoseconds most = client.answering ? answer_time : kRequestTimeout;
        if (client.since + most < now) {
            shutdown(client.socket, SHUT_RDWR);
        }
    }
}

// Close the oldest client that has not sent a request. Spare the newest, which had no time to do
// so.
void HttpServer::State::close_oldest() {
    const auto end = std::prev(clients.end());
    const auto oldest =
        std::min_element(clients.begin(), end, [](const Client& a, const Client& b) {
            return std::pair(a.answering, a.since) < std::pair(b.answering, b.since);
        });
    if (oldest != end && !oldest->answering) {
        shutdown(oldest->socket, SHUT_RDWR);
        oldest->since = ~Nanoseconds{0} / 2;  // so that the next call closes another one
    }
}

void HttpServer::State::end_streams() {
    ending = true;
    publish(nullptr);
    for (int turn = 0; turn < 20 && !streams.empty(); ++turn) {
        MHD_run_wait(daemon, 10);
    }
}

HttpServer::HttpServer(ListenAddress address, ListeningSocket socket)
    : address_(std::move(address)), socket_(std::move(socket)), state_(std::make_unique<State>()) {
    state_->loopback = address_.loopback;
}

HttpServer::~HttpServer() {
    if (state_->daemon != nullptr) {
        state_->end_streams();
        MHD_quiesce_daemon(state_->daemon);  // the socket is not the library's
        MHD_stop_daemon(state_->daemon);
    }
}

Result<std::unique_ptr<HttpServer>> HttpServer::listen(ListenAddress address) {
    auto socket = ListeningSocket::open(address);
    UNECHO_TRY(socket);
    if (!address.is_unix()) {
        address.port = socket->port();
    }
    std::unique_ptr<HttpServer> server(new HttpServer(std::move(address), std::move(*socket)));
    State& state = *server->state_;
    state.most_connections = possible_connections();
    MHD_set_panic_func(&on_panic, nullptr);
    state.daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, nullptr, nullptr, &State::on_request, &state,
        MHD_OPTION_LISTEN_SOCKET, server->socket_.descriptor(), MHD_OPTION_CONNECTION_LIMIT,
        state.most_connections, MHD_OPTION_CONNECTION_MEMORY_LIMIT, kMaxRequestBytes,
        MHD_OPTION_CONNECTION_TIMEOUT, static_cast<unsigned>(kResponseTimeout / kSecond),
        MHD_OPTION_NOTIFY_CONNECTION, &State::on_connection, &state, MHD_OPTION_NOTIFY_COMPLETED,
        &State::on_completed, &state, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_UNESCAPE_CALLBACK,
        &unescape, nullptr, MHD_OPTION_END);
    if (state.daemon == nullptr) {
        const int number = errno;
        return fail(errc_from_errno(number), server->address_.url() + ": " + std::strerror(number));
    }
    return server;
}

Status HttpServer::run(const Handler& handler, const Events& events,
                       const std::atomic<bool>& stop) {
    state_->handler = &handler;
    while (!stop) {
        if (MHD_run_wait(state_->daemon, kTurn) == MHD_NO) {
            return fail(Errc::kIo, "the server's event loop ended");
        }
        const Nanoseconds now = steady_now();
        state_->close_timed_out(now);
        if (!state_->streams.empty() && now >= state_->event_due) {
            state_->event_due = std::max(state_->event_due + kSecond, now + kSecond / 2);
            state_->publish(events());
        }
    }
    return {};
}

}  // namespace unecho::monitor
