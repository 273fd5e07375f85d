/*
 * wake.pml - the eventcount: nobody stays asleep when what it waits for is there.
 *
 * Mirrors core/ring/wake.c and its uses: wait_for() in core/ring/wait.c, vyre__engine_wait_until(),
 * and vyre__tell() of the device's workers.  Each process has a store buffer, as on x86: a store
 * reaches memory some time later, in order.  Counts go through the buffer as increments, which is
 * what a relaxed read-modify-write may amount to on other processors.  A fence waits until the own
 * buffer is empty, and so does a system call.  No process reads back what it stored, so loads need
 * not look into the buffer.
 *
 * Each waker makes one thing.  Each sleeper waits for any thing and takes it (not_empty, not_full),
 * or for the thing with its own number (-D OWN: `completed`).  A lost wake-up is a sleeper that
 * stays asleep: an invalid end state.
 *
 * -D  SLEEPERS  how many sleepers, and wakers
 *     OWN       each sleeper waits for its own thing
 *     BARRIER   wakers have no fence: the sleeper has the kernel make a barrier on each of them
 *               (core/ring/barrier.c), one after the other and whenever it likes
 *     M_...     a mutant; docs/models.md lists them
 */
#ifndef SLEEPERS
#define SLEEPERS 2
#endif

mtype = { THING, WAITERS_UP, WAITERS_DOWN, EPOCH };

byte thing[SLEEPERS], epoch, waiters;
bool asleep[SLEEPERS]; /* the kernel's */

/* Sleepers come first. */
chan buffer[2 * SLEEPERS] = [3] of { mtype, byte };
#define FENCE(who) empty(buffer[who])

active [2 * SLEEPERS] proctype memory()
{
  byte i;
end:
  do
  :: atomic { buffer[_pid]?THING(i) -> thing[i] = 1; i = 0 }
  :: atomic { buffer[_pid]?WAITERS_UP(i) -> waiters++; i = 0 }
  :: atomic { buffer[_pid]?WAITERS_DOWN(i) -> waiters--; i = 0 }
  :: atomic { buffer[_pid]?EPOCH(i) -> epoch++; i = 0 }
  od
}

/* The caller's try: it takes the thing that it waits for, if that is there. */
inline attempt(ok)
{
  d_step {
#ifdef OWN
    ok = thing[who];
#else
    i = 0;
    do
    :: i < SLEEPERS && !thing[i] -> i++
    :: else -> break
    od;
    if
    :: i < SLEEPERS -> thing[i] = 0; ok = true
    :: else -> ok = false
    fi;
    i = 0
#endif
  }
}

proctype sleeper(byte who)
{
  byte i, e;
  bool ok;
  do
  :: true;
     attempt(ok);
     if
     :: ok -> break
     :: else
     fi;
     /* vyre__wake_prepare() */
#ifndef M_COUNTED_LATE
     buffer[who]!WAITERS_UP(0);
#endif
#ifndef M_NO_SLEEPER_FENCE
     FENCE(who);
#endif
#ifndef M_EPOCH_LATE
     e = epoch;
#endif
#if defined(BARRIER) && !defined(M_NO_BARRIER)
     do
     :: i < SLEEPERS -> FENCE(SLEEPERS + i); i++
     :: else -> break
     od;
     i = 0;
#endif
#ifndef M_NO_RECHECK
     attempt(ok);
#endif
#ifdef M_COUNTED_LATE
     buffer[who]!WAITERS_UP(0);
     FENCE(who);
#endif
     if
     :: ok -> buffer[who]!WAITERS_DOWN(0); break /* vyre__wake_cancel() */
     :: else
     fi;
#ifdef M_EPOCH_LATE
     e = epoch;
#endif
     /* vyre__wake_sleep(): the kernel compares the word and queues the caller in one step. */
     d_step { FENCE(who) -> asleep[who] = (epoch == e) }
     !asleep[who];
     e = 0;
     buffer[who]!WAITERS_DOWN(0)
  od;
  skip;
  d_step { ok = false; e = 0 }
}

proctype waker(byte who)
{
  byte i;
#ifndef M_WAKE_FIRST
  buffer[SLEEPERS + who]!THING(who);
#endif
  /* vyre__wake_all(), vyre__tell() */
#if !defined(M_NO_WAKER_FENCE) && !defined(BARRIER)
  FENCE(SLEEPERS + who);
#endif
  if
  :: waiters == 0
  :: else ->
#ifndef M_NO_EPOCH
     buffer[SLEEPERS + who]!EPOCH(0);
#endif
     d_step {
       FENCE(SLEEPERS + who);
       do
       :: i < SLEEPERS ->
#ifdef M_WAKE_ONE
          if
          :: asleep[i] -> asleep[i] = false; break
          :: else
          fi;
#else
          asleep[i] = false;
#endif
          i++
       :: else -> break
       od;
       i = 0
     }
  fi;
#ifdef M_WAKE_FIRST
  buffer[SLEEPERS + who]!THING(who)
#endif
}

init
{
  byte i;
  atomic {
    do
    :: i < SLEEPERS -> run sleeper(i); run waker(i); i++
    :: else -> break
    od;
    i = 0
  }
  _nr_pr == 1 + 2 * SLEEPERS;
  FENCE(0) && FENCE(1) && FENCE(2 * SLEEPERS - 1) && FENCE(SLEEPERS);
  assert(waiters == 0)
}
