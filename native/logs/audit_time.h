/* SPDX-License-Identifier: Apache-2.0 */
/* The times of server_audit's rows: `20261120 15:08:38`, those of server_audit_timestamp_format, and syslog's. */
#ifndef QT_AUDIT_TIME_H
#define QT_AUDIT_TIME_H

#include <stdint.h>

#include "base/span.h"

struct qt_audit_time {
    int64_t ns;      /* since the epoch; without a zone as if the local time were UTC */
    int64_t unit_ns; /* of its last digit; a second where its fraction is zero: MariaDB 12 has none of statements */
    int has_zone;
};

/* Year, month, day, hour, minute and second, in this order: digits alone, or with one kind of separator in the date and
 * colons in the time; the month by its English name, too. A fraction and a zone may follow. 15 digits and more are
 * microseconds since the epoch. 0 = it is no time from 1970 to 2199. */
int qt_audit_time(struct qt_span, struct qt_audit_time *);

#endif
