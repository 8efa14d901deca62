/* SPDX-License-Identifier: Apache-2.0 */
/* Splits SQL of MySQL and MariaDB into tokens, over any bytes. Keeps nothing: tokens point into the statement. */
#ifndef QT_LEXER_H
#define QT_LEXER_H

#include <stddef.h>
#include <stdint.h>

#include "sql/keywords.h"

/* Classes of bytes. */
#define QT_C_IDENT 1 /* may be inside an identifier */
#define QT_C_DIGIT 2
#define QT_C_SPACE 4
extern const uint8_t qt_char_class[256];

/* Character sets of clients. In gbk, big5 and sjis (gb18030 as gbk, cp932 as sjis) a backslash or a back quote may be
 * the second byte of a character; in all others every byte of a character is above 127, or there is one only. Some
 * of these have a white space above 127: 0xA0 in latin1 and its like, 0xFF in cp866 and its like. */
enum qt_charset { QT_NARROW, QT_GBK, QT_BIG5, QT_SJIS, QT_BLANK_A0, QT_BLANK_FF, QT_CHARSETS };

static inline int qt_is_wide(int charset) { return charset >= QT_GBK && charset <= QT_SJIS; }

/* The white space above 127; -1 = there is none. */
static inline int qt_high_blank(int charset)
{
    return charset == QT_BLANK_A0 ? 0xA0 : charset == QT_BLANK_FF ? 0xFF : -1;
}

/* 2 where the bytes at p are a character of two bytes, else 1. */
static inline size_t qt_wide(int charset, const char *p, const char *end)
{
    unsigned a = (unsigned char)*p, b = end - p > 1 ? (unsigned char)p[1] : 0;
    int low = b >= 0x40 && b <= 0x7e;
    switch (charset) {
    case QT_GBK:
        return a >= 0x81 && a <= 0xfe && (low || (b >= 0x80 && b <= 0xfe)) ? 2 : 1;
    case QT_BIG5:
        return a >= 0xa1 && a <= 0xf9 && (low || (b >= 0xa1 && b <= 0xfe)) ? 2 : 1;
    case QT_SJIS:
        return ((a >= 0x81 && a <= 0x9f) || (a >= 0xe0 && a <= 0xfc)) && (low || (b >= 0x80 && b <= 0xfc)) ? 2 : 1;
    default:
        return 1;
    }
}

static inline char qt_lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c; }

/* Comments that servers execute. Which of them a server executes depends on its family and version: where servers
 * differ, a text is read both ways. docs/sources/sql-modes.md has the same table in words. */
enum qt_comment {
    QT_COMMENT_SKIPPED,       /* by every server */
    QT_COMMENT_EXECUTED,      /* by every server */
    QT_COMMENT_EXECUTED_SOME, /* by some servers */
    QT_COMMENT_HINT           /* for the optimizer */
};

/* What the comment is that begins at `p`, at its slash and star. `hintable`: a hint may be here. `opening`: the bytes
 * in front of its code, the version included; 0 where it is skipped. */
enum qt_comment qt_comment_at(const char *p, const char *end, int hintable, size_t *opening);

/* The star of the next star and slash, or NULL. */
const char *qt_comment_end(const char *p, const char *end);

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
