/*
 * answer.h - the small kernel of the cases about kernel code, and how a load is refused.
 */
#ifndef VYRE_CONFORMANCE_CASES_ANSWER_H
#define VYRE_CONFORMANCE_CASES_ANSWER_H

#include "conformance/steps.h"

const vyre_backend_format *conform_format_at(const vyre_backend *b, uint32_t index);

/* One kernel, "answer": out[i] = i * `factor` + `term`.  Valid until the next call. */
const char *conform_answer_text(uint32_t factor, uint32_t term);
void conform_check_answer(conform *c, vyre_backend_kernel *kernel, uint32_t factor, uint32_t term);

/* A module of vyre-c with those bytes. */
vyre_module_desc conform_plain_desc(char *whole, uint64_t size);

/* Refused with that code, nothing stored, nothing left; out_text (may be NULL) gets the message. */
void conform_refuse_module(conform *c, const vyre_module_desc *desc, vyre_status code,
                           vyre_status other, char *out_text);

#endif
