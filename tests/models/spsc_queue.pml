// SPDX-License-Identifier: BSD-3-Clause
// A queue between two threads: pushed items are popped in order, once each, and no unread item is
// overwritten.
//
// The producer's stores become visible in any order, but those to one place in order, and a release
// after all before it. The consumer's loads after an acquire are in program order.
//
// planted: RELAXED_HEAD EARLY_READ EARLY_TAIL ONE_TOO_MANY

#define CAPACITY 2
#define VALUES 5
#define HEAD CAPACITY      // a place in addition to the items
#define PENDING 4

byte items[CAPACITY];
byte head;
byte tail;

byte at[PENDING];          // stores that are not visible yet, oldest first
byte value[PENDING];
bool release[PENDING];
byte pending;

inline store(place, number, is_release) {
    atomic {
        pending < PENDING;
        at[pending] = place;
        value[pending] = number;
        release[pending] = is_release;
        pending++
    }
}

// Make `i` of them visible.
inline reveal(i) {
    if
    :: at[i] == HEAD -> head = value[i]
    :: else -> items[at[i]] = value[i]
    fi;
    k = i;
    do
    :: k + 1 < pending ->
        at[k] = at[k + 1];
        value[k] = value[k + 1];
        release[k] = release[k + 1];
        k++
    :: else -> break
    od;
    pending--;
    k = 0
}

active proctype memory() {
    byte k;
end:
    do
    :: atomic { pending > 0 -> reveal(0) }
    :: atomic { pending > 1 && !release[1] && at[1] != at[0] -> reveal(1) }
    :: atomic { pending > 2 && !release[2] && at[2] != at[0] && at[2] != at[1] -> reveal(2) }
    :: atomic { pending > 3 && !release[3] && at[3] != at[0] && at[3] != at[1] && at[3] != at[2] ->
        reveal(3) }
    od
}

active proctype producer() {
    byte next;
    do
    :: next < VALUES ->
        if
#ifdef ONE_TOO_MANY
        :: next - tail <= CAPACITY ->
#else
        :: next - tail < CAPACITY ->
#endif
            store(next % CAPACITY, next + 1, false);
#ifdef RELAXED_HEAD
            store(HEAD, next + 1, false);
#else
            store(HEAD, next + 1, true);
#endif
            next++
        :: else  // full
        fi
    :: else -> break
    od
}

active proctype consumer() {
    byte next;
    byte found;
    do
    :: next < VALUES ->
#ifdef EARLY_READ
        found = items[next % CAPACITY];
#endif
        if
        :: head != next ->
#ifdef EARLY_TAIL
            tail = next + 1;
#endif
#ifndef EARLY_READ
            found = items[next % CAPACITY];
#endif
            assert(found == next + 1);
#ifndef EARLY_TAIL
            tail = next + 1;
#endif
            next++
        :: else  // empty
        fi
    :: else -> break
    od
}
