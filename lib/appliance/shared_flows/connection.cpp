// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/shared_flows/connection.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace unecho::shared_flows {
namespace {

const redisReplyObjectFunctions& functions_of_hiredis() {
    static const redisReplyObjectFunctions functions = [] {
        redisReader* const reader = redisReaderCreate();
        const redisReplyObjectFunctions out =
            reader == nullptr ? redisReplyObjectFunctions{} : *reader->fn;
        redisReaderFree(reader);
        return out;
    }();
    return functions;
}

// hiredis' functions would allocate memory for as many elements as a list claims to have.
redisReplyObjectFunctions* bounded_functions() {
    static redisReplyObjectFunctions functions = [] {
        redisReplyObjectFunctions out = functions_of_hiredis();
        out.createArray = [](const redisReadTask* task, auto elements) -> void* {
            return elements > Connection::kMostElements
                       ? nullptr
                       : functions_of_hiredis().createArray(task, elements);
        };
        return out;
    }();
    return &functions;
}

bool would_wait(int code) {
    return code == EAGAIN || code == EWOULDBLOCK || code == EINTR;
}

}  // namespace

Result<Connection> Connection::open(const Endpoint& to, const Address& address) {
    const auto cannot = [&](int code) {
        return fail(Errc::kIo, fmt::format("{}: {}", to.text(), std::strerror(code)));
    };
    Descriptor socket(
        ::socket(address.socket.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (socket.get() < 0) {
        return cannot(errno);
    }
    const int on = 1;
    setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address.socket), address.size) !=
            0 &&
        errno != EINPROGRESS && errno != EINTR) {
        return cannot(errno);
    }
    Reader reader(redisReaderCreate());
    if (reader == nullptr) {
        return fail(Errc::kNoMemory, to.text() + ": no memory for a connection");
    }
    reader->fn = bounded_functions();
    return Connection(std::move(socket), std::move(reader), to);
}

tl::unexpected<Error> Connection::broken(std::string_view why) const {
    return fail(Errc::kIo, fmt::format("{}: {}", to_.text(), why));
}

void Connection::append(std::span<const std::string_view> words) {
    const auto line = [this](char kind, std::size_t number) {
        unsent_ += kind;
        unsent_ += std::to_string(number);
        unsent_ += "\r\n";
    };
    line('*', words.size());
    for (const std::string_view word : words) {
        line('$', word.size());
        unsent_ += word;
        unsent_ += "\r\n";
    }
}

// Without SIGPIPE, which would end the process when the peer is gone.
Status Connection::write() {
    if (!connected_) {
        int code = 0;
        socklen_t size = sizeof code;
        if (getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &code, &size) != 0) {
            code = errno;
        }
        if (code != 0) {
            return broken(std::strerror(code));
        }
        connected_ = true;
    }
    if (unsent_.empty()) {
        return {};
    }
    const ssize_t sent = send(socket_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
    if (sent < 0) {
        return would_wait(errno) ? Status() : broken(std::strerror(errno));
    }
    unsent_.erase(0, static_cast<std::size_t>(sent));
    return {};
}

Status Connection::read() {
    std::array<char, 65536> bytes;
    const ssize_t got = recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (got < 0) {
        return would_wait(errno) ? Status() : broken(std::strerror(errno));
    }
    if (got == 0) {
        return broken("it closed the connection");
    }
    unfinished_ += static_cast<std::size_t>(got);
    if (redisReaderFeed(reader_.get(), bytes.data(), static_cast<std::size_t>(got)) != REDIS_OK) {
        return broken(reader_->errstr);
    }
    return {};
}

Result<Reply> Connection::next() {
    void* reply = nullptr;
    if (redisReaderGetReply(reader_.get(), &reply) != REDIS_OK) {
        return broken(reader_->err == REDIS_ERR_OOM ? "an answer without end" : reader_->errstr);
    }
    if (reply != nullptr) {
        unfinished_ = 0;
    } else if (unfinished_ > kMostBytes) {
        return broken("an answer without end");
    }
    return Reply(static_cast<redisReply*>(reply));
}

}  // namespace unecho::shared_flows
