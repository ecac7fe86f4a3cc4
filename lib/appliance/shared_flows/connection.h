// SPDX-License-Identifier: BSD-3-Clause
// A connection to one Redis node, which never waits. Answers come in the order of the queries.
// Their size is bounded, whoever sends them.
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

namespace unecho::shared_flows {

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
    // Limit of one answer. The longest, CLUSTER SLOTS of a thousand nodes, has a tenth of it.
    static constexpr std::size_t kMostBytes = std::size_t{4} << 20;
    // Limit of one list in an answer; CLUSTER SLOTS has at most one element a slot.
    static constexpr long long kMostElements = 16384;

    // Begin to connect; returns before the connection is up.
    static Result<Connection> open(const Endpoint& to, const Address& address);

    [[nodiscard]] int descriptor() const { return socket_.get(); }
    // True if data waits to be sent, or if it is not known yet whether the peer listens.
    [[nodiscard]] bool wants_to_write() const { return !connected_ || !unsent_.empty(); }

    void append(std::span<const std::string_view> words);
    // Call these when the descriptor is writable or readable. An error ends the connection.
    Status write();
    Status read();
    // Return the next answer; null: none is complete. Errc::kIo: this is not Redis' protocol.
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
    std::size_t unfinished_ = 0;  // bytes since the last complete answer
};

}  // namespace unecho::shared_flows
