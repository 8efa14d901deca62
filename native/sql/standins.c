/* SPDX-License-Identifier: Apache-2.0 */
#include "standins_private.h"

#include <stdlib.h>
#include <string.h>

#include "querytape.h"

enum { ROUNDS = 10, MOST_WALKS = 100000 };

struct qt_standins *qt_standins_new(const uint8_t *key)
{
    struct qt_standins *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    qt_keywords_init(&s->keywords);
    s->cipher = EVP_CIPHER_CTX_new();
    if (s->cipher == NULL || EVP_EncryptInit_ex(s->cipher, EVP_aes_128_ecb(), NULL, key, NULL) != 1) {
        qt_standins_free(s);
        return NULL;
    }
    EVP_CIPHER_CTX_set_padding(s->cipher, 0);
    return s;
}

void qt_standins_free(struct qt_standins *s)
{
    if (s == NULL)
        return;
    EVP_CIPHER_CTX_free(s->cipher);
    free(s->symbol);
    free(s->before);
    free(s);
}

static void encrypt(struct qt_standins *s, const uint8_t in[16], uint8_t out[16])
{
    int n = 16;
    if (EVP_EncryptUpdate(s->cipher, out, &n, in, 16) != 1)
        s->failed = 1;
}

/* The round function: offsets for `m` symbols from the `n` symbols at `from`. */
static void add_offsets(struct qt_standins *s, unsigned round, const struct qt_symbol *from, size_t n, struct qt_symbol *to, size_t m)
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

void qt_symbols_permute(struct qt_standins *s)
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

int qt_symbols_room(struct qt_standins *s, size_t n)
{
    s->n = 0;
    if (n <= s->room)
        return 0;
    free(s->symbol);
    s->symbol = malloc(n * sizeof *s->symbol);
    s->room = s->symbol != NULL ? n : 0;
    return s->symbol != NULL ? 0 : -1;
}

void qt_symbols_write(const struct qt_standins *s, char *p)
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

/* Sends the symbols round until `wanted` says that what they make belongs to the set of the original. */
int qt_symbols_walk(struct qt_standins *s, char *p, size_t n, int (*wanted)(const char *was, const char *now, size_t n))
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
        qt_symbols_permute(s);
        qt_symbols_write(s, p);
    } while (wanted != NULL && !wanted(s->before, p, n) && ++walks < MOST_WALKS);
    return s->failed ? -1 : 0;
}
