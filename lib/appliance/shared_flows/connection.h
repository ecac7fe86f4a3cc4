// SPDX-License-Identifier: BSD-3-Clause
// One connection to one Redis: never waits. Answers come in the order of what was sent; what they
// may be made of is bounded, whoever sends them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <hiredis/hiredis.h>

#include "appliance/shared_flows/address.h"
#include "appliance/shared_flows/endpoint.h"
#include "base/os/persistent_file.h"
#include "base/result.h"

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
    // Of one answer; the longest, CLUSTER SLOTS of a thousand nodes, has a tenth of it.
    static constexpr std::size_t kMostBytes = std::size_t{4} << 20;
    // Of one list in it; CLUSTER SLOTS has at most as many as there are slots.
    static constexpr long long kMostElements = 16384;

    // It is on its way when this returns.
    static Result<Connection> open(const Endpoint& to, const Address& address);

    [[nodiscard]] int descriptor() const { return socket_.get(); }
    // There is something to send, or it is not known yet whether anybody listens.
    [[nodiscard]] bool wants_to_write() const { return !connected_ || !unsent_.empty(); }

    void append(std::span<const std::string_view> words);
    // When the descriptor can be written, or read. An error ends the connection.
    Status write();
    Status read();
    // Errc::kIo for what is not Redis' protocol; null: there is no whole answer yet.
    Result<Reply> next();

  private:
    struct Free {
        void operator()(redisReader* reader) const { redisReaderFree(reader); }
    };
    using Reader = std::unique_ptr<redisReader, Free>;
    Connection(Descriptor socket, Reader reader, const Endpoint& to)
        : socket_(std::move(socket)), reader_(std::move(reader)), to_(to) {}
    [[nodiscard]] tl::unexpected<Error> broken(std::string_view why) const;

    Descriptor socket_;
    Reader reader_;
    Endpoint to_;
    bool connected_ = false;
    std::string unsent_;
    std::size_t unfinished_ = 0;  // bytes since the last whole answer
};

}  // namespace unecho::root
