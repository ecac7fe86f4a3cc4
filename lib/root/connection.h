// SPDX-License-Identifier: BSD-3-Clause
// One connection to one Redis: never waits. Answers come in the order of what was sent.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <hiredis/hiredis.h>

#include "base/result.h"
#include "root/endpoint.h"

namespace unecho::root {

struct FreeReply {
    void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using Reply = std::unique_ptr<redisReply, FreeReply>;

[[nodiscard]] inline std::string_view text_of(const redisReply& reply) {
    return reply.str == nullptr ? std::string_view() : std::string_view(reply.str, reply.len);
}
[[nodiscard]] inline bool is_error(const redisReply& reply) {
    return reply.type == REDIS_REPLY_ERROR;
}

class Connection {
  public:
    // It is on its way when this returns.
    static Result<Connection> open(const Endpoint& to);

    [[nodiscard]] int descriptor() const { return context_->fd; }
    // There is something to send, or it is not known yet whether anybody listens.
    [[nodiscard]] bool wants_to_write() const { return !connected_ || unsent_; }

    void append(std::span<const std::string_view> words);
    // When the descriptor can be written, or read. An error ends the connection.
    Status write();
    Status read();
    // Errc::kIo for what is not Redis' protocol; null: there is no whole answer yet.
    Result<Reply> next();

  private:
    struct Free {
        void operator()(redisContext* context) const { redisFree(context); }
    };
    Connection(std::unique_ptr<redisContext, Free> context, const Endpoint& to)
        : context_(std::move(context)), to_(to) {}
    [[nodiscard]] tl::unexpected<Error> broken() const;

    std::unique_ptr<redisContext, Free> context_;
    Endpoint to_;
    bool connected_ = false;
    bool unsent_ = false;
};

}  // namespace unecho::root
