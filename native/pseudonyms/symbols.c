/* SPDX-License-Identifier: Apache-2.0 */
/* symbols:  [ a . . . . | b . . . . ]      a Feistel network: each round adds to one half a value made from
 *                 \_ MAC _/^                 the other half and the key (AES-CBC-MAC), each symbol in its own radix
 *
 * Results outside the wanted set are encrypted again (cycle walking), so the set maps onto itself. */
#include "pseudonyms/symbols.h"

#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 10, MAX_WALKS = 100000 };

static void encrypt(struct qt_pseudonyms *s, const uint8_t in[16], uint8_t out[16])
{
    int n = 16;
    if (EVP_EncryptUpdate(s->cipher, out, &n, in, 16) != 1)
        s->failed = 1;
}

/* The round function. Computes offsets for `m` symbols from the `n` symbols at `from`. */
static void add_offsets(struct qt_pseudonyms *s, unsigned round, const struct qt_symbol *from, size_t n,
                        struct qt_symbol *to, size_t m)
{
    uint8_t block[16] = {(uint8_t)round}, mac[16], stream[16], counted[16];
    uint64_t sizes[2] = {n, m};
    memcpy(block + 1, &sizes[0], 7);
    memcpy(block + 8, &sizes[1], 8);
    encrypt(s, block, mac);
    for (size_t at = 0; at < n; at += 16) {
        memcpy(block, mac, 16);
        for (size_t i = 0; i < 16 && at + i < n; i++)
            block[i] ^= (uint8_t)(from[at + i].value + 1);
        encrypt(s, block, mac);
    }
    memcpy(stream, mac, 16);
    for (size_t i = 0; i < m; i++) {
        if (i > 0 && i % 8 == 0) {
            uint64_t number = i / 8;
            memcpy(counted, mac, 16);
            for (int b = 0; b < 8; b++)
                counted[b] ^= (uint8_t)(number >> 8 * b);
            encrypt(s, counted, stream);
        }
        unsigned offset = stream[i % 8 * 2] | (unsigned)stream[i % 8 * 2 + 1] << 8;
        to[i].value = (uint8_t)((to[i].value + offset) % to[i].radix);
    }
}

static void permute(struct qt_pseudonyms *s)
{
    size_t half = s->n / 2;
    struct qt_symbol *a = s->symbol, *b = s->symbol + half;
    if (s->n == 1)
        add_offsets(s, 0, a, 0, a, 1);
    for (unsigned round = 0; s->n > 1 && round < ROUNDS; round++)
        if (round % 2 == 0)
            add_offsets(s, round, a, half, b, s->n - half);
        else
            add_offsets(s, round, b, s->n - half, a, half);
}

int qt_symbols_reset(struct qt_pseudonyms *s, size_t n)
{
    s->n = 0;
    if (n <= s->room)
        return 0;
    free(s->symbol);
    s->symbol = malloc(n * sizeof *s->symbol);
    s->room = s->symbol != NULL ? n : 0;
    return s->symbol != NULL ? 0 : -1;
}

static void write_symbols(const struct qt_pseudonyms *s, char *p)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct qt_symbol *y = &s->symbol[i];
        char *at = p + y->at;
        if (y->kind == QT_SYMBOL_PAIR) {
            at[0] = (char)('0' + (y->value + y->base) / 10);
            at[1] = (char)('0' + (y->value + y->base) % 10);
        } else if (y->kind == QT_SYMBOL_HEX) {
            at[0] = (char)(y->value < 10 ? '0' + y->value : y->base + y->value - 10);
        } else {
            at[0] = (char)(y->base + y->value);
        }
    }
}

int qt_symbols_walk(struct qt_pseudonyms *s, char *p, size_t n,
                    int (*wanted)(const char *was, const char *now, size_t n))
{
    if (s->n == 0)
        return 0;
    if (n > s->before_room) {
        free(s->before);
        s->before = malloc(n);
        s->before_room = s->before != NULL ? n : 0;
        if (s->before == NULL)
            return -1;
    }
    memcpy(s->before, p, n);
    int walks = 0;
    do {
        permute(s);
        write_symbols(s, p);
    } while (wanted != NULL && !wanted(s->before, p, n) && ++walks < MAX_WALKS);
    return s->failed ? -1 : 0;
}
