/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded conversations, handed to decoders directly, and all that is told of them as one number. */
#ifndef QT_TEST_CONVERSATIONS_H
#define QT_TEST_CONVERSATIONS_H

#include "protocol/decoder.h"

enum { MOST_TALKS = 5, MOST_SEGMENTS = 128, SEGMENT_ROOM = 4096, FIRST_PORT = 40000, STOPPED = 77 };

struct segment {
    enum qt_way way;
    size_t n;
    char p[SEGMENT_ROOM];
};

struct talk {
    size_t n;
    struct segment segment[MOST_SEGMENTS];
};

/* Reads the conversations of a capture file, a client's port each from FIRST_PORT on; how many there are. */
size_t read_talks(const char *path, struct talk *talks);

/* What a decoder tells, and when the sink says no. */
struct listener {
    uint64_t hash;
    long calls, stops_at;
    int knows; /* of connections that are joined: 1 the schema, 2 the account, 3 both */
};

struct run {
    struct listener listener;
    struct qt_parameter_types *types;
    struct qt_tls_log *keys; /* the caller's; NULL = none */
    struct qt_decoder *decoder;
    int code;
};

/* `stops_at`: the sink's call that is answered with STOPPED; 0 = none. */
void run_begin(struct run *, struct qt_tls_log *keys, int midway, int knows, long stops_at);
/* What is said behind a call that failed is not handed on. */
void run_say(struct run *, enum qt_way, const char *p, size_t n, size_t number);
void run_skip(struct run *, enum qt_way, size_t lost, size_t number);
uint64_t run_end(struct run *);
/* All of a talk from a segment on. */
uint64_t run_whole(struct run *, const struct talk *, size_t from, struct qt_tls_log *keys, long stops_at);
/* The same with its segments in random pieces of at most `most` bytes. */
uint64_t run_in_pieces(struct run *, const struct talk *, size_t most, struct qt_tls_log *keys, uint64_t *state);
/* Each answer of a sink that is not QT_OK, at each single call, is handed back at once. */
void check_answers(const struct talk *, size_t from, struct qt_tls_log *keys);
/* Bytes that were never seen, once or twice. */
uint64_t run_with_gaps(struct run *, const struct talk *, struct qt_tls_log *keys, uint64_t *state);

/* What is told of altered talks has its place in them; many runs of each way to alter. */
typedef uint64_t (*way_to_alter)(uint64_t *state);
void check_ways(const way_to_alter *ways, size_t n_ways, int runs);

#endif
