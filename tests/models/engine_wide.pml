/*
 * engine_wide.pml - how groups of a wide persistent launch share the ring: one looks and announces,
 * all claim what is announced.
 *
 * Mirrors vyre__decide(), vyre__idle(), vyre__look_once(), vyre__look_wide(), vyre__claim_cells(),
 * vyre__announce(), vyre__serve_wide() in engine_wide_kernel.c, and vyre__park(),
 * vyre__try_to_leave(), vyre__leave_now() in engine_kernel.c.  The keeper is reduced to: another
 * launch once the last one is gone and an item is there (engine_life.pml has the rest).
 *
 * A cell is one item.  How many cells a group claims, and whether it looks alone or with all its
 * lanes, is left open: any choice must do.  `published` of the submitters and `state` of the groups
 * go through store buffers as in engine_life.pml; the words of the device's memory are seen at once.
 * `next` and `behind` are the two halves of the word `offer`.
 *
 * A group that finds nothing to do blocks until something is there that it would find.  So what is
 * not served shows as an invalid end state.
 *
 * -D  CAP SUBMITTERS ITEMS WORKERS   places; submitters, items of each; groups
 *     IDLE                           the launch may leave for idleness
 *     RESIDENT=n                     max_resident_ms may be over in the first n launches
 *     HOLDS=n                        the device is held n times; GIVE_UP: or that is given up
 *     KEPT                           a group that leaves keeps the looker's word
 *     M_...                          a mutant; docs/models.md lists them
 */
#ifndef CAP
#define CAP 2
#endif
#ifndef SUBMITTERS
#define SUBMITTERS 1
#endif
#ifndef ITEMS
#define ITEMS 3
#endif
#ifndef WORKERS
#define WORKERS 2
#endif
#define TOTAL (SUBMITTERS * ITEMS)
#define LANES 2

/* Positions wrap on the way. */
#define POSITIONS 16
#define FIRST 14
#define AT(p) ((p) % POSITIONS)
#define CELL(p) ((p) % CAP)
#define IS_PUBLISHED(p) (published[CELL(p)] == AT(p) + 1)

#define RUNNING 1
#define LEAVING 2

#define ASKED 1
#define NOW 2

#define STOP 1
#define PARK 2

mtype = { PUBLISHED, STATE };

#define WORKER(w) (SUBMITTERS + (w))
#define BUFFERS (SUBMITTERS + WORKERS)
chan buffer[BUFFERS] = [2] of { mtype, byte };
#define FENCE(who) empty(buffer[who])

/* Host memory. */
byte head = FIRST, state, stop;
byte published[CAP], released[CAP]; /* position + 1 */
/* Device memory. */
byte next = FIRST, behind = FIRST, announced = FIRST, asked, looker, leaving;
byte claims[WORKERS], done[WORKERS];
/* The launch: groups that have not ended; its number. */
byte alive, launch;
bool held, stopping;

byte g_published, g_served_n;
bool g_served[POSITIONS], g_trusted[POSITIONS];

active [BUFFERS] proctype memory()
{
  byte i;
end:
  do
  :: atomic {
       buffer[_pid]?PUBLISHED(i) ->
       published[CELL(i)] = i + 1;
       g_published++;
       i = 0
     }
  :: atomic { buffer[_pid]?STATE(i) -> state = i; i = 0 }
  od
}

proctype submitter(byte who)
{
  byte p, n;
  do
  :: n < ITEMS ->
     /* vyre__ring_reserve(): the place's last tenant was copied out. */
     d_step {
       released[CELL(head)] == AT(head + POSITIONS - CAP) + 1;
       p = head;
       head = AT(head + 1)
     }
     buffer[who]!PUBLISHED(p);
     /* announce() */
#ifndef M_NO_SUBMITTER_FENCE
     FENCE(who);
#endif
     d_step {
       if
       :: state == RUNNING -> g_trusted[p] = true
       :: else /* the keeper looks */
       fi;
       p = 0;
       n++
     }
  :: else -> break
  od;
  skip;
  d_step { FENCE(who); n = 0 }
}

/* vyre__left(): `next` may be beyond `behind`, by a claim for each group. */
#define AHEAD AT(behind + POSITIONS - next)
#define IS_LEFT (AHEAD != 0 && AHEAD <= CAP)
#define CLAIMABLE (IS_LEFT && (asked & PARK) == 0)
#define MUST_LEAVE (leaving == mine * 4 + NOW)

#ifdef M_NO_LAUNCH_IN_WORD
#define TAKEN(word) ((word) % 2 == 1)
#else
#define TAKEN(word) ((word) == mine * 2 + 1)
#endif

#if WORKERS == 1
#define ALL_DONE(no)
#define IS_ALL_DONE true
#else
#define ALL_DONE(no)                                                                               \
  v = done[1 - who];                                                                               \
  if                                                                                               \
  :: claims[1 - who] != v -> v = 0; goto no                                                        \
  :: else -> v = 0                                                                                 \
  fi;
#define IS_ALL_DONE (claims[1 - who] == done[1 - who])
#endif

/* vyre__advance(): nothing is announced twice, or before it is there. */
inline advance(position)
{
  assert(AT(position + POSITIONS - announced) <= CAP);
  announced = AT(position)
}

/* vyre__announce(): its exchange succeeds in the end. */
inline announce(position)
{
  d_step {
#ifndef M_NOT_JOINED
    if
    :: IS_LEFT
    :: else -> next = announced
    fi;
#endif
    behind = AT(position);
    none = false;
    advance(position);
    a = announced
  }
}

/* vyre__count_claim() */
#ifdef M_COUNTED_LATE
#define COUNT_BEFORE
#define COUNT_BEHIND claims[who] = finished + 1
#else
#define COUNT_BEFORE claims[who] = finished + 1
#define COUNT_BEHIND skip
#endif

proctype worker(byte who, mine)
{
  byte t, n, v, old, a, wish, seen, finished;
  bool holds, none;
  finished = done[who];
decide:
  do
  :: true ->
     /* vyre__decide() */
     v = asked;
     if
     :: MUST_LEAVE -> break
     :: else
     fi;
     if
#ifdef M_EMPTY_UNSEEN
     :: v & PARK -> d_step { v = 0; none = holds } goto idle
#else
     :: v & PARK -> d_step { v = 0; none = holds && !IS_LEFT } goto idle
#endif
     :: else -> v = 0
     fi;
     /* vyre__claim_cells() */
     if
     :: d_step { IS_LEFT -> n = AHEAD; none = false }
     :: d_step { !IS_LEFT -> none = holds } goto idle
     fi;
     if
     :: n > 2 -> n = 2
     :: n > 1 -> n = 1
     :: n <= 2 -> skip
     fi;
     COUNT_BEFORE;
     /* The add: what was left may be less by now, or nothing. */
     d_step {
       t = next;
       v = AHEAD;
       next = AT(next + n);
#ifndef M_NO_LEFT_CHECK
       if
       :: v == 0 || v > CAP -> n = 0
       :: else
       fi;
#endif
#ifndef M_CLAIM_BEYOND
       if
       :: n > v -> n = v
       :: else
       fi;
#endif
       v = 0
     }
     if
     :: n != 0 ->
        COUNT_BEHIND;
        goto serve
     :: d_step { n == 0 -> claims[who] = finished; t = 0 }
        goto decide
     fi;
idle:
     /* vyre__idle() */
#ifdef RESIDENT
     if
     :: true
     :: mine <= RESIDENT ->
        /* vyre__leave_now() */
        buffer[WORKER(who)]!STATE(LEAVING);
        leaving = mine * 4 + NOW
     fi;
#endif
     if
     :: holds -> goto look
     :: else
     fi;
     /* vyre__take_looker() */
     old = looker;
     if
     :: TAKEN(old) ->
        old = 0;
        (MUST_LEAVE || !TAKEN(looker) || CLAIMABLE);
        goto decide
     :: else
     fi;
#ifdef M_TWO_LOOKERS
     looker = mine * 2 + 1;
     holds = true;
#else
     if
     :: atomic { looker == old -> looker = mine * 2 + 1; holds = true }
     :: looker != old -> old = 0; goto decide
     fi;
#endif
     d_step {
       old = 0;
       a = announced;
       wish = asked;
#ifdef M_EMPTY_STALE
       none = true
#else
       none = !IS_LEFT
#endif
     }
look:
     /* vyre__look_once() */
     v = stop;
     if
     :: true -> seen = LANES /* plenty, or two seen: looks with all lanes */
     :: d_step { IS_PUBLISHED(a) -> seen = 1 }
     :: d_step { !IS_PUBLISHED(a) -> seen = 0 }
     fi;
     if
#ifdef M_ASKED_KEPT
     :: wish != v -> d_step { wish = v; asked = asked | v }
#else
     :: wish != v -> d_step { wish = v; asked = v }
#endif
     :: else
     fi;
     v = 0;
     if
     :: wish & STOP -> goto leave_now
     :: (wish & STOP) == 0 && (wish & PARK) ->
        seen = 0;
        /* vyre__park() */
        ALL_DONE(nothing)
leave_now:
        seen = 0;
        buffer[WORKER(who)]!STATE(LEAVING);
        leaving = mine * 4 + NOW;
        goto nothing
     :: else
     fi;
     if
     :: seen == LANES ->
        /* vyre__look_wide(): the lanes look in any order */
#ifdef M_ANNOUNCE_EARLY
        if
        :: IS_PUBLISHED(a) -> announce(a + LANES)
        :: else
        fi;
#else
        if
        :: true ->
           if
           :: IS_PUBLISHED(a) -> n = 2
           :: else
           fi;
           if
           :: n == 2 && !IS_PUBLISHED(a + 1) -> n = 1
           :: else
           fi
        :: true ->
           if
           :: IS_PUBLISHED(a + 1) -> n = 2
           :: else -> n = 1
           fi;
           if
           :: !IS_PUBLISHED(a) -> n = 0
           :: else
           fi
        fi;
        if
        :: n != 0 -> announce(a + n)
        :: else
        fi;
#endif
        if
        :: d_step { n != 0 -> n = 0; seen = 0 } goto decide
        :: d_step { n == 0 -> seen = 0 } goto nothing
        fi
     :: seen == 1 ->
        seen = 0;
#ifdef M_SHORTCUT_BLIND
        if
        :: true ->
#else
        if
        :: !none -> announce(a + 1)
        :: none ->
#endif
           /* Alone: takes it at once.  What is left would be announced again with it. */
           d_step { assert(!IS_LEFT); t = a; n = 1 }
           COUNT_BEFORE;
#ifdef M_SHORTCUT_OFFERED
           announce(a + 1);
#else
#ifndef M_SHORTCUT_NOT_ANNOUNCED
           d_step { advance(a + 1) }
#endif
#endif
           COUNT_BEHIND;
           goto serve
        fi
     :: else
     fi;
nothing:
#ifdef IDLE
     if
     :: true -> goto rest
     :: none
     fi;
     /* vyre__try_to_leave() */
try:
     old = leaving;
     if
     :: old / 4 == mine && old % 4 != 0 -> old = 0; goto rest
     :: else
     fi;
#ifndef M_LEAVE_WHILE_RUNNING
     ALL_DONE(rest)
#endif
     if
     :: atomic { leaving == old -> leaving = mine * 4 + ASKED; old = 0 }
     :: d_step { leaving != old -> old = 0 } goto rest
     fi;
     buffer[WORKER(who)]!STATE(LEAVING);
#ifndef M_NO_WORKER_FENCE
     FENCE(WORKER(who));
#endif
#ifndef M_LEAVE_WITHOUT_LOOK
     if
     :: IS_PUBLISHED(a) -> goto back
     :: else
     fi;
#ifndef M_LEAVE_WHILE_RUNNING
     ALL_DONE(back)
#endif
#endif
     d_step {
       /* Nobody counts on this launch. */
       t = FIRST;
       do
       :: t != a -> assert(!g_trusted[t] || g_served[t]); t = AT(t + 1)
       :: else -> break
       od;
       t = 0;
       assert(!g_trusted[a] || g_served[a])
     }
     leaving = mine * 4 + NOW;
     goto rest;
back:
     /* Release: the state is seen before the word. */
     buffer[WORKER(who)]!STATE(RUNNING);
     FENCE(WORKER(who));
     if
     :: atomic { leaving == mine * 4 + ASKED -> leaving = mine * 4 }
     :: leaving != mine * 4 + ASKED
     fi;
rest:
     old = 0;
#endif
     if
     :: MUST_LEAVE || stop != wish || CLAIMABLE -> goto decide
     :: (wish & PARK) == 0 && IS_PUBLISHED(a) -> goto decide
     :: (wish & PARK) && IS_ALL_DONE -> goto decide
#ifdef IDLE
     :: IS_ALL_DONE && none -> goto try
#endif
     fi;
serve:
     /* Before it serves anything, the word is free for others. */
     if
#ifndef M_LOOKER_KEPT
     :: holds -> d_step { looker = mine * 2; holds = false; none = false; a = 0; wish = 0 }
#else
     :: holds -> d_step { holds = false; none = false; a = 0; wish = 0 }
#endif
     :: else
     fi;
     /* vyre__serve_wide() */
     old = 0;
#ifdef M_RELEASE_EARLY
     d_step {
       do
       :: old < n -> released[CELL(t + old)] = AT(t + old) + 1; old++
       :: else -> old = 0; break
       od
     }
#endif
     d_step {
       do
       :: old < n ->
          assert(IS_PUBLISHED(t + old));
          assert(!g_served[AT(t + old)]);
          old++
       :: else -> old = 0; break
       od
     }
#ifndef M_RELEASE_EARLY
     d_step {
       do
       :: old < n -> released[CELL(t + old)] = AT(t + old) + 1; old++
       :: else -> old = 0; break
       od
     }
#endif
     d_step {
       do
       :: old < n -> g_served[AT(t + old)] = true; g_served_n++; old++
       :: else -> old = 0; break
       od
     }
     d_step { finished++; done[who] = finished; t = 0; n = 0 }
  od;
  if
  :: holds ->
#ifndef KEPT
     looker = mine * 2
#else
     skip
#endif
  :: else
  fi;
  /* The end of a launch makes its stores visible. */
  d_step { FENCE(WORKER(who)); finished = 0; a = 0; wish = 0; holds = false; none = false; alive-- }
}

inline start()
{
  launch++;
  state = RUNNING;
  i = 0;
  do
  :: i < WORKERS -> run worker(i, launch); alive++; i++
  :: else -> i = 0; break
  od
}

proctype keeper()
{
  byte i;
  do
  :: atomic { alive == 0 && !held && !stopping && g_published != g_served_n -> start() }
  :: alive == 0 && stopping -> break
  od
}

#ifdef HOLDS
/* A call on the device: park.pml has the rest. */
proctype holder()
{
  byte i;
  do
  :: i < HOLDS ->
     d_step { held = true; stop = stop | PARK }
     if
     :: alive == 0
#ifdef GIVE_UP
     :: true
#endif
     fi;
     d_step { held = false; stop = stop & STOP; i++ }
  :: else -> break
  od;
  i = 0
}
#endif

/* vyre_engine_stop(): what was accepted is waited for, then the launch is sent away. */
proctype stopper()
{
  g_served_n == TOTAL;
  d_step { stopping = true; stop = stop | STOP }
}

init
{
  byte i;
  atomic {
    do
    :: i < CAP -> released[CELL(AT(FIRST + i))] = AT(FIRST + i + POSITIONS - CAP) + 1; i++
    :: else -> break
    od;
    start();
    do
    :: i < SUBMITTERS -> run submitter(i); i++
    :: else -> break
    od;
    i = 0;
    run keeper();
#ifdef HOLDS
    run holder();
#endif
    run stopper()
  }
  _nr_pr == 1 + BUFFERS;
  assert(g_served_n == TOTAL && announced == AT(FIRST + TOTAL) && !IS_LEFT)
}
