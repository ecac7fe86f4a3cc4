// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>

namespace unecho::app {

// From now on SIGINT and SIGTERM set it, and do nothing else.
const std::atomic<bool>& stop_on_signals();

// From now on SIGINT, SIGTERM and, unless it was ignored, SIGHUP set it.
const std::atomic<bool>& stop_on_signals_and_hangup();

// Sets what both of these return, as the signals do.
void stop_now();

// From now on each SIGUSR1 adds one to it, and does nothing else.
const std::atomic<unsigned>& sigusr1_count();

// From now on each SIGHUP adds one to it, and does nothing else.
const std::atomic<unsigned>& sighup_count();

}  // namespace unecho::app
