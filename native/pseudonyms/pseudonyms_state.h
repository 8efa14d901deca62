/* SPDX-License-Identifier: Apache-2.0 */
/* Pseudonyms: values of the same shape and length that tell nothing of the originals but their shape.
 *
 * Under one key a value always has the same pseudonym, and two different values never have one: joins still join, what
 * was unique stays unique. Letters become letters (upper and lower stay), digits digits; all else stays. Numbers keep
 * sign, length, first digit, and fit the same integer types; dates keep their year and stay dates. Numbers of one digit
 * stay.
 *
 * How: a Feistel network over a value's characters, each with its own radix, its round function AES-CBC-MAC, after FF1
 * (NIST SP 800-38G). Values outside the wanted set are sent round again (cycle walking), so the set maps onto itself.
 *
 * From the bottom:
 *
 *   state.h         these types
 *   symbols.c       Feistel network, cycle walking: symbols to symbols
 *   value.c         a value -> symbols: which characters change, and among what
 *   ranges.c        which parts of a statement are values, in one way to read it
 *   sql.c           all ways to read it
 *   message.c       which parts of a server's message are values
 *   params.c        which bytes of parameters are values
 *   stream.c        columns of an Arrow stream
 *   pseudonyms.c    life: the key
 */
#ifndef QT_PSEUDONYMS_STATE_H
#define QT_PSEUDONYMS_STATE_H

#include <openssl/evp.h>

#include "pseudonyms/ranges.h"
#include "querytape.h"
#include "sql/keywords.h"

enum qt_symbol_kind {
    QT_SYMBOL_BYTE, /* base + value */
    QT_SYMBOL_PAIR, /* two decimal digits of base + value */
    QT_SYMBOL_HEX   /* base: 'a' or 'A' */
};

struct qt_symbol {
    size_t at;
    uint8_t value, radix, base, kind;
};

struct qt_pseudonyms {
    struct qt_keywords keywords;
    EVP_CIPHER_CTX *cipher;
    struct qt_symbol *symbol;
    size_t n, room;
    char *before; /* a value as it was */
    size_t before_room;
    int failed;
    struct qt_ranges ranges; /* of the statement that is being replaced */
    int64_t ambiguous;       /* statements that could be read in several ways, with other values in each */
};

#define QT_WAYS 96 /* to read a statement */

static inline void qt_symbol_add(struct qt_pseudonyms *s, size_t at, unsigned value, unsigned radix, unsigned base,
                                 int kind)
{
    s->symbol[s->n++] = (struct qt_symbol){at, (uint8_t)value, (uint8_t)radix, (uint8_t)base, (uint8_t)kind};
}

#endif
