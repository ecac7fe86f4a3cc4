// SPDX-License-Identifier: BSD-3-Clause
// The turns of a filter's generations as a worker sees them. At most l occur in any time shorter
// than the window, however late the control thread is between any two of its steps. So an insertion
// is remembered for a window.
//
// A stored turn becomes visible within MARGIN.
//
// planted: CATCHES_UP FROM_BEFORE NO_MARGIN

#define LENGTH 3
#define L 2
#define WINDOW (L * LENGTH)
#define MARGIN 1
#define END 18

byte now;
byte turns;                                                 // as workers see them
bool storing;
byte stored_at;

// Let time pass, but not beyond the latest moment at which a store becomes visible.
active proctype clock() {
end:
    do
    :: atomic { now < END && (!storing || now < stored_at + MARGIN) -> now++ }
    od
}

active proctype memory() {
end:
    do
    :: atomic { storing -> turns++; storing = false }
    od
}

active proctype control() {
    byte due = LENGTH + MARGIN;
    byte read;
    byte published;
end:
    do
    :: atomic { now >= due -> read = now };                 // as late as it wants
        atomic { !storing -> storing = true; stored_at = now };
        published = now;
#if defined(CATCHES_UP)
        due = due + LENGTH + MARGIN
#elif defined(FROM_BEFORE)
        due = read + LENGTH + MARGIN
#elif defined(NO_MARGIN)
        due = published + LENGTH
#else
        due = published + LENGTH + MARGIN
#endif
    od
}

// Insert at any time, query at any later time.
active proctype worker() {
    byte inserted_at;
    byte inserted_in;
    atomic { inserted_at = now; inserted_in = turns };
    atomic { assert(now - inserted_at >= WINDOW || turns - inserted_in <= L) }
}
