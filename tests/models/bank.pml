/*
 * bank.pml - swapping the halves of the output bank under a running engine.
 *
 * Mirrors begin() and vyre_engine_swap_bank() in core/engine/bank.c, and vyre__open_bank() of the
 * device's workers.  Every item emits one record.  A swap must find the records of exactly the
 * items that were enqueued before it and after the one before, in places that are counted from 0.
 *
 * -D  ITEMS SWAPS  how many
 *     M_...        a mutant; docs/models.md lists them
 */
#ifndef ITEMS
#define ITEMS 3
#endif
#ifndef SWAPS
#define SWAPS 5
#endif
#define NONE 255

/* One word: position and phase. */
byte head, phase;
byte tail;
bool published[ITEMS + 1], complete[ITEMS];
byte half_of[ITEMS];    /* the cell's phase bit */
byte turn[2];           /* control: which of its two cursors a half uses */
byte cursor[4];         /* state: cursor[half][k] */
byte record[2 * ITEMS]; /* the position that emitted it */

proctype submitter()
{
  byte p, h;
  do
  :: p < ITEMS ->
#ifdef M_PHASE_APART
     h = phase;
     head = p + 1;
#else
     d_step { h = phase; head = p + 1 }
#endif
     half_of[p] = h;
     published[p] = true;
     d_step { h = 0; p++ }
  :: else -> break
  od;
  p = 0
}

proctype worker()
{
  byte p, h, k, place;
  do
  :: true ->
     p = tail;
     if
     :: published[p] -> skip
     :: p != tail -> goto next
     :: p == ITEMS -> break
     fi;
     if
     :: atomic { tail == p -> tail++ }
     :: tail != p -> goto next
     fi;
     /* vyre__open_bank() */
     h = half_of[p];
     k = turn[h];
#ifndef M_NOT_ZEROED
     if
     :: cursor[h * 2 + 1 - k] != 0 -> cursor[h * 2 + 1 - k] = 0
     :: else
     fi;
#endif
     /* vyre_emit() */
     d_step { place = cursor[h * 2 + k]; cursor[h * 2 + k] = place + 1 }
     assert(place < ITEMS);
     record[h * ITEMS + place] = p;
     complete[p] = true;
next:
     skip;
     d_step { p = 0; h = 0; k = 0; place = 0 }
  od;
  p = 0
}

proctype swapper()
{
  byte filled, boundary, previous, i, n, swaps;
  do
  :: swaps < SWAPS ->
     /* begin() */
#ifndef M_TURNS_ALWAYS
     if
     :: boundary != previous ->
#endif
        i = turn[1 - filled];
        turn[1 - filled] = 1 - i;
#ifndef M_TURNS_ALWAYS
     :: else
     fi;
#endif
     d_step { i = 0; previous = boundary; boundary = head; phase = 1 - phase }
     /* vyre__engine_span_finished() */
#ifndef M_NO_WAIT
     do
     :: n < boundary -> complete[n]; n++
     :: else -> n = 0; break
     od;
     skip;
#endif
     /* The half's records: one for each item from `previous` to `boundary`. */
     d_step {
       do
       :: i < boundary - previous ->
          n = record[filled * ITEMS + i];
          assert(n >= previous && n < boundary);
          /* It is taken out: if it is found twice, another one is missing. */
          record[filled * ITEMS + i] = NONE;
          i++
       :: else -> break
       od;
       i = 0; n = 0;
       filled = 1 - filled;
       swaps++
     }
  :: else -> break
  od;
  skip;
  d_step { filled = 0; boundary = 0; previous = 0; swaps = 0 }
}

init
{
  byte i;
  atomic {
    do
    :: i < 2 * ITEMS -> record[i] = NONE; i++
    :: else -> i = 0; break
    od;
    run submitter();
    run worker();
    run worker();
    run swapper()
  }
}
