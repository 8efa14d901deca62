/* SPDX-License-Identifier: Apache-2.0 */
/* Pseudonyms: replacement values that keep only the shape and length of the originals.
 *
 * Under one key a value always gets the same pseudonym, and two values never share a pseudonym. So joins and unique
 * keys still work. Letters become letters of the same case, and digits become digits. All other characters stay.
 *
 * Numbers keep their sign, length, first digit and integer type. Dates keep their year and stay valid dates. One-digit
 * numbers stay.
 *
 * Method: a Feistel network over the characters of a value, each with its own radix. Its round function is AES-CBC-MAC,
 * after FF1 (NIST SP 800-38G). Results outside the wanted set are encrypted again (cycle walking), so the set maps onto
 * itself.
 *
 * Files, from the lowest layer up:
 *
 *   pseudonyms_state.h  these types
 *   symbols.c           Feistel network, cycle walking: symbols to symbols
 *   value.c             a value -> symbols: the characters that change and their alphabets
 *   ranges.c            the parts of a statement that are values, in one reading
 *   sql.c               all readings of a statement
 *   message.c           the parts of a server's message that are values
 *   params.c            the bytes of parameters that are values
 *   stream.c            columns of an Arrow stream
 *   pseudonyms.c        creation, release, key */
#ifndef QT_PSEUDONYMS_STATE_H
#define QT_PSEUDONYMS_STATE_H

#include <openssl/evp.h>

#include "pseudonyms/ranges.h"
#include "querytape.h"
#include "sql/keywords.h"

enum qt_symbol_kind {
    QT_SYMBOL_BYTE, /* the byte `base` + value */
    QT_SYMBOL_PAIR, /* two decimal digits of `base` + value */
    QT_SYMBOL_HEX   /* hex digit; `base` is 'a' or 'A' */
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
    char *before; /* the original value */
    size_t before_room;
    int failed;
    struct qt_ranges ranges; /* values of the statement that is being replaced */
    int64_t ambiguous;       /* statements with several possible readings that have different values */
};

#define QT_WAYS 96 /* maximum number of readings of one statement */

static inline void qt_symbol_add(struct qt_pseudonyms *s, size_t at, unsigned value, unsigned radix, unsigned base,
                                 int kind)
{
    s->symbol[s->n++] = (struct qt_symbol){at, (uint8_t)value, (uint8_t)radix, (uint8_t)base, (uint8_t)kind};
}

#endif
