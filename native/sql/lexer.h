/* SPDX-License-Identifier: Apache-2.0 */
/* Splits SQL of MySQL and MariaDB into tokens, over any bytes. Keeps nothing: tokens point into the statement. */
#ifndef QT_LEXER_H
#define QT_LEXER_H

#include <stddef.h>
#include <stdint.h>

#include "sql/chars.h"
#include "sql/keywords.h"

enum qt_token_kind {
    QT_T_END = 0,
    QT_T_WORD,     /* identifier or keyword, as written */
    QT_T_QUOTED,   /* `identifier`, with its quotes */
    QT_T_STRING,   /* '..' ".." N'..' X'..' B'..'; a charset introducer is a word of its own */
    QT_T_NUMBER,   /* 1 1.5e3 0xAB 0b01 */
    QT_T_PARAM,    /* ? */
    QT_T_VARIABLE, /* @name @'name' @`name` */
    QT_T_SYSTEM,   /* @@, the name follows */
    QT_T_OPERATOR, /* one to three bytes */
    QT_T_DOT,
    QT_T_COMMA,
    QT_T_OPEN,  /* ( */
    QT_T_CLOSE, /* ) */
    QT_T_SEMICOLON,
    QT_T_HINT,       /* the opening of an optimizer hint: what follows is tokens, up to QT_T_COMMENT_END */
    QT_T_EXECUTABLE, /* the opening of a comment that the server executes, its version number included */
    QT_T_COMMENT_END
};

struct qt_token {
    int kind;
    int keyword; /* enum qt_keyword of a word; of a quoted name only where QT_KW_CALL. QT_K_NONE behind a dot */
    const char *p;
    size_t len;
};

struct qt_lexer {
    const char *at, *end; /* `end` is a hint's end inside one */
    const char *all_end;
    const char *name_end; /* behind the last token where it was a name: a dot there is no decimal point */
    const struct qt_keywords *keywords;
    int open_quote;   /* the byte that opened what never ends; see struct qt_statement */
    uint8_t previous; /* kind of the last token */
    uint8_t hintable; /* the last token was a word that a hint may follow */
    uint8_t in_hint;
    uint8_t in_executable; /* enum qt_comment of the comment that is being executed */
    uint8_t comments;      /* set by the caller: QT_READ_SKIPPED and QT_READ_PLAIN */
    uint8_t saw_comments;  /* those that would read the text in another way */
    uint8_t reading;       /* set by the caller: QT_READ_*, how the session that sent it reads quotes; 0 = by default */
    uint8_t charset;       /* set by the caller: enum qt_charset of the session */
    uint8_t saw;           /* QT_SAW_*: what another reading would take differently */
};

/* Readings: what servers do with comments. */
#define QT_READ_SKIPPED 1  /* comments that only some servers execute are skipped, with a comment inside them */
#define QT_READ_PLAIN 2    /* those that MySQL does not know end at the first star and slash */
#define QT_READ_COMMENTS 3 /* both */

/* Readings: what sql_mode changes. */
#define QT_READ_NO_BACKSLASH 1 /* NO_BACKSLASH_ESCAPES */
#define QT_READ_ANSI 2         /* ANSI_QUOTES: "..." is a name; these two as in struct qt_session_mode */

#define QT_SAW_BACKSLASH 1 /* between quotes */
#define QT_SAW_DOUBLE 2    /* "..." */
#define QT_SAW_BLANK 8     /* outside of quotes, a byte above 127 that is white space in some character sets */
#define QT_SAW_WIDE 4      /* a byte above 127 before a back quote, or before a backslash between quotes */

void qt_lexer_init(struct qt_lexer *, const struct qt_keywords *, const char *sql, size_t len);
void qt_lex(struct qt_lexer *, struct qt_token *);

#endif
