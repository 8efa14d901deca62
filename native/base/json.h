/* SPDX-License-Identifier: Apache-2.0 */
/* One JSON object of texts and numbers, written into memory of a given size: for the few facts that a source tells. */
#ifndef QT_JSON_H
#define QT_JSON_H

#include <stddef.h>
#include <stdint.h>

/* Too little room: members that do not fit are left out; the object stays well-formed. */
struct qt_json {
    char *out;
    size_t room, len;
    int members;
};

void qt_json_begin(struct qt_json *, char *out, size_t room); /* room: at least 3 */
void qt_json_text(struct qt_json *, const char *key, const char *p,
                  size_t len); /* p NULL = null; bytes above 127 as U+00xx */
void qt_json_int(struct qt_json *, const char *key, int64_t value);
void qt_json_end(struct qt_json *);

/* For texts that are put together elsewhere: may this byte not be as it is inside a JSON string? */
static inline int qt_json_must_escape(unsigned char c) { return c < 0x20 || c == '"' || c == '\\'; }
/* Writes its escape, QT_JSON_ESCAPE bytes with the NUL; returns how many without it. */
enum { QT_JSON_ESCAPE = 7 };
size_t qt_json_escape(char *to, unsigned char c);

/* Finds where an object of JSON ends, or where it stops to be JSON, in whatever pieces its bytes come. */

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
