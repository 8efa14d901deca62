/* SPDX-License-Identifier: Apache-2.0 */
/* State of the classifier while it reads a statement. Types only. classify.c fills the state and calls
 * statement_class.c, secrets.c and actions.c, which read it. */
#ifndef QT_SQL_STATE_H
#define QT_SQL_STATE_H

#include "querytape.h"
#include "sql/keywords.h"
#include "sql/lexer.h"

#define QT_FIRST_WORDS 6

enum qt_seen {
    QT_SEEN_INTO_FILE = 1,
    QT_SEEN_LOAD_FILE = 2,
    QT_SEEN_SEQUENCE = 4, /* takes a number from a sequence: a write */
    QT_SEEN_GLOBAL = 8,
    QT_SEEN_UNSAFE = 16,
    QT_SEEN_SONAME = 32,
    QT_SEEN_REPLICATION = 64,
    QT_SEEN_ACCOUNTS = 128,
    QT_SEEN_ANALYZE = 256,
    QT_SEEN_CHAIN = 512,
    QT_SEEN_READ_LOCK = 1024,
    QT_SEEN_VARIABLE = 2048,            /* a user variable is read, or an account is named */
    QT_SEEN_READ_WRITE = 4096,          /* ends a session's read-only mode */
    QT_SEEN_ACTS_ON_REPLICATION = 8192, /* calls a function that acts on replication */
    QT_SEEN_ACTS_ON_INSTANCE = 16384
};

enum qt_scope { QT_SCOPE_SESSION, QT_SCOPE_GLOBAL, QT_SCOPE_ONE_GLOBAL }; /* SET GLOBAL a, b; SET @@global.a, b */
enum qt_defines {
    QT_DEFINES_UNKNOWN,
    QT_DEFINES_OBJECT,
    QT_DEFINES_ROUTINE
}; /* ROUTINE: a body follows; kept to the text's end */

enum qt_declares { QT_DECLARES_NOTHING, QT_DECLARES, QT_DECLARES_SECRET }; /* SECRET: its name indicates a secret */
/* Parts of a secret. Each part is harmless without another part. */
enum qt_told {
    QT_TOLD_LISTED = 1,  /* a literal in a select list */
    QT_TOLD_DERIVED = 2, /* a literal in the select list of a CTE or derived table */
    QT_TOLD_CIPHER = 4,  /* a call of a function that takes a key */
    QT_TOLD_INTO = 8     /* a variable after INTO whose name indicates a secret */
};
enum qt_dotted { QT_DOTTED_NO, QT_DOTTED, QT_DOTTED_MYSQL }; /* MYSQL: after the name of the schema `mysql` */

struct qt_classifier {
    /* State of the current statement. A text may have several statements. */
    uint16_t words[QT_FIRST_WORDS]; /* enum qt_keyword of the first words; QT_K_NONE for names */
    uint16_t verb;                  /* first verb after the first word at its depth, such as after WITH or EXPLAIN */
    uint16_t previous;              /* keyword of the previous token, else QT_K_NONE */
    uint16_t opened;                /* keyword before the parenthesis, if the previous token is a parenthesis */
    uint8_t n_words;
    uint8_t odd;      /* the first token is neither a word nor ( */
    uint8_t left;     /* SET: on the left side of an assignment */
    uint8_t compound; /* IF, BEGIN NOT ATOMIC, ...: contains other statements */
    uint8_t routine;  /* CREATE ...: contains statements but does not run them */
    uint8_t in_hint;
    uint8_t system;       /* @@ was read, but not yet its name */
    uint8_t scope;        /* SET: enum qt_scope of the variable being assigned */
    uint8_t awaits;       /* SET autocommit = was read, but not yet its value */
    uint8_t defines;      /* CREATE, ALTER: enum qt_defines */
    uint8_t dotted;       /* enum qt_dotted; nonzero if the previous token is a dot */
    uint8_t declares;     /* DECLARE: enum qt_declares */
    uint32_t seen;        /* enum qt_seen */
    uint32_t does;        /* QT_ACTION_* */
    int64_t depth, base;  /* parentheses open now and before the first word */
    int64_t cipher_depth; /* depth inside the arguments of a function that takes a key; 0: outside */
    uint64_t lists;       /* bit 1 << depth: in a select list at this depth; the last bit covers deeper levels */
    uint8_t into;         /* after INTO: variables may follow */
    uint8_t told;         /* enum qt_told */
    const char *hint;     /* start of the current or last hint */
    struct qt_token name; /* SET: the variable being assigned */
    const char *word;     /* previous token if it is a word or a quoted name */
    size_t word_len;      /* length of `word`; 0 if there is none */
    /* Results for the whole text. */
    int klass, danger;    /* klass -1: none yet */
    uint32_t dangers;     /* 1 << enum qt_danger of all statements */
    uint32_t classes;     /* 1 << enum qt_class; without admin statements of a known danger */
    int lifts_read_only;  /* ends the read-only mode of a session */
    uint32_t flags;       /* QT_F_* */
    uint32_t actions;     /* QT_ACTION_* */
    uint32_t read_before; /* actions from another reading of the same text */
    int secret;           /* contains passwords or keys */
    uint8_t sets_mode;    /* 1 = has a SET or EXECUTE, 2 = another statement follows it */
};

/* Returns 1 for START alone or with READ or WITH, which is not a valid statement. A server that treats TRANSACTION as a
 * comment reads this form and rejects it. */
static inline int qt_starts_nothing(const struct qt_classifier *c)
{
    return c->n_words == 1 || c->words[1] == QT_K_read || c->words[1] == QT_K_with;
}

#endif
