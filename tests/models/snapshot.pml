// SPDX-License-Identifier: BSD-3-Clause
// A snapshot of a worker's counters. The control thread reads one moment between two polls, and
// none before its request.
//
// The worker's stores become visible in any order, a release after all before it.
//
// planted: RELAXED_TAKEN AMID_A_POLL READ_AT_ONCE

#define POLLS 3
#define LOOKS 2

byte wanted;
byte taken;
byte received;                                              // of the worker, equal between polls
byte settled;
byte shown_received;                                        // the snapshot
byte shown_settled;
bool storing_received;                                      // not visible yet
bool storing_settled;
bool storing_taken;
byte new_received;
byte new_settled;
byte new_taken;

active proctype memory() {
end:
    do
    :: atomic { storing_received -> shown_received = new_received; storing_received = false }
    :: atomic { storing_settled -> shown_settled = new_settled; storing_settled = false }
#ifdef RELAXED_TAKEN
    :: atomic { storing_taken -> taken = new_taken; storing_taken = false }
#else
    :: atomic { storing_taken && !storing_received && !storing_settled ->
        taken = new_taken; storing_taken = false }
#endif
    od
}

inline answer() {
    asked = wanted;
    if
    :: asked != answered ->
        atomic { !storing_received -> new_received = received; storing_received = true };
        atomic { !storing_settled -> new_settled = settled; storing_settled = true };
        atomic { !storing_taken -> new_taken = asked; storing_taken = true };
        answered = asked
    :: else
    fi
}

active proctype worker() {
    byte polls;
    byte asked;
    byte answered;
end:
    do
    :: if
       :: polls < POLLS ->
            received++;
#ifdef AMID_A_POLL
            answer();
#endif
            settled++;
            polls++
       :: else
       fi;
#ifndef AMID_A_POLL
       answer()
#endif
    od
}

active proctype control() {
    byte looks;
    byte before;
    byte one;
    byte other;
    do
    :: looks < LOOKS ->
        atomic { before = settled; wanted++ };
#ifndef READ_AT_ONCE
        taken == wanted;
#endif
        one = shown_settled;
        other = shown_received;
        assert(one == other);
        assert(one >= before);
        looks++
    :: else -> break
    od
}
