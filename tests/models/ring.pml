/*
 * ring.pml - the work ring: cells of several items, and completion by ticket.
 *
 * Mirrors core/ring/{enqueue,claim,completion,state}.c.  Each step is one operation on shared
 * memory, with the local computation that follows from it; what a real word packs together (stamp
 * and count, position and mark) is several variables here that one step touches.  Cells hold
 * CELL = 2 items instead of 7.  Positions count modulo 32 instead of 2^56 and start close to the
 * top, so they wrap.
 *
 * The payload of ticket t is t, in two words: a consumer that gets anything else has a lost,
 * doubled or torn item.  Names that begin with g_ are ghosts: the truth that verdicts are compared
 * with.  A call that returned QUEUE_FULL or EMPTY is made again once something has changed that it
 * looks at; so what is lost shows as a process that waits for ever.
 *
 * -D  PRODUCERS CONSUMERS CAP   how many threads of each kind; places
 *     CALLS SIZES MOST          enqueue calls of each producer; sizes of the batches, from 1 on in turn;
 *                               items that every second consumer claims at once, the others one
 *     SCAN                      places that a producer looks at beyond what it knows
 *     BY_TICKET CC              completion is kept, in CC places
 *     MANY                      items of a cell that were claimed together are marked together
 *     MARKER WATCHER            somebody marks wrong tickets; somebody looks at tickets
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
#define SCAN 3
#endif
#ifndef CC
#define CC CAP
#endif
/* Entries of released[]. */
#ifdef BY_TICKET
#define R CC
#else
#define R CAP
#endif

#define CELL 2
#define FIRST 30
#define STEP(p, n) (((p) + (n)) & 31)            /* vyre__ring_step() */
#define STAMP(p) STEP(p, 1)                      /* vyre__ring_stamp() */
#define PREVIOUS(p, lap) STEP(p, 33 - (lap))     /* vyre__ring_previous_stamp() */
#define BEHIND(a, b) ((((a) - (b)) & 31) >= 16)  /* vyre__ring_distance(a, b) < 0 */
#define NTH(p) (((p) - FIRST) & 31)              /* index_of() */
#define TICKET(p, i) ((p) * CELL + (i))
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

#ifdef BY_TICKET
#define UNKNOWN 255
#define PENDING(items, bits) (((1 << (items)) - 1) & ~(bits))

/* Ghost: whoever calls is right to, if the items are published. */
#define SAY(p, bits) \
  if \
  :: !BEHIND(published[(p) % CAP], STAMP(p)) -> g_said = g_said | BITS(p, bits) \
  :: else \
  fi

/* mark() of completion.c: items `bits` of position p; the caller has w, w_bits, items. */
inline mark_done(p, bits)
{
  /* vyre__ring_items_of() */
#if !defined(M_PUBLISHED_ONLY) && !defined(M_REUSED_IGNORED)
  d_step {
    SAY(p, bits);
#ifdef M_COUNT_OF_OLDER
    items = (released_count[(p) % R] != 0 -> released_count[(p) % R] : UNKNOWN)
#else
    items = (released[(p) % R] == STAMP(p) -> released_count[(p) % R] : UNKNOWN)
#endif
  }
#else
  items = UNKNOWN;
#endif
  if
  :: items == UNKNOWN ->
     d_step {
       SAY(p, bits);
       w = published[(p) % CAP];
       if
       :: w == STAMP(p) -> items = count[(p) % CAP]
#ifdef M_NO_ISSUE_CHECK
       :: w != STAMP(p) && BEHIND(w, STAMP(p)) -> items = count[(p) % CAP]
#else
       :: w != STAMP(p) && BEHIND(w, STAMP(p)) -> items = 0
#endif
#if defined(M_PUBLISHED_ONLY)
       :: else -> items = count[(p) % CAP]
#elif defined(M_REUSED_IGNORED)
       :: else -> items = 0
#else
       :: else
#endif
       fi;
       w = 0
     }
     if
     :: items == UNKNOWN ->
        /* A later tenant has the cell. */
        items = (released[(p) % R] == STAMP(p) -> released_count[(p) % R] : 0)
     :: else
     fi
  :: else
  fi;
  if
  :: items == 0
  :: else ->
#ifdef M_BLIND_MARK
     d_step { completion[(p) % CC] = STAMP(p); pending[(p) % CC] = PENDING(items, bits) }
#else
     d_step { w = completion[(p) % CC]; w_bits = pending[(p) % CC] }
     do
     :: d_step {
          w == STAMP(p) && (w_bits & (bits)) != 0 ->
          if
          :: completion[(p) % CC] == w && pending[(p) % CC] == w_bits ->
             pending[(p) % CC] = w_bits & ~(bits);
             w = 255
          :: else -> w = completion[(p) % CC]; w_bits = pending[(p) % CC]
          fi
        }
     :: d_step {
          w == PREVIOUS(p, CC) && w_bits == 0 && (((1 << items) - 1) & (bits)) != 0 ->
          if
          :: completion[(p) % CC] == w && pending[(p) % CC] == w_bits ->
             completion[(p) % CC] = STAMP(p);
#ifndef M_FIRST_ENDS_ALL
             pending[(p) % CC] = PENDING(items, bits);
#endif
             w = 255
          :: else -> w = completion[(p) % CC]; w_bits = pending[(p) % CC]
          fi
        }
     :: else -> break
     od
#endif
  fi;
  skip;
  d_step { w = 0; w_bits = 0; items = 0 }
}
#endif

/* vyre_ring_enqueue(), vyre_ring_enqueue_many(): reserve, publish each place. */
proctype producer(byte who)
{
  byte p, n, want, known, found, k, i, j, calls, seen;
  bool p_mark, stop, is_full, tombstone;
  do
  :: calls == CALLS -> break
  :: calls < CALLS && !stop ->
     d_step { n = 1 + (calls + who) % SIZES; want = PLACES(n); calls++ }
#ifdef TOMBSTONE
     if
     :: n == 1 -> tombstone = true
     :: true
     fi;
#endif
     d_step { p = head; p_mark = mark }
again:
     if
     :: p_mark -> stop = true; goto next
     :: else
     fi;
     /* find_room() */
#if defined(M_FULL_BY_COUNTERS)
     d_step {
       /* The published algorithm: head was read, then tail; and the difference wraps. */
       found = ((p - tail) & 31);
       found = (found >= CAP -> 0 : LEAST(CAP - found, want));
       is_full = (head == p && !mark && g_busy[p % CAP])
     }
#elif defined(M_JUDGE_BY_TAIL)
     d_step {
       /* Even if the two are read at once: tail says that items are taken, not that they are out. */
       p = head; p_mark = mark;
       found = CAP - ((p - tail) & 31);
       found = LEAST(found, want);
       is_full = (g_busy[p % CAP])
     }
#else
     d_step {
       known = (BEHIND(vacant, p) -> 0 : LEAST((vacant - p) & 31, want));
       seen = (want - known < SCAN -> SCAN : want - known);
       if
       :: known == want -> found = want; known = 0; seen = 0
       :: else
       fi
     }
     if
     :: found == want
     :: else ->
        /* count_free() */
        do
        :: found < seen ->
#ifdef M_LAST_PLACE_ONLY
           if
           :: found + known + 1 < want -> found++; goto sure
           :: else
           fi;
#endif
           d_step {
             /* The first place is judged: what a verdict of QUEUE_FULL rests on. */
             if
             :: found + known == 0 -> is_full = (head == p && !mark && g_busy[p % CAP])
             :: else
             fi;
             i = PLACE_IS_FREE(STEP(p, known + found));
#ifndef BY_TICKET
             if
             :: i == 0 -> seen = found
             :: else -> found++
             fi;
             i = 0
#endif
           }
#ifdef BY_TICKET
           if
           :: i == 0 -> break
           :: else
           fi;
           d_step {
             if
             :: found + known == 0 -> is_full = (head == p && !mark && !WORD_IS_FREE(p))
             :: else
             fi;
             i = GATE(STEP(p, known + found));
             if
             :: i == 0 -> seen = found
             :: else -> found++
             fi;
             i = 0
           }
#endif
#ifdef M_LAST_PLACE_ONLY
sure:      skip
#endif
        :: else -> break
        od;
        if
        :: found > 0 ->
#ifdef M_VACANT_HIGH
           vacant = STEP(p, known + found + 1)
#else
           vacant = STEP(p, known + found)
#endif
        :: else
        fi;
        found = LEAST(known + found, want)
     fi;
     d_step { known = 0; seen = 0 }
#endif
     if
     :: found == 0 ->
#ifndef M_FULL_AT_ONCE
        d_step {
          /* QUEUE_FULL if head stands still. */
          stop = (head == p && mark == p_mark);
          if
          :: stop
          :: else -> p = head; p_mark = mark
          fi
        }
        if
        :: !stop -> goto again
        :: else
        fi;
#endif
        assert(is_full);
        d_step {
          head != p || mark || (PLACE_IS_FREE(p) && WORD_IS_FREE(p)) ->
          stop = false; is_full = false; p = head; p_mark = mark
        }
        goto again
     :: else
     fi;
     d_step {
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
          j = 0; found = 1
       :: else -> p = head; p_mark = mark; found = 0
       fi
     }
     if
     :: found == 0 -> want = PLACES(n); goto again
     :: else -> found = 0
     fi;
     /* publish(), place by place */
     do
     :: k < want ->
        j = LEAST(n - k * CELL, CELL);
#if defined(BY_TICKET) && defined(TOMBSTONE) && !defined(M_TOMBSTONE_NOT_DONE)
        /* Whoever buries: nobody will mark it. */
        if
        :: tombstone -> d_step { completion[p % CC] = STAMP(p); pending[p % CC] = 0 }
        :: else
        fi;
#endif
#ifdef M_PUBLISH_EARLY
        d_step { published[p % CAP] = STAMP(p); count[p % CAP] = (tombstone -> 0 : j) }
#endif
        do
        :: i < j ->
           item_a[(p % CAP) * CELL + i] = TICKET(p, i);
           d_step { item_b[(p % CAP) * CELL + i] = TICKET(p, i); i++ }
        :: else -> break
        od;
        skip;
#ifndef M_PUBLISH_EARLY
        d_step { published[p % CAP] = STAMP(p); count[p % CAP] = (tombstone -> 0 : j) }
#endif
        d_step { i = 0; k++; p = STEP(p, 1) }
     :: else -> break
     od;
next:
     skip;
     d_step { p = 0; p_mark = 0; n = 0; want = 0; k = 0; j = 0; found = 0; tombstone = false }
     if
     :: stop -> break
     :: else
     fi
  od;
  skip;
  d_step { calls = 0; stop = false; g_producing-- }
}

/* The count of the published word, if it is p's. */
#define COUNT_IF(p) (published[(p) % CAP] == STAMP(p) -> count[(p) % CAP] : 0)

/* vyre_ring_claim(), vyre_ring_claim_many(): take, copy out, release; then mark_done(). */
proctype consumer(byte most_at_once)
{
  byte p, x, most, n, q, qx, c, part, i;
  bool look;
#ifdef BY_TICKET
  byte w, w_bits, items;
#endif
start:
  skip;
  d_step { most = most_at_once; p = tail; x = tail_index; q = p; qx = x }
again:
  /* count_ready() */
  do
  :: n < most && i == 0 ->
     d_step {
       c = COUNT_IF(q);
       if
       :: n == 0 -> look = (tail == p && tail_index == x) /* what a verdict of EMPTY rests on */
       :: else
       fi;
       if
       :: qx >= c -> i = 1
       :: qx < c && c - qx > most - n -> qx = qx + most - n; n = most
       :: else -> n = n + c - qx; q = STEP(q, 1); qx = 0
       fi;
       c = 0
     }
  :: else -> break
  od;
  i = 0;
  if
  :: n == 0 ->
#ifdef TOMBSTONE
     /* pass_over(): without tombstones it finds nothing. */
     d_step {
       c = (published[p % CAP] == STAMP(p) && x >= count[p % CAP] -> 1 : 0)
     }
     if
     :: c == 1 ->
        d_step {
          if
          :: tail == p && tail_index == x ->
             tail = STEP(p, 1); tail_index = 0;
             q = STEP(p, 1); qx = 0
          :: else -> q = tail; qx = tail_index; c = 0
          fi
        }
        if
        :: c == 1 -> d_step { RELEASE(p, 0); c = 0 }
        :: else
        fi;
        d_step { p = q; x = qx }
        goto again
     :: else
     fi;
#endif
#ifndef M_EMPTY_AT_ONCE
     d_step {
       c = (tail == p && tail_index == x -> 0 : 1);
       p = tail; x = tail_index; q = p; qx = x
     }
     if
     :: c == 1 -> c = 0; goto again
     :: else
     fi;
#endif
     /* nothing_there() */
     if
     :: closed ->
        d_step {
#ifdef M_HINT_TRUSTED
          c = (head == p && x == 0 -> 1 : 0)
#else
          c = (mark && head == p && x == 0 -> 1 : 0)
#endif
        }
        if
        :: c == 1 -> c = 0; goto finished /* CLOSED */
        :: else
        fi
     :: else
     fi;
     assert(look); /* EMPTY */
     look = false;
     d_step {
       tail != p || tail_index != x || published[p % CAP] == STAMP(p) ||
           (closed && mark && head == p) ->
       p = tail; x = tail_index; q = p; qx = x
     }
     goto again
  :: else
  fi;
  look = false;
  d_step {
    if
    :: tail == p && tail_index == x -> tail = q; tail_index = qx; c = 1
    :: else -> p = tail; x = tail_index; q = p; qx = x; n = 0
    fi
  }
  if
  :: c == 0 -> goto again
  :: else
  fi;
  #ifdef BY_TICKET
  d_step { c = 0; q = p; qx = x; most = n } /* to mark them later */
#else
  d_step { c = 0; q = 0; qx = 0; most = 0 }
#endif
  /* copy_out() */
  do
  :: n > 0 ->
     d_step {
       c = count[p % CAP]; /* count_of() */
       part = LEAST(c - x, n)
     }
#ifdef M_RELEASE_EARLY
     if
     :: part == c -> d_step { RELEASE(p, c); taken[p % R] = 0 }
     :: else
     fi;
#endif
#ifdef M_PART_EARLY
     if
     :: part != c ->
        d_step { i = taken[p % R] + part; taken[p % R] = i }
        if
        :: i == c -> d_step { RELEASE(p, c); taken[p % R] = 0 }
        :: else
        fi;
        i = 0
     :: else
     fi;
#endif
     do
     :: i < part ->
        assert(item_a[(p % CAP) * CELL + x + i] == TICKET(p, x + i));
        d_step {
          assert(item_b[(p % CAP) * CELL + x + i] == TICKET(p, x + i));
          i++; g_consumed++
        }
     :: else -> i = 0; break
     od;
     /* release_part() */
#ifndef M_RELEASE_EARLY
     if
     :: part == c -> d_step { RELEASE(p, c); taken[p % R] = 0 }
     :: else
     fi;
#endif
#ifndef M_PART_EARLY
     if
     :: part != c ->
#if defined(M_FIRST_RELEASES)
        i = c;
#elif defined(M_COUNT_TORN)
        i = taken[p % R] + part;
        taken[p % R] = i;
#else
        d_step { i = taken[p % R] + part; taken[p % R] = i }
#endif
        if
        :: i == c ->
           d_step {
#ifndef M_TAKEN_KEPT
             taken[p % R] = 0;
#endif
             RELEASE(p, c)
           }
        :: else
        fi;
        i = 0
     :: else
     fi;
#endif
     d_step { n = n - part; c = 0; part = 0; p = STEP(p, 1); x = 0 }
  :: else -> break
  od;
  skip;
#ifdef BY_TICKET
  /* The items are finished: mark_done() of each ticket, or mark_done_many(). */
  n = most;
  do
  :: n > 0 ->
     d_step {
       i = 1 << qx;
#ifdef MANY
       if
       :: n > 1 && qx == 0 && (g_none & BIT(q, 1)) == 0 -> i = 3
       :: else
       fi
#endif
     }
     mark_done(q, i);
     d_step {
       if
       :: i == 3 -> n = n - 2; qx = 2
       :: else -> n--; qx++
       fi;
       i = 0;
       if
       :: qx >= CELL || (g_none & BIT(q, qx)) != 0 -> q = STEP(q, 1); qx = 0
       :: else
       fi
     }
  :: else -> break
  od;
  skip;
#endif
  d_step { p = 0; x = 0; q = 0; qx = 0; n = 0; most = 0 }
  goto start;
finished:
  skip;
  d_step { p = 0; x = 0; q = 0; qx = 0; n = 0; most = 0; look = false }
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
/* Marks a ticket that is done already, or was never issued: without effect. */
proctype marker()
{
  byte p, i, w, w_bits, items;
  if
  :: p = FIRST
  :: p = STEP(FIRST, 1)
  :: p = STEP(FIRST, 2)
  :: p = STEP(FIRST, 3)
  fi;
  if
  :: i = 0
  :: i = 1
  fi;
  d_step {
    (g_said & BIT(p, i)) != 0 || BEHIND(published[p % CAP], STAMP(p)) || g_producing == 0 ->
    if
    :: (g_said & BIT(p, i)) != 0 || BEHIND(published[p % CAP], STAMP(p))
    :: else -> i = 2
    fi
  }
  if
  :: i < 2 -> mark_done(p, (1 << i))
  :: else
  fi
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
    :: i < R -> assert(!g_busy[i % CAP] && taken[i] == 0); i++
    :: else -> break
    od
  }
}
