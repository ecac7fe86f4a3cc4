// SPDX-License-Identifier: BSD-3-Clause
// The worker configurations of a reload. A worker never uses one that is incomplete or freed,
// whenever it looks, also in the middle of a poll.
//
// The control thread's store of the pointer becomes visible at any time after it and, if it were no
// release, even before the object it points to.
//
// planted: RELAXED_POINTER FREED_AT_ONCE ONE_IS_ENOUGH TOLD_BEFORE

#define WORKERS 2
#define SETUPS 4

mtype = { nothing, whole, freed };
mtype setup[SETUPS];
byte wanted[WORKERS];
byte adopted[WORKERS];

proctype worker(byte self) {
    byte with;
    byte found;
    do
    :: assert(setup[with] == whole)                         // a burst
    :: found = wanted[self];                                // between two
        if
        :: found != with ->
#ifdef TOLD_BEFORE
            adopted[self] = found;
#endif
            assert(setup[with] == whole);                   // counters and turns continue
            assert(setup[found] == whole);                  // and the rest is copied
            with = found;
#ifndef TOLD_BEFORE
            adopted[self] = found
#endif
        :: else
        fi
    :: with == SETUPS - 1 -> break
    od
}

proctype control() {
    byte next = 1;
    byte i;
    do
    :: next < SETUPS ->
#ifdef RELAXED_POINTER
        wanted[0] = next;
        setup[next] = whole;
        wanted[1] = next;
#else
        setup[next] = whole;
        wanted[0] = next;
        wanted[1] = next;
#endif
#ifndef FREED_AT_ONCE
        i = 0;
        do
        :: i < WORKERS ->
            adopted[i] == next;                             // checked now and then
#ifdef ONE_IS_ENOUGH
            break;
#endif
            i++
        :: else -> break
        od;
#endif
        setup[next - 1] = freed;
        next++
    :: else -> break
    od
}

init {
    setup[0] = whole;
    atomic {
        run worker(0);
        run worker(1);
        run control()
    }
}
