/*
 * park.pml - a resident launch is parked for a call on the device, and comes back.
 *
 * Mirrors quiesce(), hold(), let_go(), vyre__site_{resume,join,part,enter,enter_wait,left}() in
 * core/device/site.c, leave() and go_on() in core/engine/park.c, the keeper in keeper.c, vyre__work()
 * and vyre__park() in engine_kernel.c, announce() in submit.c, a waiter in wait.c, and
 * vyre__engine_end_thread() in stop.c.  The ring is reduced to positions that are published and a
 * tail; engine_life.pml has more of the idle exit.
 *
 * A process is a loop of steps (`pc`), each an operation on shared memory.  Submitters, workers and
 * the keeper have store buffers as in wake.pml; holders and the stopper store nothing plainly.  The
 * mutex is a word; sections that nobody outside can see the middle of are one step.  A condition
 * variable is a mark of each waiter that a broadcast clears.  No sleep ends by its time limit: so
 * every wake-up has to come.  Only a hold may run out of patience (PATIENCE).
 *
 * What must hold: while a call is made on the held device no launch is there and none begins; every
 * submitted item is served, so a launch comes back after the last hold; a launch that is parked
 * leaves as a whole, and not behind the back of an item that was being run; the waiter, the stopper
 * and each holder come to their end.  (A worker that read the stop word just before the bit was set
 * may still claim once, while another one sends all away: that item is served, and the launch has
 * left behind it.)
 *
 * -D  ITEMS WORKERS HOLDERS HOLDS   items of the submitter; workers; holders, and holds of each
 *     PATIENCE                      a hold may be given up while the launch has not left
 *     WAITER                        somebody sleeps until every item is done
 *     GIVE_UP                       the engine is ended at any time, whatever is unfinished
 *     IDLE RESIDENT                 a launch may leave for idleness, or for max_resident_ms
 *     M_...                         a mutant; docs/models.md lists them
 */
#ifndef ITEMS
#define ITEMS 2
#endif
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef HOLDERS
#define HOLDERS 1
#endif
#ifndef HOLDS
#define HOLDS 1
#endif

#define ABSENT 0
#define RUNNING 1
#define LEAVING 2

#define ASKED 1
#define NOW 2

mtype = { SUBMITTED, PUBLISHED, STATE, DONE, LEAVE, SLEEPER_UP, SLEEPER_DOWN };

/* Buffers: the submitter, workers, the keeper. */
#define SUBMITTER 0
#define WORKER(w) (1 + (w))
#define KEEPER (1 + WORKERS)
#define BUFFERS (KEEPER + 1)
chan buffer[BUFFERS] = [2] of { mtype, byte };
#define FENCE(who) empty(buffer[who])
#define ROOM(who) nfull(buffer[who])

/* Host memory. */
byte head, submitted, state;
bool published[ITEMS + 1];
byte done[WORKERS];
bool stop, park; /* the stop word's bits */
bool stopping, has_ended;
byte epoch, sleepers; /* the keeper's wake word */
bool asleep;
/* The site. */
bool locked, joined, present;
byte holds;
bool waiting[HOLDERS + 1]; /* on the condition variable; the last one is the engine's */
/* Device memory. */
byte tail, leaving, claims[WORKERS];
/* The launch: workers that have not ended; its number, modulo 2. */
byte alive, launch;
bool begin[WORKERS];
#ifdef WAITER
bool told_asleep, told_waiters;
byte told_epoch;
#endif

byte g_inside, g_running;
bool g_served[ITEMS], g_submitting = true, g_over;

/* Where a process is; what it does next. */
#define START 1
#define PUBLISH 2
#define LOOK 3
#define KICK 4
#define HOME 5
#define STOP_WORD 6
#define MUST_LEAVE 7
#define PARK 8
#define PARK_CLAIMS 9
#define CLAIM 10
#define TAKE 11
#define EXCHANGE 12
#define SERVE 13
#define IDLE_OUT 14
#define IDLE_DONE 15
#define IDLE_CLAIMS 16
#define ASK 17
#define TELL_STATE 18
#define LOOK_AGAIN 19
#define DONE_AGAIN 20
#define CLAIMS_AGAIN 21
#define BACK 22
#define BACK_WORD 23
#define SEND_AWAY 24
#define LEAVE_STATE 25
#define ENTER 26
#define DISPATCH 27
#define WATCH 28
#define LEFT 29
#define PREPARE 30
#define EPOCH 31
#define STOPPING 32
#define SUM 33
#define SLEEP 34
#define ASLEEP 35
#define HOLD 36
#define AWAY 37
#define RESUME 38
#define UNLOCK 39
#define WAIT 40
#define END 41
#define ENDED 42

active [BUFFERS] proctype memory()
{
  byte i;
end:
  do
  :: atomic { buffer[_pid]?SUBMITTED(i) -> submitted++; i = 0 }
  :: atomic { buffer[_pid]?PUBLISHED(i) -> published[i] = true; i = 0 }
  :: atomic { buffer[_pid]?STATE(i) -> state = i; i = 0 }
  :: atomic { buffer[_pid]?DONE(i) -> done[_pid - 1] = i; i = 0 }
  :: atomic { buffer[_pid]?LEAVE(i) -> leaving = i; i = 0 }
  :: atomic { buffer[_pid]?SLEEPER_UP(i) -> sleepers++; i = 0 }
  :: atomic { buffer[_pid]?SLEEPER_DOWN(i) -> sleepers--; i = 0 }
  od
}

inline broadcast()
{
  b = 0;
  do
  :: b <= HOLDERS -> waiting[b] = false; b++
  :: else -> b = 0; break
  od
}

/* vyre__engine_kick() behind its fence. */
#define WAKE_KEEPER \
  if \
  :: sleepers > 0 -> epoch++; asleep = false \
  :: else \
  fi

/* ---- submit ---- */

proctype submitter()
{
  byte pc = START, p, n;
  do
  :: d_step {
       /* vyre__ring_reserve() */
       pc == START && ROOM(SUBMITTER) ->
       p = head; head++; buffer[SUBMITTER]!SUBMITTED(0); pc = PUBLISH
     }
  :: d_step { pc == PUBLISH && ROOM(SUBMITTER) -> buffer[SUBMITTER]!PUBLISHED(p); pc = LOOK }
  :: d_step {
       /* announce() */
       pc == LOOK && FENCE(SUBMITTER) -> pc = (state == RUNNING -> END : KICK)
     }
  :: d_step { pc == KICK && FENCE(SUBMITTER) -> WAKE_KEEPER; pc = END }
  :: d_step {
       pc == END -> n++; p = 0;
       if
       :: n == ITEMS -> pc = ENDED; n = 0; g_submitting = false
       :: else -> pc = START
       fi
     }
  :: pc == ENDED -> break
  od
}

/* ---- the device's workers ---- */

/* What this worker sees in `leaving`: its own store, while that is in the buffer. */
#define BUFFERED(value) buffer[WORKER(who)]??[LEAVE, eval(value)]
#define LEAVING_WORD                                                                               \
  (BUFFERED(mine * 4) -> mine * 4 : (BUFFERED(mine * 4 + NOW) -> mine * 4 + NOW : leaving))
#define OWN_LEAVING (BUFFERED(mine * 4) || BUFFERED(mine * 4 + NOW))

/* vyre__all_done() looks at the other worker; the own counts are equal while this one is idle. */
#define OTHER (WORKERS - 1 - who)

/* vyre__tell() */
#ifdef WAITER
#if defined(M_NO_TELL) || defined(M_WORKER_TELLS_NOT)
#define TELL(who) told_of = finished
#else
#define TELL(who) \
  if \
  :: told_of != finished && told_waiters -> told_epoch++; told_asleep = false \
  :: else \
  fi; \
  told_of = finished
#endif
/* The fence behind a result is waited for before the sleepers are looked at. */
#define CAN_TELL(who) (told_of == finished || FENCE(WORKER(who)))
#else
#define TELL(who) skip
#define CAN_TELL(who) true
#endif

proctype worker(byte who)
{
  byte pc = HOME, t, v, old, finished, mine;
  bool parked, busy; /* busy: ghost */
#ifdef WAITER
  byte told_of;
#endif
  do
  :: d_step {
       pc == HOME && begin[who] ->
       begin[who] = false; mine = launch; finished = done[who]; pc = STOP_WORD;
#ifdef WAITER
       told_of = finished
#endif
     }
  :: pc == HOME && g_over -> break
  :: d_step { pc == STOP_WORD -> parked = park; pc = (stop -> END : MUST_LEAVE) }
  :: d_step {
       pc == MUST_LEAVE && CAN_TELL(who) ->
       if
       :: LEAVING_WORD == mine * 4 + NOW -> pc = END
       :: LEAVING_WORD != mine * 4 + NOW && parked ->
          TELL(who);
#ifdef M_PARK_ALONE
          pc = END
#elif defined(M_PARK_WHILE_RUNNING)
          assert(g_running == 0);
          pc = LEAVE_STATE
#else
          pc = (WORKERS == 1 -> LEAVE_STATE : PARK)
#endif
       :: else -> pc = CLAIM
       fi;
       parked = false
     }
  /* vyre__park() */
  :: d_step { pc == PARK -> v = done[OTHER]; busy = (g_running > 0); pc = PARK_CLAIMS }
  :: d_step {
       pc == PARK_CLAIMS ->
       if
       :: claims[OTHER] == v -> assert(!busy); pc = LEAVE_STATE
       :: else -> pc = WAIT
       fi;
       v = 0; busy = false
     }
  :: d_step {
       /* It looks again and again; here, once something has changed. */
       pc == WAIT && (stop || !park || leaving == mine * 4 + NOW || claims[OTHER] == done[OTHER]) ->
       pc = STOP_WORD
     }
  /* vyre__leave_now() */
  :: d_step {
       pc == LEAVE_STATE && ROOM(WORKER(who)) -> buffer[WORKER(who)]!STATE(LEAVING); pc = SEND_AWAY
     }
  :: d_step {
       pc == SEND_AWAY && ROOM(WORKER(who)) ->
       buffer[WORKER(who)]!LEAVE(mine * 4 + NOW); pc = STOP_WORD
     }
  /* vyre__claim() */
  :: d_step { pc == CLAIM -> t = tail; pc = TAKE }
  :: d_step {
       pc == TAKE ->
       if
       :: published[t] -> claims[who] = finished + 1; pc = EXCHANGE
       :: else -> pc = IDLE_OUT
       fi
     }
  :: d_step {
       pc == EXCHANGE ->
       if
       :: tail == t -> tail++; g_running++; pc = SERVE
       :: else -> claims[who] = finished; t = 0; pc = STOP_WORD
       fi
     }
  /* vyre__serve(); an item may take any time. */
  :: d_step {
       pc == SERVE && ROOM(WORKER(who)) ->
       assert(!g_served[t]);
       g_served[t] = true; g_running--;
       finished++; buffer[WORKER(who)]!DONE(finished); t = 0; pc = STOP_WORD
     }
#ifdef RESIDENT
  :: d_step { (pc == CLAIM || pc == IDLE_OUT) && g_submitting -> t = 0; pc = LEAVE_STATE }
#endif
  :: d_step {
       pc == IDLE_OUT && CAN_TELL(who) &&
           (tail != t || published[t] || stop || park || leaving == mine * 4 + NOW) ->
       TELL(who); t = 0; pc = STOP_WORD
     }
#ifdef IDLE
  /* vyre__try_to_leave() */
  :: d_step {
       pc == IDLE_OUT && CAN_TELL(who) ->
       TELL(who); t = 0;
       old = LEAVING_WORD;
       if
       :: old / 4 == mine && old % 4 != 0 -> old = 0; pc = IDLE_DONE /* another worker asks */
       :: else -> pc = (WORKERS == 1 -> ASK : IDLE_CLAIMS)
       fi
     }
  :: d_step {
       pc == IDLE_DONE && (stop || park || leaving != mine * 4 + ASKED) -> pc = STOP_WORD
     }
  :: d_step { pc == IDLE_CLAIMS -> v = done[OTHER]; pc = DONE_AGAIN }
  :: d_step {
       pc == DONE_AGAIN ->
       if
       :: claims[OTHER] == v -> pc = ASK
       :: else -> old = 0; pc = STOP_WORD
       fi;
       v = 0
     }
  :: d_step {
       pc == ASK && !OWN_LEAVING ->
       if
       :: leaving == old -> leaving = mine * 4 + ASKED; pc = TELL_STATE
       :: else -> pc = STOP_WORD
       fi;
       old = 0
     }
  :: d_step {
       pc == TELL_STATE && ROOM(WORKER(who)) -> buffer[WORKER(who)]!STATE(LEAVING); pc = LOOK_AGAIN
     }
  :: d_step { pc == LOOK_AGAIN && FENCE(WORKER(who)) -> t = tail; pc = LOOK }
  :: d_step {
       pc == LOOK -> pc = (published[t] -> BACK : (WORKERS == 1 -> LEFT : DONE)); t = 0
     }
  :: d_step { pc == DONE -> v = done[OTHER]; pc = CLAIMS_AGAIN }
  :: d_step { pc == CLAIMS_AGAIN -> pc = (claims[OTHER] == v -> LEFT : BACK); v = 0 }
  :: d_step { pc == LEFT && ROOM(WORKER(who)) -> buffer[WORKER(who)]!LEAVE(mine * 4 + NOW); pc = STOP_WORD }
  :: d_step {
       pc == BACK && ROOM(WORKER(who)) -> buffer[WORKER(who)]!STATE(RUNNING); pc = BACK_WORD
     }
  :: d_step {
       /* An exchange, with release. */
       pc == BACK_WORD && FENCE(WORKER(who)) ->
       leaving = (leaving == mine * 4 + ASKED -> mine * 4 : leaving); pc = STOP_WORD
     }
#endif
  :: d_step {
       /* The end of a launch makes its stores visible. */
       pc == END && FENCE(WORKER(who)) ->
       TELL(who);
       assert(stop || leaving == mine * 4 + NOW); /* all leave, or none */
       finished = 0; mine = 0; t = 0; alive--; pc = HOME;
#ifdef WAITER
       told_of = 0
#endif
     }
  od
}

/* ---- the keeper ---- */

#if WORKERS == 1
#define SUM_DONE done[0]
#else
#define SUM_DONE (done[0] + done[1])
#endif

proctype keeper()
{
  byte pc = START, e, b, sum;
#ifdef WAITER
  byte told_of;
#endif
  do
  /* vyre_engine_start(): vyre__site_join(), then vyre__site_enter_wait() and the first launch. */
  :: d_step { pc == START && !locked -> joined = true; park = (holds > 0); pc = ENTER }
  :: d_step {
       pc == ENTER && !locked && !waiting[HOLDERS] ->
       if
       :: holds > 0 -> waiting[HOLDERS] = true
       :: else -> present = true; pc = DISPATCH
       fi
     }
  /* vyre__engine_launch() */
  :: d_step {
       pc == DISPATCH && ROOM(KEEPER) -> buffer[KEEPER]!STATE(RUNNING); pc = WATCH
     }
  :: d_step {
       pc == WATCH && FENCE(KEEPER) ->
       assert(g_inside == 0); /* the device is held, and a launch begins */
       assert(alive == 0);
       launch = 1 - launch;
       b = 0;
       do
       :: b < WORKERS -> begin[b] = true; alive++; b++
       :: else -> b = 0; break
       od;
       pc = RESUME
     }
#ifdef WAITER
  /* watch(): completions before a long item; and those before the end. */
  :: d_step {
       pc == RESUME && SUM_DONE != told_of ->
       told_of = SUM_DONE;
#ifndef M_NO_TELL
       if
       :: told_waiters -> told_epoch++; told_asleep = false
       :: else
       fi
#endif
     }
#endif
  /* bury() */
  :: d_step {
#ifdef WAITER
       pc == RESUME && SUM_DONE == told_of && ROOM(KEEPER) &&
#else
       pc == RESUME && ROOM(KEEPER) &&
#endif
#ifdef M_TRUST_LEAVING
           (alive == 0 || state == LEAVING) ->
#else
           alive == 0 ->
#endif
       buffer[KEEPER]!STATE(ABSENT); pc = LEFT
     }
  :: d_step {
       /* vyre__site_left() */
       pc == LEFT && !locked ->
       present = false;
#ifndef M_NO_BROADCAST
       broadcast();
#endif
       pc = PREPARE
     }
  /* vyre__wake_prepare() */
  :: d_step { pc == PREPARE && ROOM(KEEPER) -> buffer[KEEPER]!SLEEPER_UP(0); pc = EPOCH }
#ifdef M_NO_KEEPER_FENCE
  :: d_step { pc == EPOCH -> e = epoch; pc = STOPPING }
#else
  :: d_step { pc == EPOCH && FENCE(KEEPER) -> e = epoch; pc = STOPPING }
#endif
  :: d_step { pc == STOPPING -> pc = (stopping -> END : SUM) }
  :: d_step {
       /* vyre__engine_unfinished(); the counts one by one make no difference: they only grow. */
       pc == SUM -> pc = (submitted == SUM_DONE -> SLEEP : HOLD)
     }
  /* vyre__site_enter() */
#ifdef M_ENTER_APART
  :: d_step { pc == HOLD && !locked -> pc = (holds > 0 -> SLEEP : LOOK) }
  :: d_step { pc == LOOK && !locked -> present = true; pc = AWAY }
#else
  :: d_step {
       pc == HOLD && !locked ->
#ifdef M_ENTER_HELD
       present = true; pc = AWAY
#else
       if
       :: holds > 0 -> pc = SLEEP
       :: else -> present = true; pc = AWAY
       fi
#endif
     }
#endif
  :: d_step { pc == AWAY && ROOM(KEEPER) -> buffer[KEEPER]!SLEEPER_DOWN(0); e = 0; pc = DISPATCH }
  :: d_step {
       /* vyre__wake_sleep(): the kernel compares the word and queues the caller in one step. */
       pc == SLEEP && FENCE(KEEPER) -> asleep = (epoch == e); e = 0; pc = ASLEEP
     }
  :: d_step {
       pc == ASLEEP && !asleep && ROOM(KEEPER) -> buffer[KEEPER]!SLEEPER_DOWN(0); pc = PREPARE
     }
  :: d_step {
       /* vyre__engine_thread_ended() */
       pc == END && FENCE(KEEPER) ->
       e = 0; sleepers--; has_ended = true; pc = ENDED;
#ifdef WAITER
       told_of = 0
#endif
     }
  :: pc == ENDED -> break
  od
}

/* ---- whoever makes a call on the device ---- */

#ifdef M_HOLDS_NOT_COUNTED
#define HOLD_ONCE_MORE holds = 1
#else
#define HOLD_ONCE_MORE holds++
#endif

/* let_go(), under the lock. */
inline let_go()
{
#ifdef M_HOLDS_NOT_COUNTED
  holds = 0;
#else
  holds--;
#endif
  if
  :: holds == 0 && joined ->
     locked = true; park = false;
#ifdef M_BITS_STORED
     stop = false;
#endif
#ifdef M_NO_KICK
     pc = UNLOCK
#else
     pc = KICK
#endif
  :: holds == 0 && !joined -> broadcast(); pc = END
  :: else -> pc = END
  fi
}

proctype holder(byte who)
{
  byte pc = START, n, b;
  do
  /* quiesce() */
  :: d_step {
       pc == START && !locked ->
       HOLD_ONCE_MORE;
       park = (joined -> true : park);
#ifdef M_NO_WAIT
       pc = AWAY
#else
       pc = (present -> WAIT : AWAY);
       waiting[who] = present
#endif
     }
  :: d_step {
       pc == WAIT && !locked && !waiting[who] ->
       pc = (present -> WAIT : AWAY);
       waiting[who] = present
     }
#ifdef PATIENCE
  :: d_step { pc == WAIT && !locked && present -> waiting[who] = false; let_go() }
#endif
  /* The call is made. */
  :: d_step { pc == AWAY -> assert(alive == 0); g_inside++; pc = RESUME }
  /* vyre__site_resume() */
  :: d_step { pc == RESUME && !locked -> g_inside--; let_go() }
  :: d_step { pc == KICK -> WAKE_KEEPER; pc = UNLOCK }
  :: d_step { pc == UNLOCK -> broadcast(); locked = false; pc = END }
  :: d_step {
       pc == END ->
       n++;
       if
       :: n == HOLDS -> n = 0; pc = ENDED
       :: else -> pc = START
       fi
     }
  :: pc == ENDED -> break
  od
}

/* ---- waiting, and ending ---- */

#ifdef WAITER
/* vyre__engine_wait_until(); wake.pml has its store buffer. */
proctype waiter()
{
  byte pc = START, e;
  do
  :: d_step { pc == START -> told_waiters = true; e = told_epoch; pc = LOOK }
  :: d_step { pc == LOOK -> pc = (SUM_DONE == ITEMS -> END : SLEEP) }
  :: d_step { pc == SLEEP -> told_asleep = (told_epoch == e); e = 0; pc = ASLEEP }
  :: d_step { pc == ASLEEP && !told_asleep -> told_waiters = false; pc = START }
  :: d_step { pc == END -> told_waiters = false; e = 0; pc = ENDED }
  :: pc == ENDED -> break
  od
}
#endif

/* vyre_engine_stop(), vyre_engine_destroy() */
proctype stopper()
{
  byte pc = START, b;
  do
#ifdef GIVE_UP
  :: d_step { pc == START && joined -> stopping = true; pc = LOOK }
#else
  :: d_step { pc == START && !g_submitting && SUM_DONE == submitted -> stopping = true; pc = LOOK }
#endif
  :: d_step { pc == LOOK -> stop = true; pc = KICK }
#ifdef M_STOP_WITHOUT_KICK
  :: d_step { pc == KICK -> pc = WAIT }
#else
  :: d_step { pc == KICK -> WAKE_KEEPER; pc = WAIT }
#endif
  :: d_step { pc == WAIT && has_ended -> pc = LEFT }
  /* vyre__site_part() */
  :: d_step { pc == LEFT && !locked -> joined = false; g_over = true; broadcast(); pc = ENDED }
  :: pc == ENDED -> break
  od
}

init
{
  byte i;
  atomic {
    do
    :: i < WORKERS -> run worker(i); i++
    :: else -> i = 0; break
    od;
    do
    :: i < HOLDERS -> run holder(i); i++
    :: else -> i = 0; break
    od;
#ifdef WAITER
    run waiter();
#endif
    run submitter();
    run stopper();
    run keeper()
  }
  _nr_pr == 1 + BUFFERS;
  assert(alive == 0 && holds == 0 && !present && sleepers == 0);
#ifndef GIVE_UP
  d_step {
    do
    :: i < ITEMS -> assert(g_served[i]); i++
    :: else -> break
    od
  }
#endif
}
