// SPDX-License-Identifier: BSD-3-Clause
// Sanitizers of this build, for tests. Sanitizers bring their own allocator, so a test that
// replaces or requires one checks UNECHO_HAS_OWN_ALLOCATOR (ASan, TSan) or UNECHO_HAS_TSAN. A test
// with many cases takes fewer by quarter_under_asan().
#pragma once

#if defined(__SANITIZE_THREAD__)
#define UNECHO_HAS_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNECHO_HAS_TSAN 1
#endif
#endif

#if defined(UNECHO_HAS_TSAN) || defined(__SANITIZE_ADDRESS__)
#define UNECHO_HAS_OWN_ALLOCATOR 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNECHO_HAS_OWN_ALLOCATOR 1
#endif
#endif

namespace unecho::test {

// TSan builds run all cases: whether a race shows is a matter of chance.
#if defined(UNECHO_HAS_OWN_ALLOCATOR) && !defined(UNECHO_HAS_TSAN)
inline constexpr bool kUnderAsan = true;
#else
inline constexpr bool kUnderAsan = false;
#endif

// Return how many of n random or numbered cases to run: all, but under ASan a quarter, at least
// one. There each takes 5 to 10 times as long, and errors show on the first passes of a path.
template <typename Number>
constexpr Number quarter_under_asan(Number n) {
    return kUnderAsan ? (n + 3) / 4 : n;
}

}  // namespace unecho::test
