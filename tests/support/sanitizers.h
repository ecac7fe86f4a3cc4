// SPDX-License-Identifier: BSD-3-Clause
// What a test has to know of its build. One that replaces an allocator, or needs its own:
// sanitizers bring allocators of their own. UNECHO_HAS_TSAN and UNECHO_HAS_OWN_ALLOCATOR (ASan,
// TSan). One that goes through many cases: quarter_under_asan().
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

// TSan's builds have no part in this: what races shows by chance.
#if defined(UNECHO_HAS_OWN_ALLOCATOR) && !defined(UNECHO_HAS_TSAN)
inline constexpr bool kUnderAsan = true;
#else
inline constexpr bool kUnderAsan = false;
#endif

// Of n cases that differ by chance or by a number: all; under ASan, where each takes five to ten
// times as long and what is looked for shows on a path's first passes, a quarter, at least one.
template <typename Number>
constexpr Number quarter_under_asan(Number n) {
    return kUnderAsan ? (n + 3) / 4 : n;
}

}  // namespace unecho::test
