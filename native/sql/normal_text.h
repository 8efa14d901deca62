/* SPDX-License-Identifier: Apache-2.0 */
/* State of the normalizer, and the writer of the normalized text. Types and inline helpers for normalize.c and
 * normalize_lists.c. */
#ifndef QT_NORMAL_TEXT_H
#define QT_NORMAL_TEXT_H

#include "sql/classify.h"
#include "sql/lexer.h"
#include "sql/redact.h"
#include "sql/tables.h"
#include "sql/text.h"

#define QT_LEVELS 64 /* tracked parentheses; deeper ones are only counted */

enum qt_before {
    QT_B_START,
    QT_B_WORD,
    QT_B_LITERAL,
    QT_B_OPERATOR,
    QT_B_UNARY,
    QT_B_COMMA,
    QT_B_OPEN,
    QT_B_CLOSE,
    QT_B_DOT,
    QT_B_SYSTEM,
    QT_B_ARROW
};

enum qt_element { QT_E_EMPTY, QT_E_LITERAL, QT_E_OTHER };

struct qt_paren {    /* one level of parentheses */
    uint8_t list;    /* its literals are written as one ?+ */
    uint8_t row;     /* a row of VALUES; later rows are dropped */
    uint8_t inner;   /* the whole element of a list: (1,2) in IN ((1,2),(3,4)) */
    uint8_t element; /* enum qt_element: content of the current element so far */
    uint8_t run;     /* the previous element is a ?+ */
    uint8_t pure;    /* only literals so far */
};

struct qt_mark { /* saved state, to remove the last word or sign again */
    size_t len;
    uint16_t keyword;
    uint8_t before, element;
};

enum qt_rows { QT_ROWS_NONE, QT_ROWS_AFTER, QT_ROWS_COMMA, QT_ROWS_INSIDE };

struct qt_normalizer {
    struct qt_keywords keywords;
    struct qt_text text;
    struct qt_redacted redacted;
    struct qt_names names;

    /* State of the current statement. */
    struct qt_lexer lexer;
    struct qt_classifier classifier;
    uint16_t keyword;       /* keyword of the previous token */
    uint8_t before;         /* enum qt_before of the previous token */
    uint8_t string_before;  /* the previous token was a string; adjacent strings are one literal */
    uint8_t comment_before; /* a hint or executable comment began or ended: write a blank */
    uint8_t row_held;       /* ROW was read but not yet written */
    uint8_t rows;           /* enum qt_rows: position in the rows of VALUES */
    uint8_t semicolon;      /* a semicolon was read but not yet written */
    size_t skipped;         /* open parentheses of a dropped row */
    struct qt_mark mark;    /* state before the last word or sign; valid if `before` is a word or sign */
    struct qt_mark hint;    /* state before the current hint */
    size_t depth;
    struct qt_paren *level; /* innermost level; `plain` outside parentheses or deeper than QT_LEVELS */
    struct qt_paren plain;
    struct qt_paren levels[QT_LEVELS];
};

static inline void qt_put(struct qt_normalizer *n, char c) { n->text.p[n->text.len++] = c; }

static inline void qt_became(struct qt_normalizer *n, int before, int keyword)
{
    n->before = (uint8_t)before;
    n->keyword = (uint16_t)keyword;
}

/* Writes the blank before a word, a literal or an operator. */
static inline void qt_gap(struct qt_normalizer *n)
{
    const unsigned none = 1u << QT_B_START | 1u << QT_B_OPEN | 1u << QT_B_DOT | 1u << QT_B_UNARY | 1u << QT_B_SYSTEM |
                          1u << QT_B_ARROW;
    if (n->comment_before || !(none >> n->before & 1))
        qt_put(n, ' ');
    n->comment_before = 0;
}

#endif
