/*
 * engine_life.pml - a persistent launch leaves and comes back, and no item is left behind.
 *
 * Mirrors announce() and vyre__engine_unfinished() in core/engine/submit.c, vyre__work(),
 * vyre__try_to_leave() and vyre__leave_now() in engine_kernel.c, vyre__engine_keeper() in keeper.c
 * and vyre__engine_end_thread() in stop.c.  The ring is reduced to positions that are published and
 * a tail (ring.pml has the rest).  Processes have store buffers as in wake.pml; what contended
 * words of the device's memory say is seen at once, but for plain stores to `leaving`.
 *
 * An item that is lost shows as an invalid end state: the stopper waits until every item is done.
 * Beside that, a launch may leave for idleness only if no submitter counts on it (g_trusted): then
 * either the worker sees the item, or the submitter sees that the launch leaves.
 *
 * -D  SUBMITTERS ITEMS WORKERS   how many, items of each submitter
 *     RESIDENT                   max_resident_ms may be over at any time
 *     WEAK                       stores to different words may overtake each other where the code
 *                                lets them: `leaving` does not wait for `state`
 *     LOSS_ONLY                  g_trusted is not looked at
 *     M_...                      a mutant; docs/models.md lists them
 */
#ifndef SUBMITTERS
#define SUBMITTERS 2
#endif
#ifndef ITEMS
#define ITEMS 1
#endif
#ifndef WORKERS
#define WORKERS 2
#endif
#define TOTAL (SUBMITTERS * ITEMS)

#define ABSENT 0
#define RUNNING 1
#define LEAVING 2

#define ASKED 1
#define NOW 2

mtype = { SUBMITTED, PUBLISHED, STATE, DONE, LEAVE, SLEEPER_UP, SLEEPER_DOWN, EPOCH };

/* Buffers: submitters, workers, the keeper, the stopper. */
#define WORKER(w) (SUBMITTERS + (w))
#define KEEPER (SUBMITTERS + WORKERS)
#define STOPPER (KEEPER + 1)
#define BUFFERS (STOPPER + 1)
chan buffer[BUFFERS] = [2] of { mtype, byte };
#define FENCE(who) empty(buffer[who])

/* Host memory. */
byte head, submitted, state;
bool published[TOTAL + 1];
byte done[WORKERS];
bool stop, stopping;
byte epoch, sleepers; /* the keeper's wake word */
bool asleep;
/* Device memory. */
byte tail, leaving, claims[WORKERS];
/* The launch: workers that have not ended; its number, modulo 2. */
byte alive, launch;

byte g_submitting = SUBMITTERS;
bool g_served[TOTAL], g_trusted[TOTAL + 1];

active [BUFFERS] proctype memory()
{
  byte i;
end:
  do
  :: atomic { buffer[_pid]?SUBMITTED(i) -> submitted++; i = 0 }
  :: atomic { buffer[_pid]?PUBLISHED(i) -> published[i] = true; i = 0 }
  :: atomic { buffer[_pid]?STATE(i) -> state = i; i = 0 }
  :: atomic { buffer[_pid]?DONE(i) -> done[_pid - SUBMITTERS] = i; i = 0 }
  :: atomic { buffer[_pid]?LEAVE(i) -> leaving = i; i = 0 }
  :: atomic { buffer[_pid]?SLEEPER_UP(i) -> sleepers++; i = 0 }
  :: atomic { buffer[_pid]?SLEEPER_DOWN(i) -> sleepers--; i = 0 }
  :: atomic { buffer[_pid]?EPOCH(i) -> epoch++; i = 0 }
  od
}

/* vyre__engine_kick(): vyre__wake_all() of the keeper. */
inline kick(who)
{
  FENCE(who);
  if
  :: sleepers == 0
  :: else ->
     buffer[who]!EPOCH(0);
     d_step { FENCE(who) -> asleep = false }
  fi
}

proctype submitter(byte who)
{
  byte p, n;
  do
  :: n < ITEMS ->
     /* vyre__ring_reserve() */
     d_step { p = head; head++ }
#ifndef M_COUNTED_LATE
     buffer[who]!SUBMITTED(0);
#endif
     buffer[who]!PUBLISHED(p);
     /* announce() */
#ifndef M_NO_SUBMITTER_FENCE
     FENCE(who);
#endif
     d_step {
       if
       :: state == RUNNING -> g_trusted[p] = true; p = 255
       :: else
       fi
     }
     if
     :: p == 255
     :: else ->
#ifndef M_NO_KICK
        kick(who)
#else
        skip
#endif
     fi;
#ifdef M_COUNTED_LATE
     buffer[who]!SUBMITTED(0);
#endif
     d_step { p = 0; n++ }
  :: else -> break
  od;
  skip;
  d_step { FENCE(who); n = 0; g_submitting-- }
}

/* What this worker sees in `leaving`: its own store, while that is in the buffer. */
#ifdef WEAK
#define OWN_LEAVING false
#define LEAVING_WORD leaving
#define STORE_LEAVING(value) leaving = value
#else
#define BUFFERED(value) buffer[WORKER(who)]??[LEAVE, eval(value)]
#define OWN_LEAVING (BUFFERED(mine * 4) || BUFFERED(mine * 4 + NOW))
#define LEAVING_WORD                                                                               \
  (BUFFERED(mine * 4) -> mine * 4 : (BUFFERED(mine * 4 + NOW) -> mine * 4 + NOW : leaving))
#define STORE_LEAVING(value) buffer[WORKER(who)]!LEAVE(value)
#endif

/* vyre__all_done(), of the other worker; the own counts are equal while this one is idle. */
#if WORKERS == 1
#define ALL_DONE(no)
#else
#define ALL_DONE(no)                                                                               \
  v = done[1 - who];                                                                               \
  if                                                                                               \
  :: claims[1 - who] != v -> v = 0; goto no                                                        \
  :: else -> v = 0                                                                                 \
  fi;
#endif

/* vyre__work() */
proctype worker(byte who, mine)
{
  byte t, i, v, old, finished;
  finished = done[who];
  do
  :: true ->
     /* vyre__must_leave() */
     if
     :: stop -> break
     :: else
     fi;
     if
     :: LEAVING_WORD == mine * 4 + NOW -> break
     :: else
     fi;
     /* vyre__claim() */
     t = tail;
     if
     :: published[t] ->
        claims[who] = finished + 1;
        if
        :: atomic { tail == t -> tail++ }
           /* vyre__serve() */
           d_step {
             nfull(buffer[WORKER(who)]);
             assert(!g_served[t]);
             g_served[t] = true;
             finished++;
             buffer[WORKER(who)]!DONE(finished)
           }
        :: tail != t -> claims[who] = finished
        fi;
        goto next
     :: else
     fi;
     if
     :: true
     :: tail != t || published[t] || stop || leaving == mine * 4 + NOW -> goto next
     fi;
     /* vyre__try_to_leave() */
     old = LEAVING_WORD;
     if
     :: old / 4 == mine && old % 4 != 0 -> goto next /* another worker asks */
     :: else
     fi;
#ifndef M_LEAVE_WHILE_RUNNING
     ALL_DONE(next)
#endif
     if
     :: atomic { !OWN_LEAVING && leaving == old -> leaving = mine * 4 + ASKED }
     :: !OWN_LEAVING && leaving != old -> goto next
     fi;
     buffer[WORKER(who)]!STATE(LEAVING);
#ifndef M_NO_WORKER_FENCE
     FENCE(WORKER(who));
#endif
#ifndef M_LEAVE_WITHOUT_LOOK
     t = tail;
     if
     :: published[t] -> goto back
     :: else
     fi;
#ifndef M_LEAVE_WHILE_RUNNING
     ALL_DONE(back)
#endif
#endif
#ifndef LOSS_ONLY
     d_step {
       /* Nobody counts on this launch. */
       assert(!(g_trusted[tail] && published[tail]));
       do
       :: i < tail -> assert(!g_trusted[i] || g_served[i]); i++
       :: else -> break
       od;
       i = 0
     }
#endif
     STORE_LEAVING(mine * 4 + NOW);
     goto next;
back:
     buffer[WORKER(who)]!STATE(RUNNING);
     STORE_LEAVING(mine * 4);
next:
     skip;
     d_step { old = 0; t = 0 }
#ifdef RESIDENT
     if
     :: true
     :: true ->
        /* vyre__leave_now() */
        buffer[WORKER(who)]!STATE(LEAVING);
        STORE_LEAVING(mine * 4 + NOW)
     fi
#endif
  od;
  skip;
  /* The end of a launch makes its stores visible. */
  d_step { FENCE(WORKER(who)); finished = 0; alive-- }
}

/* vyre__engine_keeper() */
proctype keeper()
{
  byte e, i, sum;
  bool there = true;
  do
  :: true ->
     if
     :: there ->
        /* watch(), bury() */
#ifdef M_TRUST_LEAVING
        alive == 0 || state == LEAVING;
#else
        alive == 0;
#endif
        buffer[KEEPER]!STATE(ABSENT);
        there = false
     :: else
     fi;
     /* vyre__wake_prepare() */
     buffer[KEEPER]!SLEEPER_UP(0);
#ifndef M_NO_KEEPER_FENCE
     FENCE(KEEPER);
#endif
     e = epoch;
     if
     :: stopping -> buffer[KEEPER]!SLEEPER_DOWN(0); break
     :: else
     fi;
#ifndef M_KEEPER_DOES_NOT_LOOK
     /* vyre__engine_unfinished() */
     do
     :: i < WORKERS -> sum = sum + done[i]; i++
     :: else -> i = 0; break
     od;
     skip;
     d_step { there = (submitted != sum); sum = 0 }
#endif
     if
     :: there ->
        buffer[KEEPER]!SLEEPER_DOWN(0);
        /* vyre__engine_launch() */
        buffer[KEEPER]!STATE(RUNNING);
        atomic {
          FENCE(KEEPER);
          assert(alive == 0); /* two launches would share what one worker alone may write */
          e = 0;
          launch = 1 - launch;
          do
          :: i < WORKERS -> run worker(i, launch); alive++; i++
          :: else -> i = 0; break
          od
        }
     :: else ->
        /* vyre__wake_sleep() */
        d_step { FENCE(KEEPER) -> asleep = (epoch == e); e = 0 }
        !asleep;
        buffer[KEEPER]!SLEEPER_DOWN(0)
     fi
  od;
  skip;
  d_step { FENCE(KEEPER); e = 0 }
}

#if WORKERS == 1
#define SUM_DONE done[0]
#else
#define SUM_DONE (done[0] + done[1])
#endif

/* vyre_engine_stop(): what was accepted is waited for, then the launch is sent away. */
proctype stopper()
{
  g_submitting == 0 && SUM_DONE == submitted;
  stopping = true;
  stop = true;
  kick(STOPPER)
}

init
{
  byte i;
  atomic {
    state = RUNNING;
    launch = 1;
    do
    :: i < WORKERS -> run worker(i, launch); alive++; i++
    :: else -> break
    od;
    i = 0;
    do
    :: i < SUBMITTERS -> run submitter(i); i++
    :: else -> break
    od;
    i = 0;
    run keeper();
    run stopper()
  }
  _nr_pr == 1 + BUFFERS;
  d_step {
    do
    :: i < TOTAL -> assert(g_served[i]); i++
    :: else -> break
    od
  }
}
