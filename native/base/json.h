/* SPDX-License-Identifier: Apache-2.0 */
/* Writes one JSON object with texts and numbers into memory of a fixed size. The object holds the few properties that a
 * capture source reports. */
#ifndef QT_JSON_H
#define QT_JSON_H

#include <stddef.h>
#include <stdint.h>

/* If the memory is too small, members that do not fit are left out. The object stays well-formed. */
struct qt_json {
    char *out;
    size_t room, len;
    int members;
};

void qt_json_begin(struct qt_json *, char *out, size_t room); /* room: at least 3 bytes */
void qt_json_text(struct qt_json *, const char *key, const char *p,
                  size_t len); /* p NULL = null; bytes from 127 on become U+00xx */
void qt_json_int(struct qt_json *, const char *key, int64_t value);
void qt_json_end(struct qt_json *);

/* Returns whether a byte must be escaped inside a JSON string. Used by code that builds JSON texts itself. */
static inline int qt_json_must_escape(unsigned char c) { return c < 0x20 || c == '"' || c == '\\'; }
/* Writes the escape sequence of a byte. The sequence needs QT_JSON_ESCAPE bytes including the NUL. Returns the length
 * without the NUL. */
enum { QT_JSON_ESCAPE = 7 };
size_t qt_json_escape(char *to, unsigned char c);

/* Finds the end of a JSON object, or the byte where it stops being valid JSON. The input may arrive in pieces of any
 * size. */

enum { QT_JSON_DEPTH = 128 }; /* maximum nesting; deeper objects are treated as damaged */

struct qt_json_scan {
    char inside[QT_JSON_DEPTH]; /* the open brackets */
    int depth;
    unsigned may; /* set of the tokens that are allowed next */
    int in_string, escaped;
};

/* Returns whether at least one JSON reader treats the byte as white space. */
static inline int qt_json_is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
void qt_json_scan_begin(struct qt_json_scan *);
/* Continues with the next n bytes. The first byte of the input must be the object's opening bracket. Returns 1 if the
 * object ends after *used bytes, and 0 if more bytes are needed. Returns -1 if the last of *used bytes makes the object
 * invalid JSON. Numbers and words are not validated. A newline inside a string is invalid. */
int qt_json_scan(struct qt_json_scan *, const char *p, size_t n, size_t *used);

#endif
