// SPDX-License-Identifier: BSD-3-Clause
// Takes flows from the feeds, queries the masters of a Redis Cluster in batches, and returns the
// flows that were known. One thread, which waits for nothing but its sockets. A master that is
// slow, full, gone or wrong costs its own answers, and nothing else.
//
// A flow is queried once, at the master that has its slot. If that is impossible or not answered in
// time, the flow counts as unknown (paper "distributed", section 3.2, with "failed = not set").
// While an answer is on its way, more flows of its tag gather, so batches grow with the load.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "appliance/shared_flows/address.h"
#include "appliance/shared_flows/connection.h"
#include "appliance/shared_flows/counters.h"
#include "appliance/shared_flows/endpoint.h"
#include "appliance/shared_flows/flow_feed.h"
#include "appliance/shared_flows/layout.h"
#include "appliance/shared_flows/shared_flows.h"
#include "appliance/shared_flows/slot_map.h"
#include "base/os/log.h"
#include "base/result.h"
#include "base/units.h"

namespace unecho::shared_flows {

class ClusterClient {
  public:
    static constexpr std::size_t kMostBatch = 512;
    // Flows of a tag. More wait in their feeds, or stay unanswered if the master makes no progress.
    static constexpr std::size_t kMaxPending = 1024;
    // With so many flows a tag's second batch is sent before the first is answered.
    static constexpr std::size_t kFullBatch = 64;

    // feeds must outlive the client. log gets a line when a master begins or ceases to answer.
    ClusterClient(Layout layout, ClusterClientSpec spec, std::vector<FlowFeed*> feeds, Log log);
    ~ClusterClient();
    ClusterClient(const ClusterClient&) = delete;
    ClusterClient& operator=(const ClusterClient&) = delete;
    ClusterClient(ClusterClient&&) = delete;
    ClusterClient& operator=(ClusterClient&&) = delete;

    // Return when all masters have answered once. Errc::kConfig: one refuses. Errc::kIo: one does
    // not answer within patience.
    Status contact(Nanoseconds patience);

    // Do what is due, then wait for sockets, at most this long.
    void step(Nanoseconds longest);

    [[nodiscard]] const Counters& counters() const { return counters_; }
    [[nodiscard]] const Layout& layout() const { return layout_; }

  private:
    struct Item {
        Digest flow;
        std::uint32_t feed;
        PagePosition place;
        Nanoseconds since;
    };
    enum class Kind : std::uint8_t { kAuth, kSlots, kLoad, kHello, kCheck };
    struct Sent {
        Kind kind;
        Nanoseconds at;
        unsigned tag = 0;
        std::vector<Item> items = {};
    };
    struct Node {
        std::optional<Connection> link;
        std::optional<Lookup> lookup;  // of its name, until it has a link
        std::size_t attempt = 0;       // selects one of its addresses
        std::deque<Sent> sent;
        bool owns = false;     // has the slot of some tag
        bool greeted = false;  // hello was sent or answered
        bool ready = false;    // hello was answered well
        bool apart = false;    // reports that the rest of the cluster is gone
        bool refused = false;  // refusal logged since it was last ready
        bool told = false;     // logged that it does not answer
        Nanoseconds greet_at = 0;
        Nanoseconds loaded_at = 0;
        Nanoseconds ready_at = 0;
        Nanoseconds answered_at = 0;
        Nanoseconds retry_at = 0;
        Nanoseconds backoff = 0;
    };
    using Nodes = std::map<Endpoint, Node>;
    struct Tag {
        std::deque<Item> pending;
        unsigned underway = 0;
        Nanoseconds not_before = 0;
        Nanoseconds moved_at = 0;
        const Endpoint* owner = nullptr;  // its master, in nodes_; null: unknown
        Node* node = nullptr;
    };

    void forget_nodes();
    void share_out();
    void gather(Nanoseconds now);
    void give_up_old(Nanoseconds now);
    bool put(std::uint32_t feed, const FlowQuery& ask, Nanoseconds now);
    void find_masters(Nanoseconds now);
    void send_batches(Nanoseconds now);
    void wait(Nanoseconds longest);
    void check_timeouts(Nanoseconds now);

    [[nodiscard]] Nodes::value_type* next_ready();
    void request_slot_map(Nodes::value_type& of, Nanoseconds now);
    bool open(const Endpoint& at, Node& node, Nanoseconds now);
    void send(Node& node, Sent sent, const std::vector<std::string_view>& words);
    void send_check(Node& node, Kind kind, unsigned tag, std::vector<Item> items, Nanoseconds now);
    void take_replies(const Endpoint& at, Node& node, Nanoseconds now);
    void take(const Endpoint& at, Node& node, Sent sent, const redisReply& reply, Nanoseconds now);
    void take_slots(const Endpoint& at, Node& node, const redisReply& reply, Nanoseconds now);
    void take_check(const Endpoint& at, Node& node, Sent sent, const redisReply& reply,
                    Nanoseconds now);
    [[nodiscard]] static bool is_answer(const redisReply& reply, std::size_t flows);
    void take_answers(const Sent& sent, const redisReply& reply, Nanoseconds now);
    void take_error(const Endpoint& at, Node& node, Sent sent, std::string_view error,
                    Nanoseconds now);
    void take_refusal(const Endpoint& at, Node& node, std::string_view error, Nanoseconds now);
    void ask_again(Sent sent, Nanoseconds not_before);
    void lose(Node& node, const std::string& why, Nanoseconds now);
    void refuse(Node& node, const std::string& why, Nanoseconds now);
    void close(Node& node);
    void say(Severity severity, const std::string& line) const;
    void count_masters();
    // Return true if every flow has a master, and all masters answer.
    [[nodiscard]] bool all_answer() const {
        return counters_.unassigned == 0 && counters_.answering == counters_.masters;
    }

    const Layout layout_;
    const ClusterClientSpec spec_;
    const std::vector<FlowFeed*> feeds_;
    const Log log_;
    std::array<std::string, 5> numbers_;  // arguments of every call
    SlotMap map_;
    Nanoseconds map_due_ = 0;
    Nanoseconds map_asked_at_ = 0;
    bool map_asked_ = false;
    Endpoint map_from_;  // the last node queried for the map
    std::size_t next_seed_ = 0;
    std::array<Tag, kTags> tags_;
    Nodes nodes_;
    static_assert(kTags == 48, "as in the help of the counter");
    Counters counters_{.unassigned = kTags};
    std::optional<Error> refusal_;
    std::string loss_;  // the last one, for messages
};

}  // namespace unecho::shared_flows
