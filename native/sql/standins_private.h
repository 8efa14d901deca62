/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   standins.c        key, Feistel network, cycle walking: symbols to symbols
 *   standins_value.c  a value -> symbols: which characters change, and among what
 *   standins_sql.c    which parts of a statement or message are values
 *   standins_params.c which bytes of parameters are values
 *   standins_stream.c columns of an Arrow stream
 */
#ifndef QT_STANDINS_PRIVATE_H
#define QT_STANDINS_PRIVATE_H

#include <openssl/evp.h>

#include "keywords.h"
#include "standins.h"

enum qt_symbol_kind {
    QT_SYMBOL_BYTE, /* base + value */
    QT_SYMBOL_PAIR, /* two decimal digits of base + value */
    QT_SYMBOL_HEX   /* base: 'a' or 'A' */
};

struct qt_symbol {
    size_t at;
    uint8_t value, radix, base, kind;
};

struct qt_standins {
    struct qt_keywords keywords;
    EVP_CIPHER_CTX *cipher;
    struct qt_symbol *symbol;
    size_t n, room;
    char *before; /* a value as it was */
    size_t before_room;
    int failed;
};

int qt_symbols_room(struct qt_standins *, size_t n); /* and none are there; 0 or -1 */
void qt_symbols_permute(struct qt_standins *);
void qt_symbols_write(const struct qt_standins *, char *p);
int qt_symbols_walk(struct qt_standins *, char *p, size_t n, int (*wanted)(const char *was, const char *now, size_t n));

static inline void qt_symbol_add(struct qt_standins *s, size_t at, unsigned value, unsigned radix, unsigned base, int kind)
{
    s->symbol[s->n++] = (struct qt_symbol){at, (uint8_t)value, (uint8_t)radix, (uint8_t)base, (uint8_t)kind};
}

#endif
