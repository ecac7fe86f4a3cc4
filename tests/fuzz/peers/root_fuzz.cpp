// SPDX-License-Identifier: BSD-3-Clause
// Any peer as the masters of a Redis Cluster. Each queried flow is counted once, whatever they
// answer. Messages are printable, and only known flows are reported.
//
// An input is what all connections read, one piece a turn. Its bytes stand for themselves, except:
//   0x01  the correct answer to the oldest query of the connection
//   0x02  end of a piece: the client takes a turn
//   0x03  the same, and the connection is closed
//   0x04  the same, and half a second passes
// No packet leaves: each connection is a socket pair of this process, and every host name that does
// not begin with a question mark has an address.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include "appliance/shared_flows/cluster_client.h"
#include "appliance/shared_flows/redis_function.h"
#include "base/os/persistent_file.h"
#include "base/utf8.h"

namespace {

using namespace unecho;

constexpr std::size_t kFlows = 96;
constexpr std::size_t kFlowsOfTurn = 8;
constexpr std::size_t kLongestLine = 1024;
constexpr Nanoseconds kTurn = 25 * kMillisecond;
constexpr unsigned kLastTurns = 12;

Nanoseconds time_now = kSecond;
std::deque<Descriptor> accepted;  // the masters' ends of connections, oldest first

void check(bool condition) {
    if (!condition) {
        std::abort();
    }
}

// A master's end of one connection.
class Master {
  public:
    explicit Master(Descriptor socket) : socket_(std::move(socket)) {}

    void read() {
        std::array<char, 4096> bytes;
        for (;;) {
            const ssize_t got = recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
            if (got <= 0) {
                break;
            }
            asked_.append(bytes.data(), static_cast<std::size_t>(got));
        }
        while (take_question()) {
        }
    }

    // Return Redis' answer to the oldest query; nothing if there is none.
    std::string answer() {
        if (questions_.empty()) {
            return "";
        }
        const Words words = std::move(questions_.front());
        questions_.pop_front();
        if (words[0] == "CLUSTER") {
            return "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:6379\r\n";
        }
        if (words[0] != "FCALL") {
            return "+OK\r\n";
        }
        const auto width = std::strtoull(words.at(7).c_str(), nullptr, 10);
        std::size_t bytes = 0;
        for (std::size_t i = 11; i < words.size(); i += 2) {
            bytes += words[i].size();
        }
        const std::string answers(bytes / width, shared_flows::kKnown);
        return "*2\r\n$" + std::to_string(answers.size()) + "\r\n" + answers + "\r\n:1\r\n";
    }

    void say(std::string_view bytes) const {
        send(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    }

  private:
    using Words = std::vector<std::string>;

    // Take one query; it must be well-formed.
    bool take_question() {
        std::size_t at = 0;
        const auto number = [&](char kind) -> std::optional<std::size_t> {
            const std::size_t end = asked_.find("\r\n", at);
            if (end == std::string::npos) {
                return std::nullopt;
            }
            check(asked_[at] == kind);
            const auto value = std::strtoull(&asked_[at + 1], nullptr, 10);
            at = end + 2;
            return value;
        };
        const auto count = number('*');
        Words words;
        for (std::size_t i = 0; count && i < *count; ++i) {
            const auto size = number('$');
            if (!size || asked_.size() < at + *size + 2) {
                return false;
            }
            words.push_back(asked_.substr(at, *size));
            at += *size + 2;
        }
        if (!count) {
            return false;
        }
        check(!words.empty());
        asked_.erase(0, at);
        questions_.push_back(std::move(words));
        return true;
    }

    Descriptor socket_;
    std::string asked_;
    std::deque<Words> questions_;
};

class Flows final : public shared_flows::FlowFeed {
  public:
    bool take(shared_flows::FlowQuery& query) override {
        if (left_ == 0 || taken_ == kFlows) {
            return false;
        }
        --left_;
        ++taken_;
        // Few tags, so that batches grow.
        query = {taken_, taken_ % 5 * 0x9E3779B97F4A7C15U};
        return true;
    }
    bool tell(Digest flow) override {
        check(flow >= 1 && flow <= taken_);
        ++told_;
        return flow % 7 != 0;  // some do not fit into the filter
    }

    void allow(std::size_t flows) { left_ = flows; }
    [[nodiscard]] std::uint64_t taken() const { return taken_; }
    [[nodiscard]] std::uint64_t told() const { return told_; }

  private:
    std::size_t left_ = 0;
    std::uint64_t taken_ = 0;
    std::uint64_t told_ = 0;
};

void check_line(const LogLine& line) {
    check(line.text.size() <= kLongestLine);
    check(escaped(line.text) == line.text);
}

const shared_flows::Layout& layout() {
    static const shared_flows::Layout made = *shared_flows::Layout::make({.name = "fuzz",
                                                                          .window = 10 * kSecond,
                                                                          .flows = 1000,
                                                                          .bound = 1e-6,
                                                                          .refresh = false,
                                                                          .key = "flow"},
                                                                         hash::ChachaKey{});
    return made;
}

class Run {
  public:
    Run()
        : client_(layout(), {.nodes = {{"127.0.0.1", 6379}}, .user = "u", .password = "p"},
                  {&flows_}, check_line) {}

    void play(std::string_view input) {
        turn(kFlowsOfTurn);
        std::string piece;
        for (const char c : input) {
            switch (c) {
                case 1:
                    say(piece);
                    if (Master* const to = last()) {
                        to->say(to->answer());
                    }
                    break;
                case 2:
                case 3:
                case 4:
                    say(piece);
                    turn(kFlowsOfTurn);
                    if (c == 3 && !masters_.empty()) {
                        masters_.pop_back();
                    }
                    time_now += c == 4 ? kSecond / 2 : 0;
                    break;
                default:
                    piece += c;
            }
        }
        say(piece);
        turn(kFlowsOfTurn);
    }

    // No master answers any more, and all queries time out.
    void end() {
        masters_.clear();
        for (unsigned i = 0; i < kLastTurns; ++i) {
            turn(0);
            masters_.clear();
        }
        const shared_flows::Counters& counters = client_.counters();
        check(flows_.taken() == counters.known + counters.unknown + counters.no_room +
                                    counters.doubted + counters.unanswered);
        check(flows_.told() == counters.known && counters.untold <= counters.known);
        check(counters.answering <= counters.masters);
    }

  private:
    [[nodiscard]] Master* last() { return masters_.empty() ? nullptr : &masters_.back(); }

    void say(std::string& piece) {
        if (const Master* const to = last()) {
            to->say(piece);
        }
        piece.clear();
    }

    void turn(std::size_t flows) {
        flows_.allow(flows);
        for (unsigned i = 0; i < 2; ++i) {  // read, then act on it
            client_.step(0);
            time_now += kTurn;
        }
        while (!accepted.empty()) {
            masters_.emplace_back(std::move(accepted.front()));
            accepted.pop_front();
        }
        for (Master& master : masters_) {
            master.read();
        }
    }

    Flows flows_;
    shared_flows::ClusterClient client_;
    std::deque<Master> masters_;
};

}  // namespace

// Replace those of the system (--wrap, see meson.build).

extern "C" int __wrap_connect(int socket, const sockaddr* /*address*/, socklen_t /*size*/) {
    std::array<int, 2> ends{};
    check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) == 0);
    check(dup2(ends[0], socket) == socket);
    close(ends[0]);
    accepted.emplace_back(ends[1]);
    return 0;
}

extern "C" int __real_getaddrinfo(const char* name, const char* service, const addrinfo* hints,
                                  addrinfo** list);
extern "C" int __wrap_getaddrinfo(const char* name, const char* service, const addrinfo* hints,
                                  addrinfo** list) {
    addrinfo numeric = *hints;
    numeric.ai_flags |= AI_NUMERICHOST;
    const bool known = *name != '?';
    return __real_getaddrinfo(known ? "127.0.0.1" : name, service, &numeric, list);
}

extern "C" int __real_clock_gettime(clockid_t clock, timespec* time);
extern "C" int __wrap_clock_gettime(clockid_t clock, timespec* time) {
    if (clock != CLOCK_MONOTONIC) {  // from libFuzzer itself
        return __real_clock_gettime(clock, time);
    }
    *time = {static_cast<time_t>(time_now / kSecond), static_cast<long>(time_now % kSecond)};
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    time_now = kSecond;
    {
        Run run;
        run.play({reinterpret_cast<const char*>(data), size});
        run.end();
    }
    accepted.clear();
    return 0;
}
