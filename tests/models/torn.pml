// SPDX-License-Identifier: BSD-3-Clause
// Words that belong together, in memory that outlives the process. A process is killed between any
// two instructions, and its successor detects whether that was during a change. Everything done
// before the kill is there, in program order.
//
// planted: MARKED_LATE ENDED_EARLY NEVER_MARKED

#define CHANGES 3

byte begun;
byte ended;
byte tick;                                                  // for example of a turn
byte phases;                                                // that the tick selects
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
