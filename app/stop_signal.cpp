// SPDX-License-Identifier: BSD-3-Clause
#include "stop_signal.h"

#include <csignal>

namespace unecho::app {
namespace {

std::atomic<bool> stop_requested{false};

void request_stop(int) {
    stop_requested.store(true, std::memory_order_relaxed);
}

}  // namespace

const std::atomic<bool>& stop_on_signals() {
    struct sigaction action {};
    action.sa_handler = request_stop;
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    return stop_requested;
}

}  // namespace unecho::app
