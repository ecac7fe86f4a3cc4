// SPDX-License-Identifier: BSD-3-Clause
// Calls that a worker may not make: the C library's allocation and locks, counted while armed. The
// whole program is covered: its symbols take precedence over those of libraries.
#pragma once

#include <cstdint>

namespace unecho::test {

struct CallCount {
    std::uint64_t allocations = 0;
    std::uint64_t locks = 0;
};

class WatchedCalls {
  public:
    // Counts during its lifetime, except in devices, which are no part of a worker.
    WatchedCalls() { count_ = {}, armed_ = true; }
    WatchedCalls(const WatchedCalls&) = delete;
    WatchedCalls& operator=(const WatchedCalls&) = delete;
    ~WatchedCalls() { armed_ = false; }

    class Excused {
      public:
        Excused() : was_(armed_) { armed_ = false; }
        Excused(const Excused&) = delete;
        Excused& operator=(const Excused&) = delete;
        ~Excused() { armed_ = was_; }

      private:
        bool was_;
    };

    // False in sanitizer builds, whose allocator replaces this one.
    static const bool kCounts;

    static CallCount count() { return count_; }
    static void saw_allocation() { count_.allocations += armed_ ? 1 : 0; }
    static void saw_lock() { count_.locks += armed_ ? 1 : 0; }

  private:
    inline static thread_local CallCount count_{};
    inline static thread_local bool armed_ = false;
};

}  // namespace unecho::test
