/* SPDX-License-Identifier: Apache-2.0 */
/* A CALL as a server's log has it: with the values of its OUT and INOUT arguments, which the server does not take. */
#ifndef QT_CALL_VARIABLES_H
#define QT_CALL_VARIABLES_H

#include "base/bytes.h"

#define QT_ER_NOT_A_VARIABLE 1414 /* ER_SP_NOT_VAR_ARG: nothing of the routine has run */

/* Writes "SET @querytape_1=..., ..." of the arguments that are no variables, and the CALL with these in their place.
 * 0; 1 = the text is no single CALL with such arguments, or another sql_mode reads it differently; -1 = out of
 * memory. */
int qt_call_with_variables(struct qt_bytes *set, struct qt_bytes *call, const char *sql, size_t len);

#endif
