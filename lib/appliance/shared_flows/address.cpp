// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/shared_flows/address.h"

#include <algorithm>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/core.h>
#include <netdb.h>

namespace unecho::shared_flows {
namespace {

std::atomic<int> underway{0};

Result<Addresses> find(const Endpoint& of, int flags) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags | AI_NUMERICSERV;
    addrinfo* list = nullptr;
    const int code = getaddrinfo(of.host.c_str(), std::to_string(of.port).c_str(), &hints, &list);
    if (code != 0) {
        return fail(Errc::kIo, fmt::format("{}: {}", of.text(), gai_strerror(code)));
    }
    Addresses out;
    for (const addrinfo* one = list; one != nullptr; one = one->ai_next) {
        if (one->ai_addrlen <= sizeof(sockaddr_storage)) {
            Address& address = out.emplace_back();
            std::memcpy(&address.socket, one->ai_addr, one->ai_addrlen);
            address.size = one->ai_addrlen;
        }
    }
    freeaddrinfo(list);
    std::stable_partition(out.begin(), out.end(), [](const Address& address) {
        return address.socket.ss_family == AF_INET;
    });
    if (out.empty()) {
        return fail(Errc::kIo, of.text() + ": no address");
    }
    return out;
}

}  // namespace

Result<Lookup> Lookup::begin(const Endpoint& of) {
    auto shared = std::make_shared<Shared>();
    shared->found = find(of, AI_NUMERICHOST);
    if (shared->found) {
        shared->done = true;
        return Lookup(std::move(shared));
    }
    if (underway.fetch_add(1) >= kMost) {
        --underway;
        return fail(Errc::kBusy, of.text() + ": too many names are asked for");
    }
    try {
        std::thread([shared, of] {
            shared->found = find(of, 0);
            shared->done.store(true, std::memory_order_release);
            --underway;
        }).detach();
    } catch (const std::system_error& error) {
        --underway;
        return fail(Errc::kBusy,
                    fmt::format("{}: no thread to ask for it: {}", of.text(), error.what()));
    }
    return Lookup(std::move(shared));
}

}  // namespace unecho::shared_flows
