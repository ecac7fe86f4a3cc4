// SPDX-License-Identifier: BSD-3-Clause
#include "terminal/stop_signal.h"

#include <csignal>

namespace unecho::app {
namespace {

std::atomic<bool> stop_requested{false};
std::atomic<unsigned> reloads{0};
std::atomic<unsigned> counts{0};

void request_stop(int) {
    stop_requested.store(true, std::memory_order_relaxed);
}

void count_reload(int) {
    reloads.fetch_add(1, std::memory_order_relaxed);
}

void ask_for_counts(int) {
    counts.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

const std::atomic<bool>& stop_on_signals() {
    struct sigaction action {};
    action.sa_handler = request_stop;
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    return stop_requested;
}

const std::atomic<bool>& stop_on_signals_and_hangup() {
    struct sigaction hangup {};
    sigaction(SIGHUP, nullptr, &hangup);
    if (hangup.sa_handler != SIG_IGN) {  // nohup
        hangup = {};
        hangup.sa_handler = request_stop;
        sigaction(SIGHUP, &hangup, nullptr);
    }
    return stop_on_signals();
}

void stop_now() {
    stop_requested.store(true, std::memory_order_relaxed);
}

const std::atomic<unsigned>& sigusr1_count() {
    struct sigaction action {};
    action.sa_handler = ask_for_counts;
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR1, &action, nullptr);
    return counts;
}

const std::atomic<unsigned>& sighup_count() {
    struct sigaction action {};
    action.sa_handler = count_reload;
    action.sa_flags = SA_RESTART;
    sigaction(SIGHUP, &action, nullptr);
    return reloads;
}

}  // namespace unecho::app
