/* SPDX-License-Identifier: Apache-2.0 */
/* Passes comprehensive conversations directly to decoders. Pieces of any size give the same output as whole segments.
 * Errors of the sink are returned for each call. Conversations are also altered, joined midway, incomplete or
 * compressed. The expected output is in inputs/decoder.txt. QT_GOLDEN=write writes it again. */
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#include "base/bytes.h"
#include "check.h"
#include "conversations.h"
#include "failing.h"
#include "test_normalize_util.h"

static struct talk talks[MOST_TALKS];
static size_t n_talks;

static void piece_size_does_not_change_the_decoded_events(void)
{
    uint64_t state = 7;
    struct run r;
    for (size_t t = 0; t < n_talks; t++) {
        uint64_t wanted = run_whole(&r, &talks[t], 0, NULL, 0);
        CHECK_INT(r.code, QT_OK);
        for (size_t most = 1; most < 40; most += case_step())
            CHECK(run_in_pieces(&r, &talks[t], most, NULL, &state) == wanted);
    }
}

static void error_of_the_sink_is_returned(void)
{
    for (size_t t = 0; t < n_talks; t++)
        for (size_t from = 0; from < talks[t].n; from += 7 * case_step())
            check_answers(&talks[t], from, NULL);
}

/* ---- altered conversations ---- */

static size_t alter(struct segment *s, uint64_t *state)
{
    static const uint8_t BYTES[] = {0,    1,    2,    3,    4,    5,    8,    9,    0x0A, 0x0C, 0x10, 0x16,
                                    0x17, 0x19, 0x20, 0x40, 0x7F, 0x80, 0xFA, 0xFB, 0xFC, 0xFD, 0xFE, 0xFF};
    size_t at = random_below(state, s->n < 24 || random_below(state, 3) == 0 ? s->n : 24);
    switch (random_below(state, 6)) {
    case 0:
        s->p[at] = (char)(s->p[at] + 1);
        break;
    case 1:
        s->p[at] = (char)(s->p[at] - 1);
        break;
    case 2:
        s->p[at] = (char)(s->p[at] ^ 1 << random_below(state, 8));
        break;
    case 3: /* the packet length is too small or too large */
        s->p[0] = (char)(s->p[0] + (int)random_below(state, 5) - 2);
        break;
    case 4: /* one byte is missing and the packet length is correct */
        memmove(s->p + at, s->p + at + 1, s->n - at - 1);
        s->n--;
        s->p[0]--;
        break;
    default:
        s->p[at] = (char)BYTES[random_below(state, sizeof BYTES)];
    }
    return at;
}

static uint64_t altered(uint64_t *state)
{
    static struct talk talk;
    struct run r;
    talk = talks[random_below(state, n_talks)];
    for (size_t n = 1 + random_below(state, 2); n > 0; n--)
        alter(&talk.segment[random_below(state, talk.n)], state);
    return run_whole(&r, &talk, 0, NULL, 0);
}

/* The capture begins at a random place, sometimes inside a segment. One of the next segments may be altered. */
static uint64_t midway(uint64_t *state)
{
    static struct talk talk;
    struct run r;
    talk = talks[random_below(state, n_talks)];
    size_t from = random_below(state, talk.n - 2), cut = random_below(state, 4) == 0 ? 1 + random_below(state, 6) : 0;
    if (random_below(state, 2))
        alter(&talk.segment[from + random_below(state, 2)], state);
    run_begin(&r, NULL, 1, (int)random_below(state, 4), 0);
    for (size_t i = from; i < talk.n; i++, cut = 0)
        if (cut < talk.segment[i].n)
            run_say(&r, talk.segment[i].way, talk.segment[i].p + cut, talk.segment[i].n - cut, i);
    return run_end(&r);
}

static uint64_t with_gaps(uint64_t *state)
{
    struct run r;
    return run_with_gaps(&r, &talks[random_below(state, n_talks)], NULL, state);
}

static size_t put_frame(char *out, const char *p, size_t n, int kind, uint64_t *state)
{
    uLongf packed = SEGMENT_ROOM;
    int stored = kind == 0 || random_below(state, 4) == 0;
    if (stored)
        memcpy(out + 7, p, packed = n);
    else if (kind == 1)
        CHECK(compress((Bytef *)out + 7, &packed, (const Bytef *)p, n) == Z_OK);
    else
        packed = ZSTD_compress(out + 7, SEGMENT_ROOM, p, n, 1);
    qt_put_le((uint8_t *)out, packed, 3);
    out[3] = 0;
    qt_put_le((uint8_t *)out + 4, stored ? 0 : n, 3);
    return packed + 7;
}

/* After the login all packets are in compression frames, which join and split packets. Frames arrive in pieces, and
 * some have a changed byte. */
static uint64_t packed(uint64_t *state)
{
    static struct talk talk;
    static char frame[2 * SEGMENT_ROOM];
    struct run r;
    talk = talks[random_below(state, n_talks)];
    int kind = 1 + (int)random_below(state, 2), hurt = random_below(state, 2) ? (int)random_below(state, talk.n) : -1;
    size_t caps = 4 + 1 + strlen(talk.segment[0].p + 5) + 1 + 4 + 9, from = random_below(state, 3) ? 0 : 5;
    if (kind == 1)
        talk.segment[0].p[caps] |= 0x20, talk.segment[1].p[4] |= 0x20;
    else
        talk.segment[0].p[caps + 8] |= 0x04, talk.segment[1].p[7] |= 0x04;
    run_begin(&r, NULL, from > 0, (int)random_below(state, 4), 0);
    for (size_t i = from; i < talk.n; i++) {
        struct segment *s = &talk.segment[i];
        if (i < 3) {
            run_say(&r, s->way, s->p, s->n, i);
            continue;
        }
        for (size_t at = 0, n; at < s->n; at += n) {
            n = random_below(state, 3) ? s->n - at : 1 + random_below(state, s->n - at);
            size_t size = put_frame(frame, s->p + at, n, kind, state), cut = random_below(state, size + 1);
            if ((int)i == hurt) {
                size_t where = random_below(state, size < 12 ? size : 12);
                frame[where] = (char)(frame[where] + (random_below(state, 2) ? 1 : -1));
            }
            frame[3] = (char)(s->way == QT_WAY_SERVER);
            run_say(&r, s->way, frame, cut, i);
            run_say(&r, s->way, frame + cut, size - cut, i);
        }
    }
    return run_end(&r);
}

/* Insufficient memory for the client address in a proxy header is reported as QT_ENOMEM. */
static void proxy_header_without_memory_is_reported(void)
{
    static const char header[] = "PROXY TCP4 192.168.100.77 10.1.2.3 51234 3306\r\n";
    struct run r;
    run_begin(&r, NULL, 0, 0, 0);
    failing_set(FAILING_MEMORY, 1);
    run_say(&r, QT_WAY_CLIENT, header, sizeof header - 1, 1);
    CHECK_INT(failing_stop(), 1);
    CHECK_INT(r.code, QT_ENOMEM);
    run_end(&r);
}

static void results_from_altered_conversations_have_valid_spans(void)
{
    static const way_to_alter WAYS[] = {altered, midway, with_gaps, packed};
    check_ways(WAYS, sizeof WAYS / sizeof *WAYS, 1200 / case_step());
}

int main(void)
{
    n_talks = read_talks("inputs/talks.pcap.xz", talks);
    RUN(piece_size_does_not_change_the_decoded_events);
    RUN(error_of_the_sink_is_returned);
    RUN(proxy_header_without_memory_is_reported);
    RUN(results_from_altered_conversations_have_valid_spans);
    return 0;
}
