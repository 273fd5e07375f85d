/*
 * trial_layout.h - what trial.c and the kernel in trial_kernel.c share: words of 32 bits in
 * coherent memory.  Each part has a line of its own.  Also a part of the kernel's text.
 */
#ifndef VYRE_GPU_TRIAL_LAYOUT_H
#define VYRE_GPU_TRIAL_LAYOUT_H

#define VYRE__TRIAL_ASKED 0u  /* 64 bits, the host's: the round; VYRE__TRIAL_END: go */
#define VYRE__TRIAL_GIVEN 32u /* what comes with it */
#define VYRE__TRIAL_WAITS                                                                          \
  64u /* the kernel's: the round that it waits for, the rounds before are answered */
#define VYRE__TRIAL_ANSWER 96u /* what comes with it */
#define VYRE__TRIAL_WORDS 128u /* in all */
#define VYRE__TRIAL_DATA 16u   /* words given and answered */
#define VYRE__TRIAL_ROUNDS 4u  /* more than one: what was read once may lie in a cache */
#define VYRE__TRIAL_END 0xffffu

/* A kernel that is not answered ends by itself, and all the sooner where its clock stands. */
#define VYRE__TRIAL_NS 2000000000u
#define VYRE__TRIAL_LOOKS 4000000u

#define VYRE__TRIAL_VALUE(round, k) ((round)*0x9e3779b1u + (k)*0x85ebca77u)
#define VYRE__TRIAL_ANSWER_OF(given, round) ((given)*3u + (round))

#endif
