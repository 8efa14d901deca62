/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded conversations that are passed directly to decoders. The decoder output is condensed into one hash. */
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

/* Reads the conversations of a capture file and returns their number. Each conversation has its own client port,
 * counted from FIRST_PORT. */
size_t read_talks(const char *path, struct talk *talks);

/* Hashes the output of a decoder. The sink fails at call `stops_at`. */
struct listener {
    uint64_t hash;
    long calls, stops_at;
    int knows; /* known fields if joined midway: 1 schema, 2 account, 3 both */
};

struct run {
    struct listener listener;
    struct qt_parameter_types *types;
    struct qt_tls_log *keys; /* owned by the caller; NULL = none */
    struct qt_decoder *decoder;
    int code;
};

/* `stops_at`: the number of the sink call that returns STOPPED. 0 = none. */
void run_begin(struct run *, struct qt_tls_log *keys, int midway, int knows, long stops_at);
/* Passes bytes to the decoder. Bytes after a failed call are ignored. */
void run_say(struct run *, enum qt_way, const char *p, size_t n, size_t number);
void run_skip(struct run *, enum qt_way, size_t lost, size_t number);
uint64_t run_end(struct run *);
/* Decodes a whole conversation, starting at segment `from`. Returns the hash of the output. */
uint64_t run_whole(struct run *, const struct talk *, size_t from, struct qt_tls_log *keys, long stops_at);
/* Like run_whole, but with the segments split into random pieces of at most `most` bytes. */
uint64_t run_in_pieces(struct run *, const struct talk *, size_t most, struct qt_tls_log *keys, uint64_t *state);
/* Checks that the decoder returns each error of the sink at once, for each sink call. */
void check_answers(const struct talk *, size_t from, struct qt_tls_log *keys);
/* Decodes a conversation with missing bytes at one or two random places. */
uint64_t run_with_gaps(struct run *, const struct talk *, struct qt_tls_log *keys, uint64_t *state);

/* Runs each way to alter a conversation `runs` times. The decoder must report a valid location for all events and
 * problems. */
typedef uint64_t (*way_to_alter)(uint64_t *state);
void check_ways(const way_to_alter *ways, size_t n_ways, int runs);

#endif
