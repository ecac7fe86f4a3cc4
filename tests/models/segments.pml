// SPDX-License-Identifier: BSD-3-Clause
// Segments that a worker retires and the control thread zeroes. The youngest slot always gets a
// segment that is entirely zero, no segment is in two places, and a shift finds one however late
// the others return.
//
// The queues between the two threads are channels here; spsc_queue.pml models them.
//
// planted: LEND_ALL HALF_ZEROED KEPT_TOO

#define SLOTS 2            // k + l
#define SPARES 1
#define SEGMENTS 3
#define NONE 255
#define GENERATIONS 6

mtype = { zero, half, used };
mtype content[SEGMENTS];

chan to_zeroer = [SEGMENTS] of { byte };
chan to_worker = [SEGMENTS] of { byte };

inline retire(i) {
    if
    :: slot[i] != NONE ->
        retired[retired_n] = slot[i];
        retired_n++
    :: else
    fi
}

active proctype worker() {
    byte slot[SLOTS];
    byte zeroed[SEGMENTS];
    byte retired[SEGMENTS];
    byte zeroed_n;
    byte retired_n;
    byte lent;
    byte generation;
    byte i;
    atomic {
        slot[0] = 0;
        slot[1] = NONE;
        content[0] = zero;
        content[1] = zero;
        content[2] = zero;
        zeroed[0] = 1;
        zeroed[1] = 2;
        zeroed_n = 2
    }
    do
    :: content[slot[0]] = used                              // an insertion
    :: atomic {                                             // take_retired()
#ifdef LEND_ALL
        retired_n > 0;
#else
        retired_n > 0 && lent < SPARES;
#endif
        to_zeroer ! retired[retired_n - 1];
#ifdef KEPT_TOO
        if
        :: retired_n--
        :: skip
        fi;
#else
        retired_n--;
#endif
        lent++
    }
    :: atomic {                                             // supply_zeroed()
        to_worker ? i;
        zeroed[zeroed_n] = i;
        zeroed_n++;
        lent--;
        i = 0
    }
    :: generation < GENERATIONS ->                          // one shift, or all slots at once
        atomic {
            retire(SLOTS - 1);
            if
            :: slot[1] = slot[0]
            :: retire(0);
               slot[1] = NONE
            fi;
            if
            :: zeroed_n > 0 ->
                zeroed_n--;
                slot[0] = zeroed[zeroed_n]
            :: else ->
                assert(retired_n > 0);                      // otherwise there is none
                retired_n--;
                slot[0] = retired[retired_n];
                content[slot[0]] = zero                     // cleared in line
            fi;
            assert(content[slot[0]] == zero);
            assert(slot[0] != slot[1]);
            generation++
        }
    :: generation == GENERATIONS -> break
    od
}

active proctype zeroer() {
    byte segment;
end:
    do
    :: to_zeroer ? segment ->
        content[segment] = half;                            // a piece at a time
#ifdef HALF_ZEROED
        to_worker ! segment;
        content[segment] = zero
#else
        content[segment] = zero;
        to_worker ! segment
#endif
    od
}
