// SPDX-License-Identifier: BSD-3-Clause
// Words that mean something together in memory that outlives the process: a process is killed
// between any two of its instructions, and the next one sees whether it was amid a change. What was
// done before the kill is there, in the program's order.
//
// planted: MARKED_LATE ENDED_EARLY NEVER_MARKED

#define CHANGES 3

byte begun;
byte ended;
byte tick;                                                  // of a turn, say
byte phases;                                                // which it sets
bool killed;

active proctype process_() {
    byte changes;
    do
    :: changes < CHANGES ->
#if !defined(MARKED_LATE) && !defined(NEVER_MARKED)
        begun++;
#endif
        tick++;
#ifdef MARKED_LATE
        begun++;
#endif
#ifdef ENDED_EARLY
        ended = begun;
#endif
        phases = tick;
#ifndef ENDED_EARLY
        ended = begun;
#endif
        changes++
    :: killed = true; break
    :: changes == CHANGES -> killed = true; break
    od unless { killed }
}

active proctype kill_() {
    killed = true
}

active proctype next() {
    killed;
    atomic {
        assert(begun != ended || tick == phases)
    }
}
