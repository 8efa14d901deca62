/* SPDX-License-Identifier: Apache-2.0 */
/* Splits MySQL and MariaDB statements into tokens. Accepts any bytes and keeps no copies: tokens point into the
 * statement. */
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

/* Charsets of clients, grouped by their effect on the lexer. In gbk, big5 and sjis a backslash or a back quote may be
 * the second byte of a character. gb18030 counts as gbk, and cp932 as sjis. In all other charsets, multibyte characters
 * have only bytes above 127.
 *
 * Some charsets have a white-space byte above 127. This byte is 0xA0 in latin1 and similar charsets, and 0xFF in cp866
 * and similar charsets. */
enum qt_charset { QT_NARROW, QT_GBK, QT_BIG5, QT_SJIS, QT_BLANK_A0, QT_BLANK_FF, QT_CHARSETS };

static inline int qt_is_wide(int charset) { return charset >= QT_GBK && charset <= QT_SJIS; }

/* Returns the white-space byte above 127, or -1 if the charset has none. */
static inline int qt_high_blank(int charset)
{
    return charset == QT_BLANK_A0 ? 0xA0 : charset == QT_BLANK_FF ? 0xFF : -1;
}

/* Returns 2 if the bytes at p are a two-byte character, else 1. */
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

/* Comments that servers execute. Whether a server executes a comment depends on its family and version. If servers
 * differ, a text is read both ways. docs/sources/sql-modes.md lists which servers execute which comments. */
enum qt_comment {
    QT_COMMENT_SKIPPED,       /* skipped by every server */
    QT_COMMENT_EXECUTED,      /* executed by every server */
    QT_COMMENT_EXECUTED_SOME, /* executed by some servers */
    QT_COMMENT_HINT           /* optimizer hint */
};

/* Returns the kind of the comment whose slash and star are at `p`. `hintable`: a hint is allowed at this place. Sets
 * `opening` to the number of bytes before the code, including the version, or 0 if the comment is skipped. */
enum qt_comment qt_comment_at(const char *p, const char *end, int hintable, size_t *opening);

/* Returns the star of the next star and slash, or NULL. */
const char *qt_comment_end(const char *p, const char *end);

enum qt_token_kind {
    QT_T_END = 0,
    QT_T_WORD,     /* identifier or keyword, as written */
    QT_T_QUOTED,   /* `identifier`, with its quotes */
    QT_T_STRING,   /* '..' ".." N'..' X'..' B'..'; a charset introducer is a separate word */
    QT_T_NUMBER,   /* number: 1 1.5e3 0xAB 0b01 */
    QT_T_PARAM,    /* placeholder: ? */
    QT_T_VARIABLE, /* user variable: @name @'name' @`name` */
    QT_T_SYSTEM,   /* @@; the name is the next token */
    QT_T_OPERATOR, /* one to three bytes */
    QT_T_DOT,
    QT_T_COMMA,
    QT_T_OPEN,  /* ( */
    QT_T_CLOSE, /* ) */
    QT_T_SEMICOLON,
    QT_T_HINT,       /* opening of an optimizer hint; its tokens follow up to QT_T_COMMENT_END */
    QT_T_EXECUTABLE, /* opening of an executable comment, with its version number */
    QT_T_COMMENT_END
};

struct qt_token {
    int kind;
    int keyword; /* enum qt_keyword; quoted names only with QT_KW_CALL. QT_K_NONE after a dot */
    const char *p;
    size_t len;
};

struct qt_lexer {
    const char *at, *end; /* inside a hint, `end` is the end of the hint */
    const char *all_end;
    const char *name_end; /* end of the last token if it was a name; a dot after a name is not a decimal point */
    const struct qt_keywords *keywords;
    int open_quote;   /* opening byte of an unclosed literal or comment; see struct qt_statement */
    uint8_t previous; /* kind of the last token */
    uint8_t hintable; /* the last token was a word that allows a hint */
    uint8_t in_hint;
    uint8_t in_executable; /* enum qt_comment of the current executable comment */
    uint8_t comments;      /* QT_READ_SKIPPED and QT_READ_PLAIN, set by the caller */
    uint8_t saw_comments;  /* QT_READ_* bits of the readings that would read this text differently */
    uint8_t reading;       /* QT_READ_* of the session's quotes, set by the caller; 0 = default */
    uint8_t charset;       /* enum qt_charset of the session, set by the caller */
    uint8_t saw;           /* QT_SAW_*: text that another reading reads differently */
};

/* Readings: the ways in which servers treat comments. */
#define QT_READ_SKIPPED 1  /* comments that only some servers execute are skipped, with a nested comment */
#define QT_READ_PLAIN 2    /* comments unknown to MySQL end at the first star and slash */
#define QT_READ_COMMENTS 3 /* QT_READ_SKIPPED and QT_READ_PLAIN */

/* Readings: the parts of sql_mode that affect the lexer. */
#define QT_READ_NO_BACKSLASH 1 /* NO_BACKSLASH_ESCAPES */
#define QT_READ_ANSI 2         /* ANSI_QUOTES: "..." is a name; values as in struct qt_session_mode */

#define QT_SAW_BACKSLASH 1 /* a backslash between quotes */
#define QT_SAW_DOUBLE 2    /* text in double quotes */
#define QT_SAW_BLANK 8     /* outside quotes, a byte above 127 that is white space in some charsets */
#define QT_SAW_WIDE 4      /* a byte above 127 before a back quote, or before a backslash between quotes */

void qt_lexer_init(struct qt_lexer *, const struct qt_keywords *, const char *sql, size_t len);
void qt_lex(struct qt_lexer *, struct qt_token *);

#endif
