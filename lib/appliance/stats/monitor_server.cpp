// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/stats/monitor_server.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <exception>
#include <system_error>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/os/memory_reserve.h"

namespace unecho::appliance {
namespace {

constexpr std::size_t kLongestCommand = 1024;  // DPDK's limit
// After each round of replies, rest for this many times its duration.
constexpr int kRest = 3;
constexpr std::chrono::nanoseconds kLongestRest = std::chrono::milliseconds(500);
// Pause if waiting itself fails, for lack of memory or descriptors.
constexpr std::chrono::milliseconds kPause{100};

bool say(int client, std::string_view text) {
    return send(client, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL) ==
           static_cast<ssize_t>(text.size());
}

}  // namespace

Result<std::unique_ptr<MonitorServer>> MonitorServer::start(int listening, Answer answer) {
    Descriptor stop(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (stop.get() < 0) {
        return fail(Errc::kNoMemory, "no descriptor is left for the monitoring socket");
    }
    std::unique_ptr<MonitorServer> server(
        new MonitorServer(listening, std::move(stop), std::move(answer)));
    server->clients_.reserve(kMaxClients);
    try {
        server->thread_ = std::thread([&it = *server] { it.serve(); });
    } catch (const std::system_error& error) {
        return fail(Errc::kNoMemory,
                    std::string("no thread for the monitoring socket: ") + error.what());
    }
    return server;
}

MonitorServer::~MonitorServer() {
    if (thread_.joinable()) {
        const std::uint64_t one = 1;
        [[maybe_unused]] const auto written = write(stop_.get(), &one, sizeof(one));
        thread_.join();
    }
}

bool MonitorServer::stopped(std::chrono::nanoseconds patience) const {
    pollfd stop{stop_.get(), POLLIN, 0};
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience);
    const timespec time{seconds.count(), (patience - seconds).count()};
    return ppoll(&stop, 1, &time, nullptr) > 0;
}

// If memory is short, an exception costs the clients their connections, and nothing else.
void MonitorServer::serve() noexcept {
    while (!stopped({})) {
        try {
            serve_once();
        } catch (const std::exception&) {
            clients_.clear();
            pause(kPause);
        }
    }
}

// Wait for requests, and answer each waiting client once.
void MonitorServer::serve_once() {
    std::array<pollfd, kMaxClients + 2> ready{};
    ready[0] = {stop_.get(), POLLIN, 0};
    ready[1] = {listening_, POLLIN, 0};
    for (std::size_t i = 0; i < clients_.size(); ++i) {
        ready.at(i + 2) = {clients_[i].get(), POLLIN, 0};
    }
    if (poll(ready.data(), static_cast<nfds_t>(clients_.size() + 2), -1) < 0) {
        pause(kPause);
        return;
    }
    if (ready[0].revents != 0) {
        return;
    }
    const auto begin = std::chrono::steady_clock::now();
    // Iterate backwards, so that an erased client does not move those still to visit.
    for (std::size_t i = clients_.size(); i-- > 0;) {
        if (ready.at(i + 2).revents != 0 && !hear(clients_[i])) {
            clients_.erase(clients_.begin() + static_cast<std::ptrdiff_t>(i));
        }
    }
    if (ready[1].revents != 0) {
        accept_one();
    }
    const std::chrono::nanoseconds rest = kRest * (std::chrono::steady_clock::now() - begin);
    pause(std::min(rest, kLongestRest));
}

void MonitorServer::accept_one() {
    Descriptor client(accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (client.get() < 0) {
        pause(kPause);
        return;
    }
    if (clients_.size() < kMaxClients &&
        say(client.get(), "{\"version\":\"unecho " UNECHO_VERSION "\",\"pid\":" +
                              std::to_string(getpid()) + ",\"max_output_len\":16384}")) {
        clients_.push_back(std::move(client));
    }
}

// Return false to drop the client: it left, sent no valid command, or does not read replies.
bool MonitorServer::hear(const Descriptor& client) {
    std::array<char, kLongestCommand> command;
    const ssize_t size =
        recv(client.get(), command.data(), command.size(), MSG_DONTWAIT | MSG_TRUNC);
    if (size < 0) {
        return errno == EAGAIN || errno == EINTR;
    }
    if (size == 0 || static_cast<std::size_t>(size) > command.size()) {
        return false;
    }
    const MemoryReserve reserve;  // freeing JSON documents may allocate
    return say(client.get(), answer_({command.data(), static_cast<std::size_t>(size)}));
}

}  // namespace unecho::appliance
