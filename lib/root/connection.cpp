// SPDX-License-Identifier: BSD-3-Clause
#include "root/connection.h"

#include <cstring>
#include <utility>
#include <vector>

#include <sys/socket.h>

namespace unecho::root {
namespace {

// Of answers that are not whole; the longest, CLUSTER SLOTS of a thousand nodes, has a tenth of it.
constexpr std::size_t kMostUnread = std::size_t{4} << 20;

}  // namespace

Result<Connection> Connection::open(const Endpoint& to) {
    std::unique_ptr<redisContext, Free> context(redisConnectNonBlock(to.host.c_str(), to.port));
    if (context == nullptr) {
        return fail(Errc::kNoMemory, to.text() + ": no memory for a connection");
    }
    Connection out(std::move(context), to);
    if (out.context_->err != 0) {
        return out.broken();
    }
    return out;
}

tl::unexpected<Error> Connection::broken() const {
    return fail(Errc::kIo, to_.text() + ": " + context_->errstr);
}

void Connection::append(std::span<const std::string_view> words) {
    std::vector<const char*> texts;
    std::vector<std::size_t> sizes;
    for (const std::string_view word : words) {
        texts.push_back(word.data());
        sizes.push_back(word.size());
    }
    redisAppendCommandArgv(context_.get(), static_cast<int>(texts.size()), texts.data(),
                           sizes.data());
    unsent_ = true;
}

Status Connection::write() {
    if (!connected_) {
        int code = 0;
        socklen_t size = sizeof code;
        if (getsockopt(context_->fd, SOL_SOCKET, SO_ERROR, &code, &size) != 0 || code != 0) {
            return fail(Errc::kIo, to_.text() + ": " + std::strerror(code));
        }
        connected_ = true;
    }
    int done = 0;
    if (redisBufferWrite(context_.get(), &done) != REDIS_OK) {
        return broken();
    }
    unsent_ = done == 0;
    return {};
}

Status Connection::read() {
    if (redisBufferRead(context_.get()) != REDIS_OK) {
        return broken();
    }
    if (context_->reader->len > kMostUnread) {
        return fail(Errc::kIo, to_.text() + ": an answer without end");
    }
    return {};
}

Result<Reply> Connection::next() {
    void* reply = nullptr;
    if (redisReaderGetReply(context_->reader, &reply) != REDIS_OK) {
        return fail(Errc::kIo, to_.text() + ": " + context_->reader->errstr);
    }
    return Reply(static_cast<redisReply*>(reply));
}

}  // namespace unecho::root
