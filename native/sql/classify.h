/* SPDX-License-Identifier: Apache-2.0 */
/* What a statement is and does, from its tokens. Private to the native part. */
#ifndef QT_CLASSIFY_H
#define QT_CLASSIFY_H

#include "keywords.h"
#include "lexer.h"
#include "querytape.h"

#define QT_FIRST_WORDS 6

enum qt_seen {
    QT_SEEN_INTO_FILE = 1,
    QT_SEEN_LOAD_FILE = 2,
    QT_SEEN_SEQUENCE = 4,    /* draws a number from a sequence: a write */
    QT_SEEN_GLOBAL = 8,
    QT_SEEN_UNSAFE = 16,
    QT_SEEN_SONAME = 32,
    QT_SEEN_REPLICATION = 64,
    QT_SEEN_ACCOUNTS = 128,
    QT_SEEN_ANALYZE = 256
};

struct qt_classifier {
    /* of the statement being read; a text may hold several */
    uint8_t words[QT_FIRST_WORDS]; /* enum qt_keyword of its first words, QT_K_NONE for names */
    uint8_t n_words;
    uint8_t verb;            /* first verb behind the first word, at its depth: what WITH or EXPLAIN leads to */
    uint8_t previous, second; /* keyword of the token before, and of the one before that; QT_K_NONE for anything else */
    uint8_t odd;             /* something other than a word or ( stands first */
    uint8_t left;            /* SET: on the left side of an assignment */
    uint8_t compound;        /* IF, BEGIN NOT ATOMIC, ...: other statements begin inside it */
    uint8_t routine;         /* CREATE ...: so do they, but it does not run them */
    uint8_t in_hint;
    uint32_t seen;           /* enum qt_seen */
    int64_t depth, base;     /* parentheses open now, and before the first word */
    int64_t cipher_depth;    /* inside the arguments of a function that takes a key; 0 = not */
    struct qt_token name;    /* SET: the variable being assigned */
    /* of all of them */
    int klass, danger;       /* klass -1 = nothing yet */
    uint32_t flags;          /* QT_F_* */
    int secret;              /* carries passwords or keys */
};

void qt_classify_begin(struct qt_classifier *);
/* The same text follows once more, in another reading; what was found so far is kept. */
void qt_classify_again(struct qt_classifier *);
void qt_classify(struct qt_classifier *, const struct qt_token *);
void qt_classify_end(struct qt_classifier *);

struct qt_verdict {
    int klass, danger;
};
/* verdict.c: the statement that was read; sets flags and `secret` as well. */
struct qt_verdict qt_verdict_of(struct qt_classifier *);
/* secrets.c */
void qt_secret_assigned(struct qt_classifier *);
int qt_secret_in_string(const struct qt_classifier *, const struct qt_token *);

/* Is the token's name, in whatever quotes and with whatever @, this lower-case one? */
int qt_name_is(const struct qt_token *, const char *name);

#endif
