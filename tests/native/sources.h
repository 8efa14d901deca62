/* SPDX-License-Identifier: Apache-2.0 */
/* Input files of every kind, and the complete output of their readers. */
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
    uint64_t rows[3];   /* number of events, problems and sessions */
    uint64_t values[3]; /* row hashes of events, problems and sessions, without libpcap's texts */
    uint64_t events, problems, not_understood, bytes_parsed;
    char described[4000], message[512];
};

/* Reads a file to its end, in parts of at most `max_rows` rows. */
void read_source(const struct source *, const char *path, uint64_t max_rows, struct told *out);

/* Reads and unpacks a file. Returns its number of bytes. */
size_t read_plain(const char *path, char *out, size_t room);

#define HASH_BEGIN UINT64_C(0xcbf29ce484222325)
uint64_t hash_more(uint64_t hash, const void *p, size_t n); /* FNV-1a */

#endif
