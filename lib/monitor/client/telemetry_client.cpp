// SPDX-License-Identifier: BSD-3-Clause
#include "monitor/client/telemetry_client.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "base/os/errno_code.h"
#include "base/utf8.h"

namespace unecho::monitor {
namespace {

constexpr Nanoseconds kStep = 100 * kMillisecond;  // between two checks of stop_

// Refuse JSON that is nested deeper than any reply of unecho: functions that recurse into it would
// exhaust the stack.
Json parsed(const std::string& text) {
    constexpr int kDeepest = 32;
    bool deep = false;
    Json out = Json::parse(
        text,
        [&](int depth, Json::parse_event_t, Json&) {
            deep |= depth > kDeepest;
            return !deep;
        },
        false);
    return deep ? Json() : out;
}

// A reply is foreign input: it may hold control characters for a terminal, or misleading text.
constexpr std::size_t kLongestText = 4096;  // of events, the longest texts
constexpr std::size_t kLongestName = 256;

std::string sanitised(const std::string& text, TelemetryClient::Text as, std::size_t longest) {
    return truncated(as == TelemetryClient::Text::kLines ? escaped_lines(text) : escaped(text),
                     longest);
}

Json sanitised(const Json& value, TelemetryClient::Text as) {
    if (value.is_string()) {
        return sanitised(value.get_ref<const std::string&>(), as, kLongestText);
    }
    if (!value.is_structured()) {
        return value;
    }
    Json out = value.is_array() ? Json::array() : Json::object();
    for (const auto& item : value.items()) {
        if (value.is_array()) {
            out.push_back(sanitised(item.value(), as));
        } else {
            out[sanitised(item.key(), TelemetryClient::Text::kLine, kLongestName)] =
                sanitised(item.value(), as);
        }
    }
    return out;
}

// unecho's socket for a group lies beside DPDK's, which only its user may use.
std::string group_socket_path(const std::string& path) {
    constexpr std::string_view kDpdks = "/dpdk_telemetry.v2";
    return path.ends_with(kDpdks)
               ? path.substr(0, path.size() - kDpdks.size()) + "/unecho_telemetry.v2"
               : "";
}

// Return 0 or errno.
int connect_to(int socket, const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof(address.sun_path)) {
        return ENAMETOOLONG;
    }
    std::memcpy(address.sun_path, path.data(), path.size());
    return ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0
               ? 0
               : errno;
}

tl::unexpected<Error> silent() {
    return fail(Errc::kBusy, "does not answer");
}

tl::unexpected<Error> gone() {
    return fail(Errc::kNotFound, "is not running");
}

tl::unexpected<Error> refused(int number) {
    switch (number) {
        case ENOENT:
        case ENOTDIR:
        case ECONNREFUSED:
        case ECONNRESET:
        case EPIPE:
            return gone();
        case EAGAIN:
        case EINPROGRESS:
            return silent();
        case EACCES:
        case EPERM:
            return fail(Errc::kPermission,
                        "its socket is not permitted; run as its user, or let [run] "
                        "telemetry_group name a group of yours");
        default:
            return fail(errc_from_errno(number),
                        std::string("its socket: ") + std::strerror(number));
    }
}

}  // namespace

Result<TelemetryClient> TelemetryClient::connect(const std::string& path, Nanoseconds patience,
                                                 const std::atomic<bool>* stop) {
    TelemetryClient client(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
                           patience, stop);
    if (client.socket_ < 0) {
        return refused(errno);
    }
    int problem = connect_to(client.socket_, path);
    if (const std::string other = group_socket_path(path); problem == EACCES && !other.empty()) {
        const int other_problem = connect_to(client.socket_, other);
        problem = other_problem == ENOENT ? EACCES : other_problem;
    }
    if (problem != 0) {
        return refused(problem);
    }
    client.buffer_.resize(1024);
    const auto greeting = client.receive(steady_now() + patience);
    if (!greeting) {
        // The server accepted and closed, as DPDK does with an eleventh client.
        return greeting.error().code == Errc::kNotFound
                   ? fail(Errc::kBusy, "has too many clients on its telemetry socket already")
                   : tl::unexpected(greeting.error());
    }
    const Json said = parsed(*greeting);
    const std::uint64_t longest = unsigned_or(said, "max_output_len");
    if (longest == 0) {
        return fail(Errc::kIo, "greets as no telemetry socket of DPDK does");
    }
    client.buffer_.resize(std::min<std::uint64_t>(longest + 1, kLongest));
    return client;
}

TelemetryClient::~TelemetryClient() {
    if (socket_ >= 0) {
        close(socket_);
    }
}

TelemetryClient::TelemetryClient(TelemetryClient&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      timeout_(other.timeout_),
      deadline_(other.deadline_),
      stop_(other.stop_),
      outstanding_replies_(other.outstanding_replies_),
      buffer_(std::move(other.buffer_)) {}

TelemetryClient& TelemetryClient::operator=(TelemetryClient&& other) noexcept {
    std::swap(socket_, other.socket_);
    timeout_ = other.timeout_;
    deadline_ = other.deadline_;
    stop_ = other.stop_;
    outstanding_replies_ = other.outstanding_replies_;
    buffer_ = std::move(other.buffer_);
    return *this;
}

Status TelemetryClient::wait(short events, Nanoseconds deadline) const {
    for (;;) {
        const Nanoseconds now = steady_now();
        if (now >= deadline || (stop_ != nullptr && *stop_)) {
            return silent();
        }
        pollfd one{socket_, events, 0};
        const Nanoseconds step = std::min(deadline - now, kStep);
        const int ready = ::poll(&one, 1, static_cast<int>(step / kMillisecond + 1));
        if (ready > 0) {
            return {};
        }
        if (ready < 0 && errno != EINTR) {
            return refused(errno);
        }
    }
}

Result<std::string> TelemetryClient::receive(Nanoseconds deadline) {
    for (;;) {
        const ssize_t n = recv(socket_, buffer_.data(), buffer_.size(), MSG_DONTWAIT | MSG_TRUNC);
        if (n == 0) {
            return gone();
        }
        if (n > 0) {
            const auto size = static_cast<std::size_t>(n);
            return size <= buffer_.size()
                       ? Result<std::string>(std::string(buffer_.data(), size))
                       : fail(Errc::kIo, "answers more than it said that it would");
        }
        if (errno != EAGAIN && errno != EINTR) {
            return refused(errno);
        }
        UNECHO_TRY(wait(POLLIN, deadline));
    }
}

// Take one outstanding reply. A reply that is too long is taken as well.
Result<std::string> TelemetryClient::take(Nanoseconds deadline) {
    auto answer = receive(deadline);
    outstanding_replies_ -= answer || answer.error().code == Errc::kIo ? 1 : 0;
    return answer;
}

Result<Json> TelemetryClient::query(const std::string& command, Text as) {
    const Nanoseconds deadline = std::min(steady_now() + timeout_, deadline_);
    while (outstanding_replies_ > 0) {
        if (const auto late = take(deadline); !late && late.error().code != Errc::kIo) {
            return tl::unexpected(late.error());
        }
    }
    if (send(socket_, command.data(), command.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
        return refused(errno);
    }
    ++outstanding_replies_;
    const auto answer = take(deadline);
    UNECHO_TRY(answer);
    const Json said = parsed(*answer);
    if (!said.is_object()) {
        return fail(Errc::kIo, "answers what is no JSON to " + command);
    }
    return sanitised(member(said, command.substr(0, command.find(','))), as);
}

}  // namespace unecho::monitor
