/* SPDX-License-Identifier: Apache-2.0 */
/* Drops root's privileges, once the interface is open. */
#ifndef QT_PRIVILEGES_H
#define QT_PRIVILEGES_H

#include "querytape.h"

/* As root: becomes `user`, or who called sudo (SUDO_UID); where neither is known, stays root without any capability but
 * that of writing files, in this thread and those that it starts. Not root: nothing. QT_EINVALID for an unknown
 * user. */
int qt_privileges_drop(const char *user, struct qt_error *);

#endif
