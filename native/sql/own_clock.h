/* SPDX-License-Identifier: Apache-2.0 */
/* SET timestamp: finds sessions that set their own clock and sessions that return to the server's clock. */
#ifndef QT_OWN_CLOCK_H
#define QT_OWN_CLOCK_H

#include "base/bytes.h"

/* Returns 1 if a text with QT_F_TIMESTAMP returns to the server's clock with 0 or DEFAULT. The last value counts. */
int qt_gives_clock_back(struct qt_span text);

#endif
