/* SPDX-License-Identifier: Apache-2.0 */
/* Finds where an object of JSON ends, or where it stops to be JSON, in whatever pieces its bytes come. */
#ifndef QT_JSON_SCAN_H
#define QT_JSON_SCAN_H

#include <stddef.h>

enum { QT_JSON_DEPTH = 128 }; /* of what is nested; deeper objects are taken for damaged ones */

struct qt_json_scan {
    char inside[QT_JSON_DEPTH]; /* the brackets that are open */
    int depth;
    unsigned may; /* what may come next */
    int in_string, escaped;
};

/* White space to some reader of JSON. */
static inline int qt_json_is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
void qt_json_scan_begin(struct qt_json_scan *);
/* Goes on with n bytes, the object's first bracket first. 1 = the object ends after *used of them, 0 = it needs more,
 * -1 = after *used of them it is none. Numbers and words are not looked into. A string cannot hold a newline. */
int qt_json_scan(struct qt_json_scan *, const char *p, size_t n, size_t *used);

#endif
