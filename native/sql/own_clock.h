/* SPDX-License-Identifier: Apache-2.0 */
/* SET timestamp: a session that gave itself a clock, and one that takes the server's again. */
#ifndef QT_OWN_CLOCK_H
#define QT_OWN_CLOCK_H

#include "base/bytes.h"

/* Does a text with QT_F_TIMESTAMP give the session the server's clock back, by 0 or DEFAULT? The last value counts. */
int qt_gives_clock_back(struct qt_span text);

#endif
