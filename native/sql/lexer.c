/* SPDX-License-Identifier: Apache-2.0 */
/* Lexical structure as in the manuals of MySQL 8.4 ("Language Structure") and MariaDB, and in their sql_lex.cc. By
 * default "..." is a string and a backslash escapes. Control bytes are white space, and in some charsets a byte above
 * 127 is also white space.
 *
 * A hint ends at the first star and slash, regardless of quotes. Servers that do not support hints find the same end,
 * so no quote inside a hint can hide a statement after the hint. The lexer reads every byte a fixed number of times. */
#include "sql/lexer.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define ROW4(v) v, v, v, v
#define ROW16(v) ROW4(v), ROW4(v), ROW4(v), ROW4(v)
#define ROW64(v) ROW16(v), ROW16(v), ROW16(v), ROW16(v)

/* QT_C_* flags of each byte. Identifiers consist of letters, digits, _ $ and every byte above 127. */
const uint8_t qt_char_class[256] = {
    ROW16(4), ROW16(4), 4, 0, 0,       0,        1,        0, 0, 0, 0, 0, 0, 0, 0,       0,       0, 0, /* $ */
    ROW4(3),  ROW4(3),  3, 3, 0,       0,        0,        0, 0, 0, 0, 1, 1, 1, ROW4(1), ROW4(1), 1, 1,
    1,        1,        1, 1, 1,       1,        ROW4(1),  1, 1, 1, 0, 0, 0, 0, 1, /* _ */
    0,        1,        1, 1, ROW4(1), ROW4(1),  1,        1, 1, 1, 1, 1, 1, 1, ROW4(1), 1,       1, 1,
    0,        0,        0, 0, 4,       ROW64(1), ROW64(1),
};

/* Finds the ends of words and literals, several bytes at a time if possible. */
#define IS(c, what) (qt_char_class[(unsigned char)(c)] & (what))

#define ONES UINT64_C(0x0101010101010101)
#define HIGHS UINT64_C(0x8080808080808080)

/* Returns nonzero if one of the eight bytes is c. */
static inline uint64_t has_byte(uint64_t eight, char c)
{
    uint64_t x = eight ^ (ONES * (unsigned char)c);
    return (x - ONES) & ~x & HIGHS;
}

/* Returns the next quote or backslash. */
static inline const char *find_special(const char *p, const char *end, char quote)
{
    while (end - p >= 8) {
        uint64_t eight;
        memcpy(&eight, p, 8);
        if (has_byte(eight, quote) | has_byte(eight, '\\'))
            break;
        p += 8;
    }
    while (p < end && *p != quote && *p != '\\')
        p++;
    return p;
}

static inline const char *skip_class(const char *p, const char *end, int class)
{
    while (p < end && IS(*p, class))
        p++;
    return p;
}

#ifdef __SSE2__
/* Returns one bit for each of 16 bytes: set if the byte may be inside an identifier. The end of a word is then found
 * without a branch for each byte. */
static inline unsigned ident_bits(const char *p)
{
    __m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i letter = _mm_sub_epi8(_mm_or_si128(x, _mm_set1_epi8(0x20)), _mm_set1_epi8('a'));
    __m128i digit = _mm_sub_epi8(x, _mm_set1_epi8('0'));
    __m128i in = _mm_cmpeq_epi8(_mm_min_epu8(letter, _mm_set1_epi8(25)), letter);
    in = _mm_or_si128(in, _mm_cmpeq_epi8(_mm_min_epu8(digit, _mm_set1_epi8(9)), digit));
    in = _mm_or_si128(in, _mm_cmpeq_epi8(x, _mm_set1_epi8('_')));
    in = _mm_or_si128(in, _mm_cmpeq_epi8(x, _mm_set1_epi8('$')));
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(in, x)); /* x: bytes above 127 */
}
#endif

/* Returns the end of an identifier. Sets `high` if a byte of the identifier is above 127. */
static inline const char *skip_ident(const char *p, const char *end, unsigned *high)
{
#ifdef __SSE2__
    for (; end - p >= 16; p += 16) {
        unsigned highs = (unsigned)_mm_movemask_epi8(_mm_loadu_si128((const __m128i *)(const void *)p));
        unsigned out = ident_bits(p) ^ 0xffffu;
        if (out != 0) {
            *high |= highs & ((out & -out) - 1);
            return p + __builtin_ctz(out);
        }
        *high |= highs;
    }
#endif
    for (; p < end && IS(*p, QT_C_IDENT); p++)
        *high |= (unsigned char)*p & 0x80u;
    return p;
}

/* Forms of comments: the text after slash and star, the number of version digits, and the servers that execute the
 * comment. The first matching row counts.
 *
 * Sources: sql/sql_lex.cc of the servers, and the chapters "Comment Syntax" (MariaDB) and "Comments" (MySQL) of the
 * manuals. */
static const struct form {
    const char *opening;
    int least_digits, most_digits;
    enum qt_comment kind;
} FORMS[] = {
    {"!!", 5, 6, QT_COMMENT_EXECUTED_SOME},  /* executed by MariaDB 13 with a version below this number (MDEV-7381) */
    {"M!!", 5, 6, QT_COMMENT_EXECUTED_SOME}, /* executed by MariaDB 13 with a version below this number */
    {"M!", 5, 6, QT_COMMENT_EXECUTED_SOME},  /* executed by MariaDB from this version on */
    {"M!", 0, 0, QT_COMMENT_EXECUTED_SOME},  /* executed by MariaDB */
    {"T!", 0, 0, QT_COMMENT_EXECUTED_SOME},  /* TiDB, optionally with a feature name in brackets */
    {"!", 5, 6, QT_COMMENT_EXECUTED_SOME},   /* MySQL and MariaDB from this version; MariaDB not for 50700 to 99999 */
    {"!", 0, 0, QT_COMMENT_EXECUTED},        /* executed by MySQL and MariaDB */
    {"+", 0, 0, QT_COMMENT_HINT},            /* MySQL 5.7 and MariaDB 12; older versions skip it */
};
/* All servers in use (MySQL 5.7, MariaDB 10.0 and later) execute a comment for a version below this one. */
static const char OLDEST[] = "50700";

/* Returns 1 if code can begin with this byte. Any other byte may mark an unknown form of comment. */
static int begins_code(const char *p, const char *end)
{
    return p >= end || IS(*p, QT_C_SPACE | QT_C_IDENT | QT_C_DIGIT) || memchr("`'\"(@,;*", *p, 8) != NULL;
}

static size_t count_digits(const char *p, const char *end, int most)
{
    size_t n = 0;
    while (n < (size_t)most && p + n < end && IS(p[n], QT_C_DIGIT))
        n++;
    return n;
}

/* Returns the length of a feature name in brackets, such as [auto_rand]. */
static size_t feature_length(const char *p, const char *end)
{
    const char *close = p < end && *p == '[' ? memchr(p, ']', (size_t)(end - p)) : NULL;
    return close != NULL ? (size_t)(close + 1 - p) : 0;
}

enum qt_comment qt_comment_at(const char *p, const char *end, int hintable, size_t *opening)
{
    size_t left = (size_t)(end - p) - 2;
    for (size_t i = 0; i < sizeof FORMS / sizeof *FORMS; i++) {
        const struct form *form = &FORMS[i];
        size_t n = strlen(form->opening);
        if (left < n || memcmp(p + 2, form->opening, n) != 0 || (form->kind == QT_COMMENT_HINT && !hintable))
            continue;
        const char *behind = p + 2 + n;
        size_t digits = count_digits(behind, end, form->most_digits);
        if (digits < (size_t)form->least_digits)
            continue;
        *opening = 2 + n + digits;
        if (digits > 0)
            return n == 1 && digits == 5 && memcmp(behind, OLDEST, 5) < 0 ? QT_COMMENT_EXECUTED : form->kind;
        if (*form->opening == 'T')
            *opening += feature_length(behind, end);
        return begins_code(behind, end) ? form->kind : QT_COMMENT_EXECUTED_SOME;
    }
    *opening = left > 1 && IS(p[2], QT_C_IDENT) && p[3] == '!' ? 4 : 0;
    return *opening > 0 ? QT_COMMENT_EXECUTED_SOME : QT_COMMENT_SKIPPED;
}

const char *qt_comment_end(const char *p, const char *end)
{
    while (p < end && (p = memchr(p, '*', (size_t)(end - p))) != NULL) {
        if (p + 1 < end && p[1] == '/')
            return p;
        p++;
    }
    return NULL;
}

void qt_lexer_init(struct qt_lexer *l, const struct qt_keywords *keywords, const char *sql, size_t len)
{
    memset(l, 0, sizeof *l);
    l->keywords = keywords;
    l->at = sql;
    l->end = l->all_end = sql + len;
}

/* Returns the next quote or backslash that is not part of a multibyte character. */
static const char *find_wide(const struct qt_lexer *l, const char *p, char quote)
{
    while (p < l->end && *p != quote && *p != '\\')
        p += qt_wide(l->charset, p, l->end);
    return p;
}

/* Returns the end of a word. */
static const char *skip_word(struct qt_lexer *l, const char *p)
{
    unsigned high = 0;
    if (qt_is_wide(l->charset)) {
        while (p < l->end && IS(*p, QT_C_IDENT))
            p += qt_wide(l->charset, p, l->end);
        return p;
    }
    const char *after = skip_ident(p, l->end, &high);
    size_t len = (size_t)(after - p);
    if (high == 0 || (memchr(p, 0xA0, len) == NULL && memchr(p, 0xFF, len) == NULL))
        return after;
    l->saw |= QT_SAW_BLANK;
    const char *blank = l->charset != QT_NARROW ? memchr(p, qt_high_blank(l->charset), len) : NULL;
    return blank != NULL ? blank : after;
}

/* Returns 1 for white space, including white space above 127. */
static int is_blank(const struct qt_lexer *l, char c)
{
    return IS(c, QT_C_SPACE) || (unsigned char)c == qt_high_blank(l->charset);
}

/* Skips a literal whose opening quote was already read. Returns the position after its closing quote. A doubled quote
 * is part of the literal. */
static const char *skip_quoted(struct qt_lexer *l, const char *p, char quote)
{
    int escapes = quote != '`' && !(l->reading & QT_READ_NO_BACKSLASH) && !(quote == '"' && l->reading & QT_READ_ANSI);
    l->saw |= quote == '"' ? QT_SAW_DOUBLE : 0;
    for (;;) {
        p = qt_is_wide(l->charset) ? find_wide(l, p, quote) : find_special(p, l->end, quote);
        if (p >= l->end) {
            if (!l->in_hint)
                l->open_quote = quote;
            return l->end;
        }
        if (*p == quote) {
            l->saw |= quote == '`' && p[-1] & 0x80 ? QT_SAW_WIDE : 0;
            if (p + 1 >= l->end || p[1] != quote)
                return p + 1;
            p += 2;
        } else {
            l->saw |= quote == '`' ? 0 : QT_SAW_BACKSLASH | (p[-1] & 0x80 ? QT_SAW_WIDE : 0);
            p += escapes && p + 1 < l->end ? 2 : 1;
        }
    }
}

static const char *skip_line(const struct qt_lexer *l, const char *p)
{
    const char *newline = memchr(p, '\n', (size_t)(l->end - p));
    return newline != NULL ? newline + 1 : l->end;
}

static const char *skip_comment(struct qt_lexer *l, const char *p)
{
    const char *star = qt_comment_end(p, l->end);
    if (star != NULL)
        return star + 2;
    l->open_quote = '*';
    return l->end;
}

/* Skips a comment that is meant for newer servers, as older servers do. Comments nested inside are also skipped. */
static const char *skip_executable(struct qt_lexer *l, const char *p)
{
    for (; p + 1 < l->end; p++) {
        if (p[0] == '*' && p[1] == '/')
            return p + 2;
        if (p[0] == '/' && p[1] == '*') {
            p = skip_comment(l, p + 2) - 1;
            if (l->open_quote)
                break;
        }
    }
    l->open_quote = '*';
    return l->end;
}

static void open_hint(struct qt_lexer *l, const char *p, struct qt_token *t)
{
    const char *star = qt_comment_end(p + 3, l->end);
    if (star == NULL)
        l->open_quote = '*';
    else
        l->end = star;
    l->in_hint = 1;
    t->kind = QT_T_HINT;
    t->len = 3;
}

/* Handles a comment at its slash and star. Returns 1 if the content of the comment is read as tokens. */
static int comment(struct qt_lexer *l, const char *p, struct qt_token *t)
{
    size_t opening = 0;
    enum qt_comment kind = l->in_hint ? QT_COMMENT_SKIPPED : qt_comment_at(p, l->end, l->hintable, &opening);
    int some = kind == QT_COMMENT_EXECUTED_SOME, plain = some && p[2] != '!';
    l->saw_comments |= (some ? QT_READ_SKIPPED : 0) | (plain ? QT_READ_PLAIN : 0);
    if (kind == QT_COMMENT_SKIPPED || (plain && l->comments & QT_READ_PLAIN)) {
        l->at = skip_comment(l, p + 2);
        return 0;
    }
    if (some && l->comments & QT_READ_SKIPPED) {
        l->at = skip_executable(l, p + opening);
        return 0;
    }
    t->p = p;
    t->keyword = QT_K_NONE;
    if (kind == QT_COMMENT_HINT) {
        open_hint(l, p, t);
    } else {
        t->kind = QT_T_EXECUTABLE;
        t->len = opening;
        l->in_executable = (uint8_t)kind;
    }
    l->hintable = 0;
    l->at = p + t->len;
    return 1;
}

/* Skips white space and comments. Returns 1 if a comment produced a token. */
static int skip_blank(struct qt_lexer *l, struct qt_token *t)
{
    for (;;) {
        const char *p = l->at;
        while (p < l->end && IS(*p, QT_C_SPACE))
            p++;
        l->at = p;
        if (p >= l->end)
            return 0;
        if ((unsigned char)*p == qt_high_blank(l->charset)) {
            l->saw |= QT_SAW_BLANK | (p + 1 < l->end && p[1] == '`' ? QT_SAW_WIDE : 0);
            l->at = p + 1;
        } else if (*p == '/') {
            if (p + 1 >= l->end || p[1] != '*')
                return 0;
            if (comment(l, p, t))
                return 1;
        } else if (*p == '#' ||
                   (*p == '-' && p + 1 < l->end && p[1] == '-' && (p + 2 >= l->end || is_blank(l, p[2])))) {
            l->at = skip_line(l, p);
        } else {
            return 0;
        }
    }
}

static int is_radix(const char *p, const char *end, char kind)
{
    if (end - p < 3)
        return 0;
    for (p += 2; p < end; p++) {
        char c = qt_lower(*p);
        if (kind == 'b' ? (c != '0' && c != '1') : !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return 0;
    }
    return 1;
}

/* Returns the end of an exponent that begins at `at`. Returns `at` if there is no exponent. */
static const char *exponent(const struct qt_lexer *l, const char *at)
{
    if (at >= l->end || qt_lower(*at) != 'e')
        return at;
    const char *digits = at + 1;
    if (digits < l->end && (*digits == '+' || *digits == '-'))
        digits++;
    const char *after = skip_class(digits, l->end, QT_C_DIGIT);
    return after > digits ? after : at;
}

/* Reads a number that begins with a digit or a dot. Identifiers may also begin with digits, such as 1a. */
static const char *number(struct qt_lexer *l, const char *p, int *kind)
{
    const char *at = skip_class(p, l->end, QT_C_DIGIT);
    *kind = QT_T_NUMBER;
    if (at < l->end && *at == '.') {
        at = skip_class(at + 1, l->end, QT_C_DIGIT);
        return exponent(l, at);
    }
    if (at >= l->end || !IS(*at, QT_C_IDENT) || is_blank(l, *at))
        return at;
    const char *word = skip_word(l, at), *after = exponent(l, at);
    char c = qt_lower(*at);
    if (at == p + 1 && *p == '0' && (c == 'x' || c == 'b') && is_radix(p, word, c))
        return word;
    if (after > at && after >= word)
        return after;
    *kind = QT_T_WORD;
    return word;
}

static const char *variable(struct qt_lexer *l, const char *p, int *kind)
{
    *kind = QT_T_VARIABLE;
    if (++p >= l->end)
        return p;
    if (*p == '@') {
        *kind = QT_T_SYSTEM;
        return p + 1;
    }
    if (*p == '\'' || *p == '"' || *p == '`')
        return skip_quoted(l, p + 1, *p);
    while (p < l->end && (IS(*p, QT_C_IDENT) || *p == '.') && !is_blank(l, *p)) {
        l->saw |= (unsigned char)*p == 0xA0 || (unsigned char)*p == 0xFF ? QT_SAW_BLANK : 0;
        p += qt_wide(l->charset, p, l->end);
    }
    return p;
}

static size_t operator_length(const char *p, const char *end)
{
    static const char *const longer[] = {"<=>", "->>", ":=", "->", "<=", ">=", "<>", "!=", "<<", ">>", "||", "&&"};
    if (end - p < 2 || memchr("=>|&<", p[1], 5) == NULL)
        return 1;
    for (size_t i = 0; i < sizeof longer / sizeof *longer; i++) {
        size_t len = i < 2 ? 3 : 2;
        if (p[0] == longer[i][0] && (size_t)(end - p) >= len && memcmp(p, longer[i], len) == 0)
            return len;
    }
    return 1;
}

/* Tokens of one byte. Tokens of several bytes never begin with these bytes. */
static const uint8_t single[256] = {
    ['('] = QT_T_OPEN, [')'] = QT_T_CLOSE, [','] = QT_T_COMMA, [';'] = QT_T_SEMICOLON, ['?'] = QT_T_PARAM,
};

static const char *punctuation(struct qt_lexer *l, const char *p, int *kind)
{
    switch (*p) {
    case '.':
        *kind = QT_T_DOT;
        return p + 1;
    case '@':
        return variable(l, p, kind);
    case '*':
        if (l->in_executable && p + 1 < l->end && p[1] == '/') {
            l->in_executable = 0;
            *kind = QT_T_COMMENT_END;
            return p + 2;
        }
        break;
    default:
        break;
    }
    *kind = QT_T_OPERATOR;
    return p + operator_length(p, l->end);
}

static int keyword(const struct qt_lexer *l, const char *p, size_t len)
{
    uint64_t head = 0;
    if (l->all_end - p >= 8) {
        memcpy(&head, p, 8);
        if (len < 8)
            head &= (UINT64_C(1) << (len * 8)) - 1;
    } else {
        memcpy(&head, p, len < 8 ? len : 8);
    }
    return qt_keyword_find(l->keywords, head, p, len);
}

/* Reads a word that begins with a letter. N'..', X'..' and B'..' are strings. */
static const char *word(struct qt_lexer *l, const char *p, struct qt_token *t)
{
    const char *after = skip_word(l, p);
    size_t len = (size_t)(after - p);
    t->kind = QT_T_WORD;
    if (len == 1 && after < l->end && *after == '\'') {
        char first = qt_lower(*p);
        if (first == 'n' || first == 'x' || first == 'b') {
            t->kind = QT_T_STRING;
            return skip_quoted(l, after + 1, '\'');
        }
    }
    if (l->previous == QT_T_DOT)
        return after;
    t->keyword = keyword(l, p, len);
    if (l->previous == QT_T_SYSTEM && t->keyword != QT_K_global && t->keyword != QT_K_persist &&
        t->keyword != QT_K_persist_only)
        t->keyword = QT_K_NONE;
    l->hintable = (qt_keyword_flags[t->keyword] & QT_KW_HINT) != 0;
    return after;
}

/* Reads a name in back quotes or, with ANSI_QUOTES, in double quotes. */
static const char *quoted(struct qt_lexer *l, const char *p, struct qt_token *t)
{
    const char *after = skip_quoted(l, p + 1, *p);
    t->kind = QT_T_QUOTED;
    l->saw |= p == l->name_end && p[-1] & 0x80 ? QT_SAW_WIDE : 0;
    if (after - p > 3 && l->previous != QT_T_DOT && after[-1] == *p) {
        int found = keyword(l, p + 1, (size_t)(after - p - 2));
        t->keyword = qt_keyword_flags[found] & QT_KW_CALL ? found : QT_K_NONE;
    }
    return after;
}

/* Handles the end of a hint or of the whole text. */
static void end(struct qt_lexer *l, struct qt_token *t)
{
    t->kind = QT_T_END;
    t->p = l->at;
    t->len = 0;
    if (l->end < l->all_end) {
        l->end = l->all_end;
        l->in_hint = 0;
        t->kind = QT_T_COMMENT_END;
        t->len = 2;
        l->at += 2;
    } else if (l->in_executable && l->open_quote == 0) {
        l->open_quote = '*';
    }
}

void qt_lex(struct qt_lexer *l, struct qt_token *t)
{
    if (skip_blank(l, t))
        return;
    const char *p = l->at, *after;
    t->p = p;
    t->keyword = QT_K_NONE;
    l->hintable = 0;
    if (p >= l->end) {
        end(l, t);
        return;
    }
    int class = IS(*p, QT_C_IDENT | QT_C_DIGIT);
    if (class == QT_C_IDENT || (class && l->previous == QT_T_DOT)) {
        after = word(l, p, t);
    } else if (single[(unsigned char)*p] != 0) {
        t->kind = single[(unsigned char)*p];
        after = p + 1;
    } else if (class || (*p == '.' && p + 1 < l->end && IS(p[1], QT_C_DIGIT) && p != l->name_end)) {
        after = number(l, p, &t->kind);
    } else if (*p == '`' || (*p == '"' && l->reading & QT_READ_ANSI)) {
        after = quoted(l, p, t);
    } else if (*p == '\'' || *p == '"') {
        t->kind = QT_T_STRING;
        after = skip_quoted(l, p + 1, *p);
    } else {
        after = punctuation(l, p, &t->kind);
    }
    t->len = (size_t)(after - p);
    l->at = after;
    l->previous = (uint8_t)t->kind;
    if (t->kind == QT_T_WORD || t->kind == QT_T_QUOTED)
        l->name_end = after;
}
