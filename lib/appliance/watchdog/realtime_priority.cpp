// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/watchdog/realtime_priority.h"

#include <cstring>
#include <string>

#include <pthread.h>

#include "base/os/errno_code.h"

namespace unecho::appliance {

RealtimePriority::RealtimePriority() {
    pthread_getschedparam(pthread_self(), &policy_, &parameters_);
    sched_param lowest{};
    lowest.sched_priority = sched_get_priority_min(SCHED_FIFO);
    const int code = pthread_setschedparam(pthread_self(), SCHED_FIFO, &lowest);
    if (code != 0) {
        status_ = fail(
            errc_from_errno(code),
            std::string("no real-time priority for the control thread: ") + std::strerror(code));
    }
}

RealtimePriority::~RealtimePriority() {
    if (status_) {
        pthread_setschedparam(pthread_self(), policy_, &parameters_);
    }
}

}  // namespace unecho::appliance
