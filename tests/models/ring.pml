/*
 * ring.pml - the work ring: cells of several items, and completion by ticket.
 *
 * Mirrors core/ring/{enqueue,claim,completion,state}.c.  A process is a loop of steps, and each step
 * is one operation on shared memory, with the local computation that follows from it, up to the
 * next one (`pc`).  What a real word packs together (stamp and count, position and mark) is several
 * variables here that one step touches.  Cells hold CELL = 2 items instead of 7.  Positions count
 * modulo 32 instead of 2^56 and start close to the top, so they wrap.
 *
 * The payload of ticket t is t, in two words: a consumer that gets anything else has a lost,
 * doubled or torn item.  Names that begin with g_ are ghosts: the truth that verdicts are compared
 * with.  A call that returned QUEUE_FULL or EMPTY is made again once something has changed that it
 * looks at; so what is lost shows as a process that waits for ever.
 *
 * With WHOLE a place's items are written in the step that publishes them, and read in one step
 * before the place is given back.  Nothing is lost by that: between its exchange and its publication
 * a place is its producer's alone, and until it is given back its consumers'.  Whoever broke that
 * rule would read what is not there yet, or no more, in one of the orders that are left, and be
 * caught; the mutants that break it are caught.  Other rows take the words one by one.
 *
 * -D  PRODUCERS CONSUMERS CAP   how many threads of each kind; places
 *     CALLS SIZES MOST          enqueue calls of each producer; sizes of the batches, from 1 on in turn;
 *                               items that every second consumer claims at once, the others one
 *     SCAN                      places that a producer looks at beyond what it knows
 *     BY_TICKET CC              completion is kept, in CC places
 *     MANY                      items of a cell that were claimed together are marked together
 *     SPAN                      claims are of spans, and marked as such; with TWICE, twice
 *     MARKER WATCHER            somebody marks wrong tickets; somebody looks at tickets
 *     SHIFT                     where in the sizes producers begin
 *     WHOLE                     a place's items are written and read at once
 *     CLOSE                     the ring is closed at any time, not when the producers are done
 *     TOMBSTONE                 single calls may publish a cell of no items
 *     READER ATTACHER           somebody reads in_flight; somebody attaches
 *     M_...                     a mutant; docs/models.md lists them
 */
#ifndef PRODUCERS
#define PRODUCERS 2
#endif
#ifndef CONSUMERS
#define CONSUMERS 2
#endif
#ifndef CAP
#define CAP 2
#endif
#ifndef CALLS
#define CALLS 2
#endif
#ifndef SIZES
#define SIZES 3
#endif
#ifndef MOST
#define MOST 3
#endif
#ifndef SCAN
#define SCAN CAP
#endif
#ifndef CC
#define CC CAP
#endif
#ifndef SHIFT
#define SHIFT 0
#endif
/* Entries of released[]. */
#ifdef BY_TICKET
#define R CC
#else
#define R CAP
#endif

#define CELL 2
#define NOTHING 255
#define FIRST 30
#define STEP(p, n) (((p) + (n)) & 31)            /* vyre__ring_step() */
#define STAMP(p) STEP(p, 1)                      /* vyre__ring_stamp() */
#define PREVIOUS(p, lap) STEP(p, 33 - (lap))     /* vyre__ring_previous_stamp() */
#define BEHIND(a, b) ((((a) - (b)) & 31) >= 16)  /* vyre__ring_distance(a, b) < 0 */
#define NTH(p) (((p) - FIRST) & 31)              /* index_of() */
#define TICKET(p, i) ((p) * CELL + (i))
#define PLACE_OF_ITEM(p, i) (((p) % CAP) * CELL + (i))
#define PLACES(n) (((n) + CELL - 1) / CELL)
#define LEAST(x, y) ((x) < (y) -> (x) : (y))

/* One word: position and CLOSED. */
byte head = FIRST;
bool mark;
byte vacant = (FIRST + CAP) & 31;
/* One word: a ticket. */
byte tail = FIRST, tail_index;
bool closed;
/* A cell's `published`: stamp and count.  Its items, two words each. */
byte published[CAP], count[CAP], item_a[CAP * CELL], item_b[CAP * CELL];
/* One word: stamp, count and taken.  Without BY_TICKET nobody reads the count. */
byte released[R], taken[R];
#ifdef BY_TICKET
byte released_count[R];
#ifdef M_COUNT_LOST
#define SET_RELEASED_COUNT(p, c) released_count[(p) % R] = 0
#else
#define SET_RELEASED_COUNT(p, c) released_count[(p) % R] = (c)
#endif
/* One word: stamp and pending bits. */
byte completion[CC], pending[CC];
#define WORD_IS_FREE(p) (completion[(p) % CC] == PREVIOUS(p, CC) && pending[(p) % CC] == 0)
#if defined(M_NO_GATE)
#define GATE(p) true
#elif defined(M_GATE_WITHOUT_BITS)
#define GATE(p) (completion[(p) % CC] == PREVIOUS(p, CC))
#else
#define GATE(p) WORD_IS_FREE(p)
#endif
#else
#define SET_RELEASED_COUNT(p, c) skip
#define WORD_IS_FREE(p) true
#endif
#define BEFORE(p) STEP(p, 32 - CAP)
#define PLACE_IS_FREE(p) (released[BEFORE(p) % R] == STAMP(BEFORE(p)))
/* The final store of a tenant of `c` items; `taken` is the other part of the word. */
#define RELEASE(p, c) \
  released[(p) % R] = STAMP(p); SET_RELEASED_COUNT(p, c); g_busy[(p) % CAP] = false

/* Ghosts. */
byte g_accepted, g_consumed, g_producing = PRODUCERS;
bool g_busy[CAP]; /* a tenant has the place: from its head CAS to its release */
#ifdef BY_TICKET
int g_said; /* bits: tickets that somebody marked after they were published */
int g_none; /* bits: tickets that a cell of fewer items does not have */
#define BITS(p, bits) ((bits) << (TICKET(NTH(p), 0) & 31))
#define BIT(p, i) BITS(p, 1 << (i))
#endif

/* Where a process is; what it does next. */
#define HEAD 1 /* the producer's */
#define VACANT 2
#define FREE 3
#define WORD 4
#define KNOW 5
#define FULL 6
#define WAIT 7
#define EXCHANGE 8
#define BURY 9
#define ITEM_A 10
#define ITEM_B 11
#define PUBLISH 12
#define TAIL 13 /* the consumer's */
#define LOOK 14
#define PASS 15
#define PASS_EXCHANGE 16
#define PASS_RELEASE 17
#define EMPTY 18
#define HINT 19
#define CLOSED 20
#define PART 21
#define COPY 22
#define RELEASED 23
#define ADDED 24
#define LAST 25
#define MARK 26 /* mark()'s */
#define MARK_CELL 27
#define MARK_AGAIN 28
#define MARK_WORD 29
#define MARK_EXCHANGE 30
#define ENDED 31
#define OWN_RELEASED 32 /* mark_own_cell()'s */
#define OWN_WORD 33
#define OWN_STORE 34

#ifdef BY_TICKET
#define UNKNOWN 255
#define PENDING(items, bits) (((1 << (items)) - 1) & ~(bits))

/* Ghost: whoever calls is right to, if the items are published. */
#define SAY(p, bits) \
  if \
  :: !BEHIND(published[(p) % CAP], STAMP(p)) -> g_said = g_said | BITS(p, bits) \
  :: else \
  fi

#define RELEASED_COUNT(p) (released[(p) % R] == STAMP(p) -> released_count[(p) % R] : UNKNOWN)
#if defined(M_PUBLISHED_ONLY) || defined(M_REUSED_IGNORED)
#define COUNT_FIRST(p) UNKNOWN
#elif defined(M_COUNT_OF_OLDER)
#define COUNT_FIRST(p) (released_count[(p) % R] != 0 -> released_count[(p) % R] : UNKNOWN)
#else
#define COUNT_FIRST(p) RELEASED_COUNT(p)
#endif

/* What the cell says: its count; nothing was issued, or UNKNOWN: a later tenant has it. */
#ifdef M_NO_ISSUE_CHECK
#define NOT_ISSUED(p) count[(p) % CAP]
#else
#define NOT_ISSUED(p) 0
#endif
#if defined(M_PUBLISHED_ONLY)
#define REUSED(p) count[(p) % CAP]
#elif defined(M_REUSED_IGNORED)
#define REUSED(p) 0
#else
#define REUSED(p) UNKNOWN
#endif
#define COUNT_OF_CELL(p) \
  (published[(p) % CAP] == STAMP(p) -> count[(p) % CAP] : \
      (BEHIND(published[(p) % CAP], STAMP(p)) -> NOT_ISSUED(p) : REUSED(p)))

#define READ_WORD(p) w = completion[(p) % CC]; w_bits = pending[(p) % CC]
#define SAME_WORD(p) (completion[(p) % CC] == w && pending[(p) % CC] == w_bits)
/* The word that was read has a bit of `bits` to clear; or it is the tenant's before, all done. */
#define OWN(p, bits) (w == STAMP(p) && (w_bits & (bits)) != 0)
#define FIRST_MARK(p, bits) \
  (w == PREVIOUS(p, CC) && w_bits == 0 && (((1 << items) - 1) & (bits)) != 0)
#ifdef M_FIRST_ENDS_ALL
#define STILL_PENDING(bits) 0
#else
#define STILL_PENDING(bits) PENDING(items, bits)
#endif

#define MARKED(then) w = 0; w_bits = 0; items = 0; then
#define JUDGE_WORD(p, bits, then) \
  if \
  :: OWN(p, bits) || FIRST_MARK(p, bits) -> pc = MARK_EXCHANGE \
  :: else -> MARKED(then) \
  fi
#define KNOWN_ITEMS(next, then) \
  if \
  :: items == UNKNOWN -> pc = next \
  :: items == 0 -> MARKED(then) \
  :: else -> pc = MARK_WORD \
  fi
#ifdef M_BLIND_MARK
#define MARK_WORD_STEP(p, bits, then) \
  d_step { pc == MARK_WORD -> \
    completion[(p) % CC] = STAMP(p); pending[(p) % CC] = PENDING(items, bits); MARKED(then) \
  }
#else
#define MARK_WORD_STEP(p, bits, then) \
  d_step { pc == MARK_WORD -> READ_WORD(p); JUDGE_WORD(p, bits, then) }
#endif

/*
 * mark() of completion.c: items `bits` of position p.  Options of the caller's loop, who has pc, w,
 * w_bits and items, and goes on with `then`.
 */
#define MARK_STEPS(p, bits, then) \
  /* vyre__ring_items_of() */ \
  :: d_step { pc == MARK -> SAY(p, bits); items = COUNT_FIRST(p); KNOWN_ITEMS(MARK_CELL, then) } \
  :: d_step { pc == MARK_CELL -> SAY(p, bits); items = COUNT_OF_CELL(p); \
       KNOWN_ITEMS(MARK_AGAIN, then) } \
  /* A later tenant has the cell. */ \
  :: d_step { pc == MARK_AGAIN -> \
       items = (released[(p) % R] == STAMP(p) -> released_count[(p) % R] : 0); \
       KNOWN_ITEMS(0, then) } \
  :: MARK_WORD_STEP(p, bits, then) \
  :: d_step { pc == MARK_EXCHANGE -> \
       if \
       :: SAME_WORD(p) && w == STAMP(p) -> \
          pending[(p) % CC] = w_bits & ~(bits); MARKED(then) \
       :: SAME_WORD(p) && w != STAMP(p) -> \
          completion[(p) % CC] = STAMP(p); pending[(p) % CC] = STILL_PENDING(bits); \
          MARKED(then) \
       :: else -> READ_WORD(p); JUDGE_WORD(p, bits, then) \
       fi }
#endif

#if defined(M_PUBLISH_EARLY) || defined(WHOLE)
#define FIRST_OF_PLACE PUBLISH
#else
#define FIRST_OF_PLACE ITEM_A
#endif

/* ---- vyre_ring_enqueue(), vyre_ring_enqueue_many(): reserve, publish each place. ---- */

inline begin_call()
{
  if
  :: calls < CALLS && !p_mark ->
     n = 1 + (calls + who + SHIFT) % SIZES; want = PLACES(n); calls++; pc = HEAD
  :: else -> n = 0; want = 0; calls = 0; p_mark = false; pc = ENDED; g_producing--
  fi
}

inline end_call()
{
  p = 0; k = 0; j = 0; found = 0; tombstone = false;
  begin_call()
}

/* A head was read. */
inline again()
{
  if
  :: p_mark -> end_call()
  :: else -> pc = VACANT
  fi
}

/* So many places are free, from p on. */
inline found_room()
{
  if
  :: found > 0 -> pc = EXCHANGE
#ifdef M_FULL_AT_ONCE
  :: else -> assert(is_full); pc = WAIT
#else
  :: else -> pc = FULL
#endif
  fi
}

/* The look at places has ended: `known` and `found` places are free. */
inline end_scan()
{
  if
  :: found > 0 -> pc = KNOW
  :: else -> found = LEAST(known, want); known = 0; found_room()
  fi;
  seen = 0
}

/* The next place to be looked at. */
inline next_place()
{
  found++;
  if
  :: found == seen -> end_scan()
  :: else -> pc = FREE
  fi
}

inline begin_place()
{
  j = LEAST(n - k * CELL, CELL);
#if defined(BY_TICKET) && defined(TOMBSTONE) && !defined(M_TOMBSTONE_NOT_DONE)
  pc = (tombstone -> BURY : FIRST_OF_PLACE)
#else
  pc = FIRST_OF_PLACE
#endif
}

inline end_place()
{
  i = 0; k++; p = STEP(p, 1);
  if
  :: k < want -> begin_place()
  :: else -> end_call()
  fi
}

/* The place's items, both words of each, at once. */
inline write_items()
{
  do
  :: i < j ->
     item_a[PLACE_OF_ITEM(p, i)] = TICKET(p, i);
     item_b[PLACE_OF_ITEM(p, i)] = TICKET(p, i);
     i++
  :: else -> break
  od
}

proctype producer(byte who)
{
  byte pc, p, n, want, known, found, k, i, j, calls, seen;
  bool p_mark, is_full, tombstone;
  d_step { begin_call() }
  do
  :: d_step { pc == HEAD -> p = head; p_mark = mark; again() }
#ifdef TOMBSTONE
  :: d_step { pc == HEAD && n == 1 -> tombstone = true; p = head; p_mark = mark; again() }
#endif
  /* find_room() */
#if defined(M_FULL_BY_COUNTERS)
  :: d_step {
       pc == VACANT ->
       /* The published algorithm: head was read, then tail; and the difference wraps. */
       found = ((p - tail) & 31);
       found = (found >= CAP -> 0 : LEAST(CAP - found, want));
       is_full = (head == p && !mark && g_busy[p % CAP]);
       found_room()
     }
#elif defined(M_JUDGE_BY_TAIL)
  :: d_step {
       pc == VACANT ->
       /* Even if the two are read at once: tail says that items are taken, not that they are out. */
       p = head; p_mark = mark;
       found = CAP - ((p - tail) & 31);
       found = LEAST(found, want);
       is_full = (g_busy[p % CAP]);
       found_room()
     }
#else
  :: d_step {
       pc == VACANT ->
       known = (BEHIND(vacant, p) -> 0 : LEAST((vacant - p) & 31, want));
       if
       :: known == want -> found = want; known = 0; found_room()
       :: else -> seen = (want - known < SCAN -> SCAN : want - known); pc = FREE
       fi
     }
  /* count_free() */
  :: d_step {
       pc == FREE ->
#ifdef M_LAST_PLACE_ONLY
       found = (found + known + 1 < want -> want - known - 1 : found);
#endif
       /* The first place is judged: what a verdict of QUEUE_FULL rests on. */
       if
       :: found + known == 0 -> is_full = (head == p && !mark && g_busy[p % CAP])
       :: else
       fi;
       if
       :: !PLACE_IS_FREE(STEP(p, known + found)) -> end_scan()
#ifdef BY_TICKET
       :: else -> pc = WORD
#else
       :: else -> next_place()
#endif
       fi
     }
#ifdef BY_TICKET
  :: d_step {
       pc == WORD ->
       if
       :: found + known == 0 -> is_full = (head == p && !mark && !WORD_IS_FREE(p))
       :: else
       fi;
       if
       :: GATE(STEP(p, known + found)) -> next_place()
       :: else -> end_scan()
       fi
     }
#endif
  :: d_step {
       pc == KNOW ->
#ifdef M_VACANT_HIGH
       vacant = STEP(p, known + found + 1);
#else
       vacant = STEP(p, known + found);
#endif
       found = LEAST(known + found, want); known = 0;
       found_room()
     }
#endif
  :: d_step {
       /* QUEUE_FULL if head stands still. */
       pc == FULL ->
       if
       :: head == p && mark == p_mark -> assert(is_full); pc = WAIT
       :: else -> p = head; p_mark = mark; again()
       fi
     }
  :: d_step {
       pc == WAIT && (head != p || mark || (PLACE_IS_FREE(p) && WORD_IS_FREE(p))) ->
       is_full = false; p = head; p_mark = mark; again()
     }
  :: d_step {
       pc == EXCHANGE ->
       is_full = false;
#ifdef M_CLOSE_APART
       if
       :: head == p ->
#else
       if
       :: head == p && mark == p_mark ->
#endif
          head = STEP(p, found);
          want = found;
          n = LEAST(n, found * CELL);
          g_accepted = g_accepted + (tombstone -> 0 : n);
          j = 0;
          do
          :: j < want ->
             assert(!g_busy[STEP(p, j) % CAP]);
             g_busy[STEP(p, j) % CAP] = true;
#ifdef BY_TICKET
             if
             :: NTH(STEP(p, j)) >= CC ->
                /* The tenant before is done, or was marked by somebody. */
                assert(((g_said | g_none) & BIT(STEP(p, j + 32 - CC), 0)) != 0);
                assert(((g_said | g_none) & BIT(STEP(p, j + 32 - CC), 1)) != 0)
             :: else
             fi;
             if
             :: n == j * CELL + 1 ->
                g_none = g_none | BITS(STEP(p, j), (tombstone -> 3 : 2))
             :: else
             fi;
#endif
             j++
          :: else -> break
          od;
          found = 0;
          begin_place()
       :: else ->
          p = head; p_mark = mark; found = 0; want = PLACES(n);
          again()
       fi
     }
  /* publish(), place by place */
#if defined(BY_TICKET) && defined(TOMBSTONE) && !defined(M_TOMBSTONE_NOT_DONE)
  :: d_step {
       /* Whoever buries: nobody will mark it. */
       pc == BURY -> completion[p % CC] = STAMP(p); pending[p % CC] = 0; pc = FIRST_OF_PLACE
     }
#endif
#ifdef WHOLE
#ifdef M_PUBLISH_EARLY
  :: d_step { pc == ITEM_A -> write_items(); end_place() }
#endif
#else
  :: d_step { pc == ITEM_A -> item_a[PLACE_OF_ITEM(p, i)] = TICKET(p, i); pc = ITEM_B }
  :: d_step {
       pc == ITEM_B -> item_b[PLACE_OF_ITEM(p, i)] = TICKET(p, i); i++;
       if
       :: i < j -> pc = ITEM_A
#ifdef M_PUBLISH_EARLY
       :: else -> end_place()
#else
       :: else -> pc = PUBLISH
#endif
       fi
     }
#endif
  :: d_step {
       pc == PUBLISH ->
#if defined(WHOLE) && !defined(M_PUBLISH_EARLY)
       write_items();
#endif
       published[p % CAP] = STAMP(p); count[p % CAP] = (tombstone -> 0 : j);
#ifdef M_PUBLISH_EARLY
       pc = ITEM_A
#else
       end_place()
#endif
     }
  :: pc == ENDED -> break
  od
}

/* ---- vyre_ring_claim(), vyre_ring_claim_many(): take, copy out, release; then mark_done(). ---- */

/* The count of the published word, if it is p's. */
#define COUNT_IF(p) (published[(p) % CAP] == STAMP(p) -> count[(p) % CAP] : 0)

inline look_from_tail()
{
  p = tail; x = tail_index; q = p; qx = x; n = 0; pc = LOOK
}

#ifdef SPAN
/* Of a span with n items left `some` lie in this cell, from index `x` on: they are all of it. */
#ifdef M_SPAN_ENDS
#define WHOLE_PART(x, some, n) ((x) == 0)
#else
#define WHOLE_PART(x, some, n) ((x) == 0 && ((some) < (n) || ends))
#endif
#endif

/* The next mark; or the next claim. */
inline begin_mark()
{
#if defined(SPAN) && defined(BY_TICKET)
  part = LEAST(CELL - qx, n);
  i = ((1 << part) - 1) << qx;
  if
  :: WHOLE_PART(qx, part, n) -> pc = OWN_RELEASED
#ifdef M_SPAN_PART_STORED
  :: else -> pc = OWN_WORD
#else
  :: else -> pc = MARK
#endif
  fi
#elif defined(BY_TICKET)
  i = 1 << qx;
#ifdef MANY
  if
  :: n > 1 && qx == 0 && (g_none & BIT(q, 1)) == 0 -> i = 3
  :: else
  fi;
#endif
  pc = MARK
#else
  pc = TAIL
#endif
}

#ifdef SPAN
/* The span's next cell; or all of it once more; or the next claim. */
inline marked()
{
  n = n - part; part = 0; q = STEP(q, 1); qx = 0; i = 0;
  if
  :: n > 0 -> begin_mark()
#ifdef TWICE
  :: n == 0 && !second -> second = true; q = m; qx = mx; n = most; begin_mark()
  :: n == 0 && second -> second = false; m = 0; mx = 0; ends = false; q = 0; most = 0; pc = TAIL
#else
  :: else -> q = 0; most = 0; ends = false; pc = TAIL
#endif
  fi
}
#else
inline marked()
{
  if
  :: i == 3 -> n = n - 2; qx = 2
  :: else -> n--; qx++
  fi;
  if
  :: qx >= CELL || (g_none & BIT(q, qx)) != 0 -> q = STEP(q, 1); qx = 0
  :: else
  fi;
  i = 0;
  if
  :: n > 0 -> begin_mark()
  :: else -> q = 0; qx = 0; most = 0; pc = TAIL
  fi
}
#endif

/* All that is wanted of this cell was copied out and given back. */
inline end_cell()
{
  n = n - part; c = 0; part = 0; i = 0; p = STEP(p, 1); x = 0;
  if
  :: n > 0 -> pc = PART
  :: else -> n = most; p = 0; begin_mark()
  fi
}

/* What was wanted of this cell was copied out; a mutant may have given it back already. */
inline copied()
{
#if defined(M_RELEASE_EARLY)
  if
  :: part == c -> end_cell()
  :: else -> pc = RELEASED
  fi
#elif defined(M_PART_EARLY)
  if
  :: part == c -> pc = RELEASED
  :: else -> end_cell()
  fi
#else
  pc = RELEASED
#endif
}

/* The cell's items at once.  Whoever comes again finds nothing. */
inline copy_items()
{
  do
  :: i < part ->
     assert(item_a[PLACE_OF_ITEM(p, x + i)] == TICKET(p, x + i));
     item_a[PLACE_OF_ITEM(p, x + i)] = NOTHING;
     item_b[PLACE_OF_ITEM(p, x + i)] = NOTHING;
     i++; g_consumed++
  :: else -> i = 0; break
  od
}

proctype consumer(byte most_at_once)
{
  byte pc = TAIL, p, x, most, n, q, qx, c, part, i;
  bool look;
#ifdef BY_TICKET
  byte w, w_bits, items;
#endif
#ifdef SPAN
  bool ends; /* ends_cell */
#ifdef TWICE
  bool second;
  byte m, mx; /* where the span begins */
#endif
#endif
  do
  :: d_step { pc == TAIL -> most = most_at_once; look_from_tail() }
  /* count_ready() */
  :: d_step {
       pc == LOOK ->
       c = COUNT_IF(q);
       if
       :: n == 0 -> look = (tail == p && tail_index == x) /* what a verdict of EMPTY rests on */
       :: else
       fi;
       i = 0;
       if
       :: qx >= c -> i = 1
       :: qx < c && c - qx > most - n -> qx = qx + most - n; n = most
       :: else ->
          n = n + c - qx; q = STEP(q, 1); qx = 0;
#if defined(SPAN) && !defined(M_SPAN_GOES_ON)
          if
          :: c < CELL -> i = 1
          :: else
          fi
#endif
       fi;
       c = 0;
       if
       :: n < most && i == 0
       :: !(n < most && i == 0) && n > 0 -> look = false; pc = EXCHANGE
#ifdef TOMBSTONE
       :: else -> pc = PASS
#elif defined(M_EMPTY_AT_ONCE)
       :: else -> pc = HINT
#else
       :: else -> pc = EMPTY
#endif
       fi;
       i = 0
     }
#ifdef TOMBSTONE
  /* pass_over(): without tombstones it finds nothing. */
  :: d_step {
       pc == PASS ->
       pc = (published[p % CAP] == STAMP(p) && x >= count[p % CAP] -> PASS_EXCHANGE : EMPTY)
     }
  :: d_step {
       pc == PASS_EXCHANGE ->
       if
       :: tail == p && tail_index == x -> tail = STEP(p, 1); tail_index = 0; pc = PASS_RELEASE
       :: else -> look_from_tail()
       fi
     }
  :: d_step {
       pc == PASS_RELEASE ->
       RELEASE(p, 0);
       p = STEP(p, 1); x = 0; q = p; qx = x; pc = LOOK
     }
#endif
#ifndef M_EMPTY_AT_ONCE
  :: d_step {
       pc == EMPTY ->
       if
       :: tail == p && tail_index == x -> pc = HINT
       :: else -> look_from_tail()
       fi
     }
#endif
  /* nothing_there() */
  :: d_step {
       pc == HINT ->
       if
       :: closed -> pc = CLOSED
       :: else -> assert(look); look = false; pc = WAIT /* EMPTY */
       fi
     }
  :: d_step {
       pc == CLOSED ->
       if
#ifdef M_HINT_TRUSTED
       :: head == p && x == 0 ->
#else
       :: mark && head == p && x == 0 ->
#endif
          p = 0; x = 0; q = 0; qx = 0; most = 0; look = false; pc = ENDED
       :: else -> assert(look); look = false; pc = WAIT /* EMPTY */
       fi
     }
  :: d_step {
       pc == WAIT && (tail != p || tail_index != x || published[p % CAP] == STAMP(p) ||
                      (closed && mark && head == p)) ->
       look_from_tail()
     }
  :: d_step {
       pc == EXCHANGE ->
       if
       :: tail == p && tail_index == x ->
          tail = q; tail_index = qx;
#ifdef SPAN
          ends = (qx == 0);
#ifdef TWICE
          m = p; mx = x;
#endif
#endif
#ifdef BY_TICKET
          q = p; qx = x; most = n; /* to mark them later */
#else
          q = 0; qx = 0; most = 0;
#endif
          pc = PART
       :: else -> look_from_tail()
       fi
     }
  /* copy_out() */
  :: d_step {
       pc == PART ->
#ifdef SPAN
#ifdef M_SPAN_EARLY
       completion[p % CC] = STAMP(p); pending[p % CC] = 0;
#endif
       part = LEAST(CELL - x, n);
       c = (WHOLE_PART(x, part, n) -> part : count[p % CAP]);
#else
       c = count[p % CAP]; /* count_of() */
       part = LEAST(c - x, n);
#endif
#if defined(M_RELEASE_EARLY)
       pc = (part == c -> RELEASED : COPY)
#elif defined(M_PART_EARLY)
       pc = (part == c -> COPY : RELEASED)
#elif defined(WHOLE)
       copy_items(); pc = RELEASED
#else
       pc = COPY
#endif
     }
#ifdef WHOLE
#if defined(M_RELEASE_EARLY) || defined(M_PART_EARLY)
  :: d_step { pc == COPY -> copy_items(); copied() }
#endif
#else
  :: d_step { pc == COPY -> assert(item_a[PLACE_OF_ITEM(p, x + i)] == TICKET(p, x + i)); pc = ITEM_B }
  :: d_step {
       pc == ITEM_B ->
       assert(item_b[PLACE_OF_ITEM(p, x + i)] == TICKET(p, x + i));
       i++; g_consumed++;
       if
       :: i < part -> pc = COPY
       :: else -> i = 0; copied()
       fi
     }
#endif
  /* release_part() */
#if defined(M_RELEASE_EARLY)
#define RELEASED_ALL pc = COPY
#else
#define RELEASED_ALL end_cell()
#endif
#if defined(M_PART_EARLY)
#define RELEASED_PART i = 0; pc = COPY
#else
#define RELEASED_PART end_cell()
#endif
  :: d_step {
       pc == RELEASED ->
       if
       :: part == c -> RELEASE(p, c); taken[p % R] = 0; RELEASED_ALL
       :: else ->
#if defined(M_FIRST_RELEASES)
          pc = LAST
#elif defined(M_COUNT_TORN)
          i = taken[p % R] + part; pc = ADDED
#else
          i = taken[p % R] + part; taken[p % R] = i;
          if
          :: i == c -> pc = LAST
          :: else -> RELEASED_PART
          fi
#endif
       fi
     }
#ifdef M_COUNT_TORN
  :: d_step {
       pc == ADDED ->
       taken[p % R] = i;
       if
       :: i == c -> pc = LAST
       :: else -> RELEASED_PART
       fi
     }
#endif
  :: d_step {
       pc == LAST ->
#ifndef M_TAKEN_KEPT
       taken[p % R] = 0;
#endif
       RELEASE(p, c);
       RELEASED_PART
     }
#if defined(SPAN) && defined(BY_TICKET)
  /* mark_own_cell() */
  :: d_step {
       pc == OWN_RELEASED ->
       SAY(q, i);
#ifdef M_SPAN_BLIND
       pc = OWN_STORE
#else
       pc = (released[q % R] == STAMP(q) && released_count[q % R] == part -> OWN_WORD : MARK)
#endif
     }
  :: d_step { pc == OWN_WORD -> pc = (WORD_IS_FREE(q) -> OWN_STORE : MARK) }
  :: d_step {
       pc == OWN_STORE ->
       completion[q % CC] = STAMP(q);
#ifdef M_SPAN_PART_STORED
       pending[q % CC] = (WHOLE_PART(qx, part, n) -> 0 : 3 & ~i);
#else
       pending[q % CC] = 0;
#endif
       marked()
     }
#endif
#ifdef BY_TICKET
  /* The items are finished: mark_done() of each ticket, mark_done_many(), or the rest of a span. */
  MARK_STEPS(q, i, marked())
#endif
  :: pc == ENDED -> break
  od
}

/* vyre_ring_close() */
proctype closer()
{
#ifndef CLOSE
  g_producing == 0;
#endif
#ifdef M_HINT_TRUSTED
  closed = true;
  mark = true
#else
  mark = true;
  closed = true
#endif
}

#ifdef READER
/* vyre_ring_in_flight() */
proctype reader()
{
  byte t, h;
#ifdef M_HEAD_FIRST
  h = head;
  t = tail;
#else
  t = tail;
  h = head;
#endif
  assert(!BEHIND(h, t));
  d_step { t = 0; h = 0 }
}
#endif

#ifdef ATTACHER
/* check_state() in core/ring/attach.c: a live ring is never refused. */
proctype attacher()
{
  byte t, v, h;
  t = tail;
  v = vacant;
  h = head;
  assert(!BEHIND(h, t));
  assert(BEHIND(v, h) || ((v - h) & 31) <= CAP);
  v = 0;
  t = tail; /* `later` */
  assert(BEHIND(h, t) || ((h - t) & 31) <= CAP);
  d_step { t = 0; h = 0 }
}
#endif

#ifdef MARKER
#define DONE_PLACE(p) NTH(STEP(completion[(p) % CC], 31))
#define WORD_SAYS_DONE(p) \
  (DONE_PLACE(p) <= 31 - CC && \
   (NTH(p) < DONE_PLACE(p) || (NTH(p) == DONE_PLACE(p) && pending[(p) % CC] == 0)))
/* Marks a ticket that is done already, or was never issued: without effect. */
proctype marker()
{
  byte pc = ENDED, p, i, w, w_bits, items;
  if
  :: p = FIRST
  :: p = STEP(FIRST, 1)
  :: p = STEP(FIRST, 2)
  :: p = STEP(FIRST, 3)
  fi;
  if
  :: i = 1
  :: i = 2
  fi;
#ifdef SPAN
  /* Beside a span's owner only what is done: by the word of its place, or a later one's. */
  d_step {
    WORD_SAYS_DONE(p) || g_producing == 0 ->
    if
    :: WORD_SAYS_DONE(p) && (g_said & BITS(p, i)) != 0 -> pc = MARK
    :: else
    fi
  }
#else
  d_step {
    (g_said & BITS(p, i)) != 0 || BEHIND(published[p % CAP], STAMP(p)) || g_producing == 0 ->
    if
    :: (g_said & BITS(p, i)) != 0 || BEHIND(published[p % CAP], STAMP(p)) -> pc = MARK
    :: else
    fi
  }
#endif
  do
  MARK_STEPS(p, i, pc = ENDED)
  :: pc == ENDED -> break
  od
}
#endif

#ifdef WATCHER
/* vyre_ring_is_done(): never true early, never true and then false. */
proctype watcher()
{
  byte p, i, last, looks;
  bool done, was, said;
  if
  :: p = FIRST
  :: p = STEP(FIRST, 1)
  :: p = STEP(FIRST, 2)
  fi;
  if
  :: i = 0
  :: i = 1
  fi;
  do
  :: looks < 2 ->
     d_step {
       last = NTH(STEP(completion[p % CC], 31));
       if
       :: last > 31 - CC -> done = false
       :: last <= 31 - CC && NTH(p) != last -> done = (NTH(p) < last)
       :: else -> done = ((pending[p % CC] & (1 << i)) == 0)
       fi;
       assert(!done || ((g_said | g_none) & BIT(p, i)) != 0);
       assert(done || !was);
       was = done; done = false; last = 0;
       looks++
     }
  :: else -> break
  od;
  skip;
  d_step { p = 0; i = 0; looks = 0; was = false }
}
#endif

init
{
  byte i, q;
  d_step {
    q = FIRST;
    do
    :: i < CAP ->
       published[q % CAP] = PREVIOUS(q, CAP);
       q = STEP(q, 1); i++
    :: else -> break
    od;
    i = 0; q = FIRST;
    do
    :: i < R -> released[q % R] = PREVIOUS(q, R); q = STEP(q, 1); i++
    :: else -> break
    od;
#ifdef BY_TICKET
    i = 0; q = FIRST;
    do
    :: i < CC -> completion[q % CC] = PREVIOUS(q, CC); q = STEP(q, 1); i++
    :: else -> break
    od;
#endif
    i = 0; q = 0
  }
  atomic {
    do
    :: i < PRODUCERS -> run producer(i); i++
    :: else -> break
    od;
    i = 0;
    do
    :: i < CONSUMERS -> run consumer((i % 2 == 0 -> MOST : 1)); i++
    :: else -> break
    od;
    i = 0;
    run closer();
#ifdef READER
    run reader();
#endif
#ifdef ATTACHER
    run attacher();
#endif
#ifdef MARKER
    run marker();
#endif
#ifdef WATCHER
    run watcher();
#endif
  }
  _nr_pr == 1;
  /* Everything that was accepted was delivered, once; every place is free again. */
  assert(g_consumed == g_accepted);
  assert(tail == head && tail_index == 0);
  d_step {
    do
    :: i < R ->
       assert(!g_busy[i % CAP] && taken[i] == 0);
       assert(WORD_IS_FREE(STEP(head, i))); /* no mark is lost */
       i++
    :: else -> break
    od
  }
}
