/* SPDX-License-Identifier: Apache-2.0 */
/* Files of every kind, and all that their readers tell of them. */
#ifndef QT_TEST_SOURCES_H
#define QT_TEST_SOURCES_H

#include "querytape.h"

struct source {
    const char *path;
    struct qt_reader *(*open)(const char *path, struct qt_error *);
    int is_packets;
};

extern const struct source SOURCES[];
extern const size_t N_SOURCES;

struct told {
    int code;
    uint64_t rows[3];   /* of events, problems, sessions */
    uint64_t values[3]; /* a hash of theirs, row by row; not of the words of a problem of libpcap */
    uint64_t events, problems, not_understood, bytes_parsed;
    char described[4000], message[512];
};

/* Reads a file to its end in parts of `max_rows`. */
void read_source(const struct source *, const char *path, uint64_t max_rows, struct told *out);

/* A file's bytes, unpacked; how many. */
size_t read_plain(const char *path, char *out, size_t room);

#define HASH_BEGIN UINT64_C(0xcbf29ce484222325)
uint64_t hash_more(uint64_t hash, const void *p, size_t n); /* FNV-1a */

#endif
