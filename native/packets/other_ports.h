/* SPDX-License-Identifier: Apache-2.0 */
/* Counts skipped TCP segments per port, and finds ports that look like MySQL. */
#ifndef QT_OTHER_PORTS_H
#define QT_OTHER_PORTS_H

#include "base/json.h"
#include "packets/frame.h"

enum { QT_OTHER_PORTS = 16 };

struct qt_other_ports { /* must be zeroed before the first use */
    struct {
        uint16_t port;
        uint8_t looks; /* detected protocol, an enum in other_ports.c */
        uint64_t segments;
    } ports[QT_OTHER_PORTS]; /* if the array is full, further ports are not listed */
    int n;
    uint64_t segments;
};

void qt_other_ports_take(struct qt_other_ports *, const struct qt_segment *);
void qt_other_ports_describe(const struct qt_other_ports *, struct qt_json *);

#endif
