// SPDX-License-Identifier: BSD-3-Clause
// root_site NAME WINDOW FLOWS BOUND POLICY SECRET_FILE TIMEOUT [user=U] [password=P] HOST:PORT... A
// site without packets, for comparison in Python. It sends the flows that it reads from standard
// input to the shared flow store and prints which ones are known elsewhere. Lines in: "HEX" for a
// flow, "?" for the counters. Lines out: "known HEX", "counters NAME=VALUE ...", "log TEXT".
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>

#include "appliance/shared_flows/shared_flows.h"
#include "base/units.h"

namespace {

using namespace unecho;

class Lines final : public shared_flows::FlowFeed {
  public:
    bool take(shared_flows::FlowQuery& ask) override {
        const std::lock_guard lock(mutex_);
        if (asks_.empty()) {
            return false;
        }
        ask = {asks_.front(), asks_.front()};
        asks_.pop_front();
        return true;
    }
    bool tell(Digest flow) override {
        const std::lock_guard lock(mutex_);
        std::printf("known %" PRIx64 "\n", flow);
        return true;
    }
    void add(Digest flow) {
        const std::lock_guard lock(mutex_);
        asks_.push_back(flow);
    }
    void say(shared_flows::SharedFlows& root, std::size_t asked) {
        const std::lock_guard lock(mutex_);
        for (const LogLine& line : root.take_lines()) {
            std::printf("log %s\n", line.text.c_str());
        }
        const shared_flows::Counters counters = root.counters();
        std::printf("counters asked=%zu", asked);
        for (const auto& row : shared_flows::kCounters) {
            std::printf(" %s=%" PRIu64, std::string(row.name).c_str(), counters.*row.value);
        }
        std::printf("\n");
        std::fflush(stdout);
    }

  private:
    std::mutex mutex_;
    std::deque<Digest> asks_;
};

int fail(const Error& error) {
    std::fprintf(stderr, "root_site: %s\n", error.context.c_str());
    return 1;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 9) {
        return fail({Errc::kConfig, "too few arguments"});
    }
    const auto window = parse_duration(argv[2]);
    const auto timeout = parse_duration(argv[7]);
    const auto secret = shared_flows::read_secret(argv[6]);
    if (!window || !timeout || !secret) {
        return fail(!secret ? secret.error() : Error{Errc::kConfig, "a duration"});
    }
    auto layout = shared_flows::Layout::make({.name = argv[1],
                                              .window = *window,
                                              .flows = std::strtoull(argv[3], nullptr, 10),
                                              .bound = std::strtod(argv[4], nullptr),
                                              .refresh = std::string(argv[5]) == "refresh",
                                              .key = "flow"},
                                             *secret);
    if (!layout) {
        return fail(layout.error());
    }
    shared_flows::ClusterClientSpec spec;
    spec.timeout = *timeout;
    for (int i = 8; i < argc; ++i) {
        const std::string word = argv[i];
        if (word.starts_with("user=")) {
            spec.user = word.substr(5);
        } else if (word.starts_with("password=")) {
            spec.password = word.substr(9);
        } else if (auto node = shared_flows::parse_endpoint(word)) {
            spec.nodes.push_back(*node);
        } else {
            return fail(node.error());
        }
    }
    Lines lines;
    auto started = shared_flows::SharedFlows::start(*layout, spec, {&lines}, 5 * kSecond);
    if (!started) {
        return fail(started.error());
    }
    std::printf("ready\n");
    std::fflush(stdout);
    std::string line;
    std::size_t asked = 0;
    while (std::getline(std::cin, line)) {
        if (line == "?") {
            lines.say(**started, asked);
        } else {
            lines.add(std::strtoull(line.c_str(), nullptr, 16));
            ++asked;
        }
    }
    return 0;
}
