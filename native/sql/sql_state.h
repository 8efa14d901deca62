/* SPDX-License-Identifier: Apache-2.0 */
/* The classifier while it reads a statement. Types only; from the bottom: statement_class.c, secrets.c and actions.c
 * look at it, classify.c feeds it and asks them. */
#ifndef QT_SQL_STATE_H
#define QT_SQL_STATE_H

#include "querytape.h"
#include "sql/keywords.h"
#include "sql/lexer.h"

#define QT_FIRST_WORDS 6

enum qt_seen {
    QT_SEEN_INTO_FILE = 1,
    QT_SEEN_LOAD_FILE = 2,
    QT_SEEN_SEQUENCE = 4, /* draws a number from a sequence: a write */
    QT_SEEN_GLOBAL = 8,
    QT_SEEN_UNSAFE = 16,
    QT_SEEN_SONAME = 32,
    QT_SEEN_REPLICATION = 64,
    QT_SEEN_ACCOUNTS = 128,
    QT_SEEN_ANALYZE = 256,
    QT_SEEN_CHAIN = 512,
    QT_SEEN_READ_LOCK = 1024,
    QT_SEEN_VARIABLE = 2048,            /* a user's variable is read, or an account named */
    QT_SEEN_READ_WRITE = 4096,          /* ends a session's read-only mode */
    QT_SEEN_ACTS_ON_REPLICATION = 8192, /* calls a function that does */
    QT_SEEN_ACTS_ON_INSTANCE = 16384
};

enum qt_scope { QT_SCOPE_SESSION, QT_SCOPE_GLOBAL, QT_SCOPE_ONE_GLOBAL }; /* SET GLOBAL a, b; SET @@global.a, b */
enum qt_defines {
    QT_DEFINES_UNKNOWN,
    QT_DEFINES_OBJECT,
    QT_DEFINES_ROUTINE
}; /* a routine's body follows; kept to the text's end */

enum qt_declares { QT_DECLARES_NOTHING, QT_DECLARES, QT_DECLARES_SECRET }; /* SECRET: its name tells of one */
/* What makes a secret together: each is harmless without the other. */
enum qt_told {
    QT_TOLD_LISTED = 1,  /* a literal in a select list */
    QT_TOLD_DERIVED = 2, /* in that of a CTE or derived table */
    QT_TOLD_CIPHER = 4,  /* a call of a function that takes a key */
    QT_TOLD_INTO = 8     /* a variable behind INTO whose name tells of a secret */
};
enum qt_dotted { QT_DOTTED_NO, QT_DOTTED, QT_DOTTED_MYSQL }; /* MYSQL: behind that schema's name */

struct qt_classifier {
    /* of the statement being read; a text may hold several */
    uint16_t words[QT_FIRST_WORDS]; /* enum qt_keyword of its first words, QT_K_NONE for names */
    uint16_t verb;                  /* first verb behind the first word, at its depth: what WITH or EXPLAIN leads to */
    uint16_t previous;              /* keyword of the token before; QT_K_NONE for anything else */
    uint16_t opened;                /* the token before is a parenthesis: keyword of the one before that */
    uint8_t n_words;
    uint8_t odd;      /* something other than a word or ( is first */
    uint8_t left;     /* SET: on the left side of an assignment */
    uint8_t compound; /* IF, BEGIN NOT ATOMIC, ...: other statements begin inside it */
    uint8_t routine;  /* CREATE ...: so do they, but it does not run them */
    uint8_t in_hint;
    uint8_t system;       /* @@ was read, and its name not yet */
    uint8_t scope;        /* SET: enum qt_scope of the variable being assigned */
    uint8_t awaits;       /* SET autocommit = was read, and its value not yet */
    uint8_t defines;      /* CREATE, ALTER: enum qt_defines */
    uint8_t dotted;       /* the token before is a dot: enum qt_dotted */
    uint8_t declares;     /* DECLARE: enum qt_declares */
    uint32_t seen;        /* enum qt_seen */
    uint32_t does;        /* QT_ACTION_* */
    int64_t depth, base;  /* parentheses open now, and before the first word */
    int64_t cipher_depth; /* inside the arguments of a function that takes a key; 0 = not */
    uint64_t lists;       /* 1 << depth: in the list of a SELECT at that depth, the last for all below it */
    uint8_t into;         /* behind INTO: variables may follow */
    uint8_t told;         /* enum qt_told */
    const char *hint;     /* where the hint begins that is being read, or the last one */
    struct qt_token name; /* SET: the variable being assigned */
    const char *word;     /* the token before, where that is a word or a quoted name */
    size_t word_len;      /* else 0 */
    /* of all of them */
    int klass, danger;    /* klass -1 = nothing yet */
    uint32_t dangers;     /* of all its statements: 1 << enum qt_danger */
    uint32_t classes;     /* 1 << enum qt_class; not that of an admin statement whose danger is known */
    int lifts_read_only;  /* ends a session's read-only mode */
    uint32_t flags;       /* QT_F_* */
    uint32_t actions;     /* QT_ACTION_* */
    uint32_t read_before; /* those of another reading of the same text */
    int secret;           /* carries passwords or keys */
    uint8_t sets_mode;    /* 1 = there is a SET or EXECUTE, 2 = and something behind it */
};

/* START alone, or with what only a transaction has, is no statement. So reads it a server that takes TRANSACTION for a
 * comment; it refuses it. */
static inline int qt_starts_nothing(const struct qt_classifier *c)
{
    return c->n_words == 1 || c->words[1] == QT_K_read || c->words[1] == QT_K_with;
}

#endif
