/* SPDX-License-Identifier: Apache-2.0 */
/* Server logs record a CALL with the values of its OUT and INOUT arguments. The server accepts only variables for these
 * arguments, so this file replaces the values with variables. */
#ifndef QT_CALL_VARIABLES_H
#define QT_CALL_VARIABLES_H

#include "base/bytes.h"

#define QT_ER_NOT_A_VARIABLE 1414 /* ER_SP_NOT_VAR_ARG: the server did not run the routine */

/* Writes "SET @querytape_1=..., ..." for the arguments that are not variables, and the CALL with these variables as
 * arguments. Returns 0 on success and -1 when out of memory. Returns 1 if the text is not a single CALL with such
 * arguments, or if another sql_mode reads the text differently. */
int qt_call_with_variables(struct qt_bytes *set, struct qt_bytes *call, const char *sql, size_t len);

#endif
