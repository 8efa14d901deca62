/* SPDX-License-Identifier: Apache-2.0 */
/* Thousands of alterations of files of every kind. Reading byte by byte must give identical output. Parts of any size
 * must give the same number of events, problems and sessions. */
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "failing.h"
#include "sources.h"
#include "test_normalize_util.h"

enum { ROOM = 1 << 18, IN_A_BLOCK = 100, FRAME = 16, PCAP_HEADER = 24 };

struct content {
    char p[ROOM];
    size_t n;
};

static void replace(struct content *c, size_t at, size_t old, const char *with, size_t n)
{
    if (at > c->n || old > c->n - at || c->n - old + n > ROOM)
        return;
    memmove(c->p + at + n, c->p + at + old, c->n - at - old);
    memcpy(c->p + at, with, n);
    c->n = c->n - old + n;
}

static void move(struct content *c, size_t at, size_t n, size_t to)
{
    char *kept = malloc(n + 1);
    CHECK(kept != NULL);
    memcpy(kept, c->p + at, n);
    replace(c, at, n, "", 0);
    replace(c, to > at ? to - n : to, 0, kept, n);
    free(kept);
}

/* Moves `at` to the beginning of its line. Returns the length of the line including its newline. */
static size_t line_of(const struct content *c, size_t *at)
{
    size_t end = *at;
    while (*at > 0 && c->p[*at - 1] != '\n')
        --*at;
    while (end < c->n && c->p[end] != '\n')
        end++;
    return end + (end < c->n) - *at;
}

static void another_number(struct content *c, uint64_t *state)
{
    static const char *const NUMBERS[] = {
        "0",  "1",   "9",          "00",         "59",         "60",    "99",     "255",        "256",
        "-1", "1.5", "4294967295", "4294967296", "2147483648", "65536", "999999", "1000000000", "9223372036854775808",
        "",   "12",  "31",         "32",         "13",         "24",    "1969",   "2038"};
    size_t at = random_below(state, c->n), end;
    while (at < c->n && (c->p[at] < '0' || c->p[at] > '9'))
        at++;
    for (end = at; end < c->n && c->p[end] >= '0' && c->p[end] <= '9';)
        end++;
    if (random_below(state, 3) == 0 && end > at) {
        c->p[end - 1] = c->p[end - 1] == '9' ? '0' : (char)(c->p[end - 1] + 1);
        return;
    }
    const char *with = NUMBERS[random_below(state, sizeof NUMBERS / sizeof *NUMBERS)];
    replace(c, at, end - at, with, strlen(with));
}

static void another_line(struct content *c, uint64_t *state)
{
    size_t at = random_below(state, c->n), to = random_below(state, c->n), n = line_of(c, &at);
    line_of(c, &to);
    switch (random_below(state, 6)) {
    case 0:
        replace(c, at, n, "", 0);
        break;
    case 1:
        replace(c, at, 0, c->p + at, 0);
        if (c->n + n <= ROOM)
            replace(c, at, 0, memcpy(c->p + ROOM - n, c->p + at, n), n);
        break;
    case 2:
        if (to < at || to >= at + n)
            move(c, at, n, to);
        break;
    case 3:
        replace(c, at, 0, "\n", 1);
        break;
    case 4:
        replace(c, at + n - (n > 0), n > 0, "", 0);
        break;
    default:
        c->n = at + random_below(state, n + 1);
    }
}

static void alter_text(struct content *c, uint64_t *state)
{
    static const char LETTERS[] = " \t\n\r#;:'\"`\\/*-.,@[](){}=+0xZ\xff\xe4";
    size_t at = random_below(state, c->n + 1);
    const char *letter = &LETTERS[random_below(state, sizeof LETTERS)];
    switch (random_below(state, 8)) {
    case 0:
    case 1:
        another_number(c, state);
        break;
    case 2:
    case 3:
        another_line(c, state);
        break;
    case 4:
        replace(c, at, 0, letter, 1);
        break;
    case 5:
        replace(c, at, 1, letter, 1);
        break;
    case 6:
        replace(c, at, 1 + random_below(state, 4), "", 0);
        break;
    default:
        if (at < c->n && ((c->p[at] | 32) >= 'a' && (c->p[at] | 32) <= 'z'))
            c->p[at] ^= 32;
    }
}

static void alter_byte(struct content *c, uint64_t *state, size_t from, size_t to)
{
    static const uint8_t BYTES[] = {0,    1,    2,    3,    4,    5,    8,    9,    0x0A, 0x0C, 0x10, 0x16,
                                    0x17, 0x20, 0x40, 0x7F, 0x80, 0xFA, 0xFB, 0xFC, 0xFD, 0xFE, 0xFF};
    size_t at = from + random_below(state, to - from);
    if (at >= c->n)
        return;
    switch (random_below(state, 4)) {
    case 0:
        c->p[at] = (char)BYTES[random_below(state, sizeof BYTES)];
        break;
    case 1:
        c->p[at] = (char)(c->p[at] ^ 1 << random_below(state, 8));
        break;
    default:
        c->p[at] = (char)(c->p[at] + (random_below(state, 2) ? 1 : -1));
    }
}

static size_t get32(const struct content *c, size_t at)
{
    const uint8_t *p = (const uint8_t *)c->p + at;
    return at + 4 <= c->n ? (size_t)p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24 : 0;
}

/* Removes, copies, moves or truncates one frame of a capture file, or changes one byte. The byte is mostly in the
 * payload. */
static void alter_frames(struct content *c, uint64_t *state)
{
    size_t starts[1024], n = 0;
    for (size_t at = PCAP_HEADER; at + FRAME <= c->n && n < 1024; at += FRAME + get32(c, at + 8))
        starts[n++] = at;
    size_t which = random_below(state, n), at = starts[which], size = FRAME + get32(c, at + 8);
    size_t to = which + 1 + random_below(state, 4);
    uint32_t kept;
    switch (random_below(state, 10)) {
    case 0: /* removes the frame, or all frames before it */
        if (random_below(state, 3) == 0)
            replace(c, PCAP_HEADER, at - PCAP_HEADER, "", 0);
        else
            replace(c, at, size, "", 0);
        break;
    case 1:
        if (c->n + size <= ROOM)
            replace(c, to < n ? starts[to] : c->n, 0, memcpy(c->p + ROOM - size, c->p + at, size), size);
        break;
    case 2:
        if (to < n)
            move(c, at, size, starts[to]);
        break;
    case 3: /* the capture truncated the frame */
        kept = (uint32_t)random_below(state, size - FRAME);
        replace(c, at + FRAME + kept, size - FRAME - kept, "", 0);
        memcpy(c->p + at + 8, &kept, 4);
        break;
    case 4:
        alter_byte(c, state, at, at + size);
        break;
    case 5:
        alter_byte(c, state, at + FRAME + 14, at + FRAME + 54); /* IP and TCP headers */
        break;
    default:
        alter_byte(c, state, size > FRAME + 54 ? at + FRAME + 54 : at, at + size);
    }
}

static uint64_t hash_of(const struct told *told)
{
    uint64_t hash = hash_more(HASH_BEGIN, &told->code, sizeof told->code);
    if (told->code == QT_OK)
        hash = hash_more(hash, told->described, strlen(told->described));
    hash = hash_more(hash, told->rows, sizeof told->rows);
    hash = hash_more(hash, told->values, sizeof told->values);
    return hash_more(hash, &told->not_understood, sizeof told->not_understood);
}

/* Number of alteration blocks for each source. The numbers give all sources about the same run time. */
static const size_t BLOCKS[] = {3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 2, 2, 1};

static void alter_once(struct content *altered, const struct source *source, int is_pcap, uint64_t *state)
{
    for (size_t n = 1 + random_below(state, 2); n > 0; n--)
        if (is_pcap)
            alter_frames(altered, state);
        else if (source->is_packets || strstr(source->path, ".bin") != NULL)
            alter_byte(altered, state, 0, altered->n);
        else
            alter_text(altered, state);
}

/* Returns whether two reads agree. Corrected times depend on the size of the parts, so such reads compare only row
 * counts. */
static int is_told_alike(const struct source *source, const char *path, size_t number, uint64_t *state)
{
    static struct told whole, again;
    int64_t first = 0;
    read_source(source, path, 1000000, &whole);
    if (strstr(source->path, "slow") != NULL)
        (void)qt_slowlog_first_time(path, &first, NULL);
    if (number % 4 == 0) {
        failing_set(FAILING_SHORT, 0);
        read_source(source, path, 1000000, &again);
        failing_stop();
        return hash_of(&whole) == hash_of(&again);
    }
    read_source(source, path, 4 + random_below(state, 40), &again); /* rows of later parts; first parts: a quarter */
    return whole.code == again.code && whole.not_understood == again.not_understood &&
           memcmp(whole.rows, again.rows, sizeof whole.rows) == 0;
}

static void alter_one(const struct source *source, size_t number, const char *path)
{
    static struct content whole, altered;
    uint64_t state = UINT64_C(88172645463325252) + number * 1000;
    whole.n = read_plain(source->path, whole.p, ROOM);
    CHECK(whole.n < ROOM / 2);
    int is_pcap = source->is_packets && get32(&whole, 0) != 0x0A0D0D0A;
    for (size_t i = 0; i < BLOCKS[number] * IN_A_BLOCK / case_step(); i++) {
        uint64_t begun = state;
        altered = whole;
        alter_once(&altered, source, is_pcap, &state);
        FILE *out = fopen(path, "wb");
        CHECK(out != NULL && fwrite(altered.p, 1, altered.n, out) == altered.n && fclose(out) == 0);
        if (!is_told_alike(source, path, i, &state)) {
            fprintf(stderr, "%s, alteration %zu of state %llu\n", source->path, i, (unsigned long long)begun);
            CHECK(0);
        }
    }
}

static void read_and_part_sizes_do_not_change_the_events(void)
{
    char folder[] = "/tmp/qt-altered-XXXXXX", path[64];
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/altered", folder);
    for (size_t i = 0; i < N_SOURCES; i++)
        alter_one(&SOURCES[i], i, path);
    unlink(path);
    rmdir(folder);
}

int main(void)
{
    RUN(read_and_part_sizes_do_not_change_the_events);
    return 0;
}
