/* SPDX-License-Identifier: Apache-2.0 */
/* TCP that is skipped: which ports, and which of them look like MySQL. */
#ifndef QT_OTHER_PORTS_H
#define QT_OTHER_PORTS_H

#include "base/json.h"
#include "packets/frame.h"

enum { QT_OTHER_PORTS = 16 };

struct qt_other_ports { /* zero at first */
    struct {
        uint16_t port;
        uint8_t looks; /* enum in other_ports.c */
        uint64_t segments;
    } ports[QT_OTHER_PORTS]; /* those beyond it only count */
    int n;
    uint64_t segments;
};

void qt_other_ports_take(struct qt_other_ports *, const struct qt_segment *);
void qt_other_ports_describe(const struct qt_other_ports *, struct qt_json *);

#endif
