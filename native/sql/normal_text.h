/* SPDX-License-Identifier: Apache-2.0 */
/* The normaliser while it reads: its state, and the writer of the normalised text. Types and inline helpers, for
 * normalize.c and normalize_lists.c. */
#ifndef QT_NORMAL_TEXT_H
#define QT_NORMAL_TEXT_H

#include "sql/classify.h"
#include "sql/lexer.h"
#include "sql/redact.h"
#include "sql/tables.h"
#include "sql/text.h"

#define QT_LEVELS 64 /* parentheses whose content is known; deeper ones are only counted */

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

struct qt_paren {    /* of parentheses */
    uint8_t list;    /* literals in it are one ?+ */
    uint8_t row;     /* a row of VALUES: the rows behind it are dropped */
    uint8_t inner;   /* the whole element of a list: (1,2) in IN ((1,2),(3,4)) */
    uint8_t element; /* enum qt_element: what the element being written consists of so far */
    uint8_t run;     /* the element before is a ?+ */
    uint8_t pure;    /* nothing but literals so far */
};

struct qt_mark { /* enough to take the last word or sign back */
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

    /* of the statement being read */
    struct qt_lexer lexer;
    struct qt_classifier classifier;
    uint16_t keyword;       /* the token before: which one, */
    uint8_t before;         /* and enum qt_before */
    uint8_t string_before;  /* it was a string: adjacent ones are one */
    uint8_t comment_before; /* a hint or executable comment began or ended: a blank follows */
    uint8_t row_held;       /* ROW was read and not yet written */
    uint8_t rows;           /* enum qt_rows: where among the rows of VALUES */
    uint8_t semicolon;      /* read and not yet written */
    size_t skipped;         /* open parentheses of a row being dropped */
    struct qt_mark mark;    /* before the last word or sign; valid where `before` tells of one */
    struct qt_mark hint;    /* before the hint being read */
    size_t depth;
    struct qt_paren *level; /* innermost; `plain` outside of all and deeper than QT_LEVELS */
    struct qt_paren plain;
    struct qt_paren levels[QT_LEVELS];
};

static inline void qt_put(struct qt_normalizer *n, char c) { n->text.p[n->text.len++] = c; }

static inline void qt_became(struct qt_normalizer *n, int before, int keyword)
{
    n->before = (uint8_t)before;
    n->keyword = (uint16_t)keyword;
}

/* The blank before a word, a literal or an operator. */
static inline void qt_gap(struct qt_normalizer *n)
{
    const unsigned none = 1u << QT_B_START | 1u << QT_B_OPEN | 1u << QT_B_DOT | 1u << QT_B_UNARY | 1u << QT_B_SYSTEM |
                          1u << QT_B_ARROW;
    if (n->comment_before || !(none >> n->before & 1))
        qt_put(n, ' ');
    n->comment_before = 0;
}

#endif
