// SPDX-License-Identifier: BSD-3-Clause
// A telemetry socket in a folder like DPDK's, with answers that the test sets.
#pragma once

#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "seen.h"

namespace unecho::monitor {

// Answers by command (/unecho/...).
using Answers = std::map<std::string, Json>;

// Return the telemetry answers of an appliance with this status.
inline Answers answers_of(const Json& seen) {
    const auto table = [&](const char* list) {
        Json out = Json::object();
        for (const Json& item : seen[list]) {
            out[std::to_string(out.size())] = item;
        }
        return out;
    };
    Json counters = seen["counters"];
    counters["reasons"] = seen["reasons"];
    Answers out{{"/unecho/info", seen["info"]},
                {"/unecho/counters", counters},
                {"/unecho/help", help()},
                {"/unecho/kinds", kinds()},
                {"/unecho/ports", table("ports")},
                {"/unecho/routes", table("routes")},
                {"/unecho/workers", table("workers")}};
    for (const char* block : {"counters", "ports", "workers"}) {
        EXPECT_TRUE(seen.contains(block));
    }
    out["/unecho/filters"] = table("filters");
    return out;
}

// Return a socket that listens at this path, as DPDK's does.
inline int listen_at(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    const int listening = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    EXPECT_EQ(bind(listening, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(listen(listening, 8), 0);
    return listening;
}

class FakeAppliance {
  public:
    // `folder` is one of runtime_folders().
    FakeAppliance(const std::string& folder, const std::string& name, Answers answers)
        : answers_(std::move(answers)) {
        const std::filesystem::path home = std::filesystem::path(folder) / name;
        std::filesystem::create_directories(home);
        path_ = (home / "dpdk_telemetry.v2").string();
        std::filesystem::remove(path_);
        listening_ = listen_at(path_);
        thread_ = std::thread([this] { serve(); });
    }
    // The socket's file stays, as if the process was killed.
    ~FakeAppliance() {
        stop_ = true;
        thread_.join();
        for (const int client : clients_) {
            close(client);
        }
        close(listening_);
    }
    FakeAppliance(const FakeAppliance&) = delete;
    FakeAppliance& operator=(const FakeAppliance&) = delete;

    [[nodiscard]] const std::string& path() const { return path_; }
    void set(const std::string& command, Json answer) {
        const std::lock_guard lock(mutex_);
        answers_[command] = std::move(answer);
    }
    // Accept connections, but answer nothing.
    void keep_silent(bool silent) { silent_ = silent; }
    // Wait this long before each answer.
    void think(std::chrono::milliseconds time) { thinks_ = time; }
    std::vector<std::string> asked() {
        const std::lock_guard lock(mutex_);
        return std::exchange(asked_, {});
    }

  private:
    void serve() {
        while (!stop_) {
            std::vector<pollfd> all{{listening_, POLLIN, 0}};
            for (const int client : clients_) {
                all.push_back({client, POLLIN, 0});
            }
            if (poll(all.data(), all.size(), 5) <= 0 || silent_) {
                continue;
            }
            if (all[0].revents != 0) {
                clients_.push_back(accept(listening_, nullptr, nullptr));
                say(clients_.back(), R"({"version": "DPDK", "pid": 1, "max_output_len": 16384})");
            }
            for (std::size_t i = 1; i < all.size(); ++i) {
                if (all[i].revents != 0) {
                    hear(all[i].fd);
                }
            }
        }
    }
    static void say(int client, const std::string& text) {
        send(client, text.data(), text.size(), MSG_NOSIGNAL);
    }
    void hear(int client) {
        std::string command(1000, ' ');
        const ssize_t n = recv(client, command.data(), command.size(), 0);
        if (n <= 0) {
            close(client);
            std::erase(clients_, client);
            return;
        }
        command.resize(static_cast<std::size_t>(n));
        std::this_thread::sleep_for(thinks_.load());
        const std::lock_guard lock(mutex_);
        asked_.push_back(command);
        const auto found = answers_.find(command);
        const Json answer = found == answers_.end() ? Json() : found->second;
        say(client, Json{{command.substr(0, command.find(',')), answer}}.dump());
    }

    std::mutex mutex_;
    Answers answers_;
    std::vector<std::string> asked_;
    std::string path_;
    int listening_ = -1;
    std::vector<int> clients_;
    std::atomic<bool> stop_{false};
    std::atomic<bool> silent_{false};
    std::atomic<std::chrono::milliseconds> thinks_{};
    std::thread thread_;
};

class WithFolder : public testing::Test {
  protected:
    WithFolder() {
        std::string pattern =
            (std::filesystem::temp_directory_path() / "unecho-fake-XXXXXX").string();
        folder_ = mkdtemp(pattern.data());
    }
    ~WithFolder() override { std::filesystem::remove_all(folder_); }

    std::string folder_;
};

}  // namespace unecho::monitor
