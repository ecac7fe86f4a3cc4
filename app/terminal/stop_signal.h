// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>

namespace unecho::app {

// From now on SIGINT and SIGTERM only set this flag.
const std::atomic<bool>& stop_on_signals();

// From now on SIGINT, SIGTERM and, unless ignored, SIGHUP set this flag.
const std::atomic<bool>& stop_on_signals_and_hangup();

// Set the flag of both, as the signals do.
void stop_now();

// From now on each SIGUSR1 only increments this counter.
const std::atomic<unsigned>& sigusr1_count();

// From now on each SIGHUP only increments this counter.
const std::atomic<unsigned>& sighup_count();

}  // namespace unecho::app
