/* SPDX-License-Identifier: Apache-2.0 */
/* Passes conversations under TLS 1.2 (GCM, CBC with the MAC last and first, ChaCha20) and TLS 1.3 directly to decoders.
 * Pieces of any size give the same output as whole segments. Errors of the sink are returned. Conversations may be
 * altered, have missing bytes, or get their secrets late. The expected output is in inputs/encrypted.txt.
 * QT_GOLDEN=write writes the expected output again. */
#include "protocol/encrypted.h"

#include <stdio.h>

#include "check.h"
#include "conversations.h"
#include "test_normalize_util.h"

static struct talk talks[MOST_TALKS];
static size_t n_talks;
static struct qt_tls_log *keys;
static char key_lines[8192];

static void piece_size_does_not_change_the_decoded_events(void)
{
    uint64_t state = 7;
    struct run r;
    for (size_t t = 0; t < n_talks; t++) {
        uint64_t wanted = run_whole(&r, &talks[t], 0, keys, 0);
        CHECK_INT(r.code, QT_OK);
        CHECK(r.listener.calls > 10);
        for (size_t most = 1; most < 3000; most = most * 3 / 2 + 1)
            CHECK(run_in_pieces(&r, &talks[t], most, keys, &state) == wanted);
    }
}

static void error_of_the_sink_is_returned(void)
{
    for (size_t t = 0; t < n_talks; t++)
        check_answers(&talks[t], 0, keys);
}

static uint64_t altered(uint64_t *state)
{
    static struct talk talk;
    struct run r;
    talk = talks[random_below(state, n_talks)];
    size_t which = random_below(state, random_below(state, 3) ? talk.n : 8);
    struct segment *s = &talk.segment[which < talk.n ? which : 0];
    size_t at = random_below(state, random_below(state, 2) && s->n > 60 ? 60 : s->n);
    switch (random_below(state, 4)) {
    case 0:
        s->p[at] = (char)(s->p[at] ^ 1 << random_below(state, 8));
        break;
    case 1:
        s->p[at] = (char)(s->p[at] + (random_below(state, 2) ? 1 : -1));
        break;
    case 2:
        s->n = at;
        break;
    default:
        *s = talk.segment[random_below(state, talk.n)];
    }
    return run_whole(&r, &talk, 0, keys, 0);
}

static uint64_t with_gaps(uint64_t *state)
{
    struct run r;
    return run_with_gaps(&r, &talks[random_below(state, n_talks)], keys, state);
}

/* The secrets arrive while records are waiting, all at once or a few bytes at a time, or never. */
static uint64_t late(uint64_t *state)
{
    const struct talk *talk = &talks[random_below(state, n_talks)];
    size_t n = strlen(key_lines), when = random_below(state, talk->n + 4), given = 0;
    int slowly = (int)random_below(state, 2);
    struct qt_tls_lines lines = {.n = 0};
    struct qt_tls_log *log = qt_tls_log_new();
    struct run r;
    CHECK(log != NULL);
    qt_tls_log_set_grows(log);
    run_begin(&r, log, 0, 0, 0);
    for (size_t i = 0; i < talk->n; i++) {
        run_say(&r, talk->segment[i].way, talk->segment[i].p, talk->segment[i].n, i);
        if (i < when || given == n)
            continue;
        size_t some = slowly && n - given > 200 ? 1 + random_below(state, 200) : n - given;
        CHECK_INT(qt_tls_log_take(log, &lines, key_lines + given, some), 0);
        given += some;
    }
    uint64_t hash = run_end(&r);
    struct qt_tls_log_counts counts;
    qt_tls_log_count(log, &counts);
    qt_tls_lines_end(&lines);
    qt_tls_log_free(log);
    return hash + counts.waiting * 3 + counts.connections * 5 + counts.bad_lines * 7;
}

static void tls_records_are_detected_by_their_lengths(void)
{
    static const size_t LENGTHS[] = {0, 1, 16, 17, 18, 255, 256, 257, 18431, 18432, 18433, 65535};
    static uint8_t p[70000 * 2];
    for (size_t i = 0; i < sizeof LENGTHS / sizeof *LENGTHS; i++)
        for (size_t more = 0; more < 3; more++) {
            size_t len = LENGTHS[i], size = 5 + len, is_record = len >= 17 && len <= 18432;
            const uint8_t header[] = {23, 3, (uint8_t)(more + 1), (uint8_t)(len >> 8), (uint8_t)len};
            memcpy(p, header, 5);
            memcpy(p + size, header, 5);
            for (size_t n = 0; n <= 2 * size;
                 n += n < 8 || (n > size - 3 && n < size + 8) || n + 9 > 2 * size ? 1 : 7) {
                size_t left = n <= size ? n : n - size;
                int is = is_record && n > 0 && left >= 5 && (left == size || len > 255);
                CHECK_INT(qt_encrypted_looks_like(p, n), is);
            }
            for (size_t at = 0; at < 3; at++) {
                p[at]++;
                if (at != 2 || p[2] > 3)
                    CHECK_INT(qt_encrypted_looks_like(p, size), 0);
                p[at]--;
            }
        }
}

static void results_from_altered_conversations_have_valid_spans(void)
{
    static const way_to_alter WAYS[] = {altered, with_gaps, late};
    check_ways(WAYS, sizeof WAYS / sizeof *WAYS, 320);
}

int main(void)
{
    struct qt_error error;
    FILE *in = fopen("inputs/tls.keys", "r");
    CHECK(in != NULL && fread(key_lines, 1, sizeof key_lines - 1, in) > 100 && fclose(in) == 0);
    keys = qt_tls_log_new();
    CHECK(keys != NULL);
    CHECK_INT(qt_tls_log_open(keys, "inputs/tls.keys", 0, &error), QT_OK);
    n_talks = read_talks("inputs/tls.pcap", talks);
    CHECK_INT(n_talks, 5);
    RUN(tls_records_are_detected_by_their_lengths);
    RUN(piece_size_does_not_change_the_decoded_events);
    RUN(error_of_the_sink_is_returned);
    RUN(results_from_altered_conversations_have_valid_spans);
    qt_tls_log_free(keys);
    return 0;
}
