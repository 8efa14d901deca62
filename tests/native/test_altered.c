/* SPDX-License-Identifier: Apache-2.0 */
/* Files of every kind, altered thousands of times: what is told of them is what it was. Each line of inputs/altered.txt
 * is a file and a few digits for each hundred alterations of it: QT_GOLDEN=write in the environment writes them again,
 * QT_SHOW=5 says what every alteration of source 5 comes to, to be compared with the version before. */
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "failing.h"
#include "sources.h"
#include "test_normalize_util.h"

enum { ROOM = 1 << 18, IN_A_BLOCK = 100, MOST_BLOCKS = 64, FRAME = 16, PCAP_HEADER = 24 };

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

/* Where the line at `at` begins, and its length with its newline. */
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

/* One frame of a capture file is gone, there twice, elsewhere, cut, or has another byte, most often one of what is said. */
static void alter_frames(struct content *c, uint64_t *state)
{
    size_t starts[1024], n = 0;
    for (size_t at = PCAP_HEADER; at + FRAME <= c->n && n < 1024; at += FRAME + get32(c, at + 8))
        starts[n++] = at;
    size_t which = random_below(state, n), at = starts[which], size = FRAME + get32(c, at + 8);
    size_t to = which + 1 + random_below(state, 4);
    uint32_t kept;
    switch (random_below(state, 10)) {
    case 0: /* or all before it, so that the capture begins there */
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
    case 3: /* the capture kept less of it */
        kept = (uint32_t)random_below(state, size - FRAME);
        replace(c, at + FRAME + kept, size - FRAME - kept, "", 0);
        memcpy(c->p + at + 8, &kept, 4);
        break;
    case 4:
        alter_byte(c, state, at, at + size);
        break;
    case 5:
        alter_byte(c, state, at + FRAME + 14, at + FRAME + 54); /* IP and TCP */
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

/* Blocks of each source, as many as take about as long. */
static const size_t BLOCKS[] = {12, 8, 5, 8, 10, 10, 10, 4, 3, 3, 3, 3, 3, 3, 8, 5, 4};

/* Ends where it is not as wanted any more. */
static void alter_one(const struct source *source, size_t number, const char *path, const char *wanted, char *line)
{
    static struct content whole, altered;
    static struct told told;
    const char *shown = getenv("QT_SHOW");
    int show = shown != NULL && (size_t)atol(shown) == number, is_pcap;
    whole.n = read_plain(source->path, whole.p, ROOM);
    CHECK(whole.n < ROOM / 2);
    is_pcap = source->is_packets && get32(&whole, 0) != 0x0A0D0D0A;
    size_t end = (size_t)sprintf(line, "%s", strrchr(source->path, '/') + 1);
    for (size_t block = 0; block < BLOCKS[number]; block++) {
        uint64_t hash = HASH_BEGIN, state = UINT64_C(88172645463325252) + number * 1000 + block;
        for (size_t i = 0; i < IN_A_BLOCK; i++) {
            altered = whole;
            for (size_t n = 1 + random_below(&state, 2); n > 0; n--)
                if (is_pcap)
                    alter_frames(&altered, &state);
                else if (source->is_packets || strstr(source->path, ".bin") != NULL)
                    alter_byte(&altered, &state, 0, altered.n);
                else
                    alter_text(&altered, &state);
            FILE *out = fopen(path, "wb");
            CHECK(out != NULL && fwrite(altered.p, 1, altered.n, out) == altered.n && fclose(out) == 0);
            failing_set(i % 8 == 0 ? FAILING_SHORT : FAILING_NONE, 0);
            read_source(source, path, 1000000, &told);
            failing_stop();
            uint64_t one = hash_of(&told);
            int64_t first = 0;
            if (i % 4 == 1 && strstr(source->path, "slow") != NULL &&
                qt_slowlog_first_time(path, &first, NULL) == QT_OK)
                one += (uint64_t)first;
            hash = hash_more(hash, &one, sizeof one);
            if (show)
                printf("%zu %016llx %d %s\n", block * IN_A_BLOCK + i, (unsigned long long)one, told.code,
                       told.described);
        }
        end += (size_t)sprintf(line + end, " %04x", (unsigned)(hash >> 48));
        if (wanted != NULL && !show && strncmp(line, wanted, end) != 0)
            return;
    }
}

static void what_is_told_is_what_it_was(void)
{
    char folder[] = "/tmp/qt-altered-XXXXXX", path[64], found[MOST_BLOCKS * 5 + 100], wanted[sizeof found] = "";
    int writes = getenv("QT_GOLDEN") != NULL, differ = 0;
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/altered", folder);
    FILE *golden = fopen("inputs/altered.txt", writes ? "w" : "r");
    CHECK(golden != NULL);
    for (size_t i = 0; i < N_SOURCES && !differ; i++) {
        CHECK(writes || fgets(wanted, sizeof wanted, golden) != NULL);
        wanted[strcspn(wanted, "\n")] = '\0';
        alter_one(&SOURCES[i], i, path, writes ? NULL : wanted, found);
        if (writes)
            fprintf(golden, "%s\n", found);
        else if (strcmp(found, wanted) != 0)
            differ = fprintf(stderr, "source %zu: expected\n%s\nfound\n%s\n", i, wanted, found);
    }
    fclose(golden);
    unlink(path);
    rmdir(folder);
    CHECK(!differ);
}

int main(void)
{
    RUN(what_is_told_is_what_it_was);
    return 0;
}
