// SPDX-License-Identifier: BSD-3-Clause
// What a test that replaces an allocator, or needs its own, has to know of its build: sanitizers
// bring allocators of their own. UNECHO_HAS_TSAN and UNECHO_HAS_OWN_ALLOCATOR (ASan, TSan).
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
