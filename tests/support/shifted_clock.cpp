// SPDX-License-Identifier: BSD-3-Clause
// A library for LD_PRELOAD that shows another time of day, as if somebody had set the clock:
// gettimeofday() by UNECHO_CLOCK_SHIFT seconds, which may be negative; clock_gettime() by as many
// nanoseconds as the file UNECHO_CLOCK_FILE holds at that moment, an integer of 64 bits.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <ctime>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

// Return the file's mapping; null if there is none.
const std::atomic<std::int64_t>* shift_of_file() {
    const char* const path = std::getenv("UNECHO_CLOCK_FILE");
    const int file = path == nullptr ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return nullptr;
    }
    void* const at = mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, file, 0);
    close(file);
    return at == MAP_FAILED ? nullptr : static_cast<const std::atomic<std::int64_t>*>(at);
}

}  // namespace

extern "C" {

int gettimeofday(timeval* __restrict time, void* __restrict /*zone*/) noexcept {
    static const char* const text = std::getenv("UNECHO_CLOCK_SHIFT");
    static const time_t shift = text == nullptr ? 0 : std::atol(text);
    timespec now{};
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
    *time = {now.tv_sec + shift, now.tv_nsec / 1000};
    return 0;
}

int clock_gettime(clockid_t clock, timespec* time) noexcept {
    static const std::atomic<std::int64_t>* const shift = shift_of_file();
    if (const long failed = syscall(SYS_clock_gettime, clock, time); failed != 0) {
        return -1;
    }
    if (clock == CLOCK_REALTIME && shift != nullptr) {
        const std::int64_t ns = time->tv_sec * kSecond + time->tv_nsec + shift->load();
        *time = {ns / kSecond, ns % kSecond};
    }
    return 0;
}

}  // extern "C"
