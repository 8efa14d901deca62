/* SPDX-License-Identifier: Apache-2.0 */
/* What a statement is and does, from its tokens. Private to the native part. */
#ifndef QT_CLASSIFY_H
#define QT_CLASSIFY_H

#include "keywords.h"
#include "lexer.h"
#include "querytape.h"

#define QT_FIRST_WORDS 6

struct qt_classifier {
    /* of the statement being read; a text may hold several */
    uint8_t words[QT_FIRST_WORDS]; /* enum qt_keyword of its first words, QT_K_NONE for names */
    uint8_t n_words;
    uint8_t verb;        /* first verb outside parentheses behind the first word: what WITH or EXPLAIN leads to */
    uint8_t previous;    /* keyword before this token, QT_K_NONE for anything else */
    uint8_t tokens;      /* any at all */
    uint32_t seen;       /* enum seen in classify.c */
    /* of all of them */
    int klass, danger;   /* klass -1 = nothing yet */
    uint32_t flags;      /* QT_F_* */
    int secret;          /* carries passwords or keys */
};

void qt_classify_begin(struct qt_classifier *);
/* Each token in turn; `keyword` is of a QT_T_WORD. `next_open`: a parenthesis follows at once. */
void qt_classify_word(struct qt_classifier *, int keyword, int depth);
void qt_classify_string(struct qt_classifier *, const char *p, size_t len);
void qt_classify_system(struct qt_classifier *, const struct qt_keywords *, const char *name, size_t len);
void qt_classify_other(struct qt_classifier *, int kind);
/* At a semicolon and at the end. */
void qt_classify_end(struct qt_classifier *);

#endif
