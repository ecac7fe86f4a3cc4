// SPDX-License-Identifier: BSD-3-Clause
// root_load root|set FLOWS SHARE SECONDS OUTSTANDING HOST:PORT... Queries a Redis Cluster for flows
// as fast as it answers, either by unecho's cluster client or by a pipelined SET NX PX for each
// flow. SHARE of the flows were queried before. It ends after FLOWS answers or SECONDS. Prints
// "SECONDS KNOWN UNKNOWN UNANSWERED BATCHES LONGEST_NS" every 100 ms, and "done".
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <hiredis/hiredis.h>

#include "appliance/shared_flows/shared_flows.h"
#include "appliance/shared_flows/slot_map.h"

namespace {

using namespace unecho;
using Clock = std::chrono::steady_clock;

struct Load {
    std::uint64_t flows;
    double share;
    double seconds;
    std::uint64_t outstanding;
    std::vector<shared_flows::Endpoint> nodes;
};

// Flows that are new, and repetitions of those a while ago.
class Flows {
  public:
    explicit Flows(double share) : share_(static_cast<std::uint64_t>(share * 1000)) {}
    Digest next() {
        const std::uint64_t draw = remix(++drawn_, 77);
        if (fresh_ > kBehind && draw % 1000 < share_) {
            return remix(fresh_ - kBehind, 5);
        }
        return remix(++fresh_, 5);
    }

  private:
    static constexpr std::uint64_t kBehind = 50000;
    std::uint64_t share_;
    std::uint64_t drawn_ = 0;
    std::uint64_t fresh_ = 0;
};

struct Progress {
    std::uint64_t known = 0;
    std::uint64_t unknown = 0;
    std::uint64_t unanswered = 0;
    std::uint64_t batches = 0;
    Nanoseconds longest = 0;

    void say(double at) const {
        std::printf("%.3f %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", at, known,
                    unknown, unanswered, batches, longest);
        std::fflush(stdout);
    }
};

double since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

shared_flows::Layout layout_of(const Load& load) {
    return *shared_flows::Layout::make({.name = "bench",
                                        .window = 60 * kSecond,
                                        .flows = load.flows,
                                        .bound = 5e-7,
                                        .refresh = false,
                                        .key = "flow"},
                                       hash::ChachaKey{1, 2, 3, 4, 5, 6, 7, 8});
}

class FlowFeed final : public shared_flows::FlowFeed {
  public:
    explicit FlowFeed(const Load& load) : load_(load), flows_(load.share) {}
    bool take(shared_flows::FlowQuery& ask) override {
        if (taken_ >= load_.flows || taken_ - answered_.load() >= load_.outstanding) {
            return false;
        }
        ++taken_;
        ask.flow = ask.shared = flows_.next();
        return true;
    }
    bool tell(Digest /*flow*/) override { return true; }
    void answered(std::uint64_t flows) { answered_.store(flows); }

  private:
    const Load& load_;
    Flows flows_;
    std::uint64_t taken_ = 0;
    std::atomic<std::uint64_t> answered_{0};
};

int by_root(const Load& load) {
    FlowFeed feed(load);
    shared_flows::ClusterClientSpec spec;
    spec.nodes = load.nodes;
    spec.timeout = kSecond / 2;
    auto root = shared_flows::SharedFlows::start(layout_of(load), spec, {&feed}, 5 * kSecond);
    if (!root) {
        std::fprintf(stderr, "root_load: %s\n", root.error().context.c_str());
        return 1;
    }
    const Clock::time_point start = Clock::now();
    double said = 0;
    for (;;) {
        const shared_flows::Counters counters = (*root)->counters();
        const Progress now{counters.known + counters.doubted, counters.unknown + counters.no_room,
                           counters.unanswered, counters.batches, counters.longest_round_trip};
        const std::uint64_t all = now.known + now.unknown + now.unanswered;
        feed.answered(all);
        const double at = since(start);
        if (all >= load.flows || at >= load.seconds) {
            now.say(at);
            return 0;
        }
        if (at - said >= 0.1) {
            now.say(at);
            said = at;
        }
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
}

using Context = std::unique_ptr<redisContext, decltype(&redisFree)>;

int by_set(const Load& load) {
    const shared_flows::Layout layout = layout_of(load);
    const Context any(redisConnect(load.nodes[0].host.c_str(), load.nodes[0].port), &redisFree);
    auto* const reply = static_cast<redisReply*>(redisCommand(any.get(), "CLUSTER SLOTS"));
    const auto map = shared_flows::SlotMap::from(*reply, load.nodes[0]);
    freeReplyObject(reply);
    std::vector<Context> masters;
    for (const shared_flows::Endpoint& at : map->masters()) {
        masters.emplace_back(redisConnect(at.host.c_str(), at.port), &redisFree);
    }
    Flows flows(load.share);
    Progress progress;
    const Clock::time_point start = Clock::now();
    double said = 0;
    std::vector<std::uint64_t> sent(masters.size());
    while (progress.known + progress.unknown < load.flows && since(start) < load.seconds) {
        for (std::uint64_t i = 0; i < load.outstanding; ++i) {
            const Digest flow = flows.next();
            const std::size_t tag = flow % shared_flows::kTags;
            const std::uint16_t owner = map->owner(layout.slot(tag));
            redisAppendCommand(masters[owner].get(), "SET %s:%b 1 NX PX 60000",
                               layout.tag(tag).c_str(), &flow, sizeof flow);
            ++sent[owner];
        }
        for (const Context& master : masters) {
            int done = 0;
            while (done == 0) {
                redisBufferWrite(master.get(), &done);
            }
        }
        for (std::size_t m = 0; m < masters.size(); ++m) {
            for (; sent[m] != 0; --sent[m]) {
                void* one = nullptr;
                if (redisGetReply(masters[m].get(), &one) != REDIS_OK) {
                    std::fprintf(stderr, "root_load: %s\n", masters[m]->errstr);
                    return 1;
                }
                const bool fresh = static_cast<redisReply*>(one)->type == REDIS_REPLY_STATUS;
                ++(fresh ? progress.unknown : progress.known);
                freeReplyObject(one);
            }
        }
        if (since(start) - said >= 0.1) {
            said = since(start);
            progress.say(said);
        }
    }
    progress.say(since(start));
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 7) {
        std::fprintf(stderr, "root_load root|set FLOWS SHARE SECONDS OUTSTANDING HOST:PORT...\n");
        return 2;
    }
    Load load{std::strtoull(argv[2], nullptr, 10),
              std::strtod(argv[3], nullptr),
              std::strtod(argv[4], nullptr),
              std::strtoull(argv[5], nullptr, 10),
              {}};
    for (int i = 6; i < argc; ++i) {
        if (auto node = shared_flows::parse_endpoint(argv[i])) {
            load.nodes.push_back(*node);
        }
    }
    const int status = std::string(argv[1]) == "set" ? by_set(load) : by_root(load);
    std::puts("done");
    return status;
}
