/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass: tokens -> normalised text -> XXH3. The same tokens feed the classifier.
 *
 *   SELECT a,B FROM `t` WHERE id IN (1, 2) AND x=-5 -- why   ->   select a, b from t where id in (?+) and x = ?
 *
 * Rules: words in lower case, plain identifiers without their back quotes; literals are ?, in lists (IN, VALUES, ROW) any
 * number of them is ?+; rows behind the first are dropped; a sign belongs to a literal where an operand is expected; NULL,
 * TRUE and FALSE are literals where a value is expected and words elsewhere (IS NULL, NOT NULL, DEFAULT NULL); comments go,
 * hints and comments that the server executes stay. One rule of spacing, whatever the client wrote.
 *
 * The text is cut at TEXT_MOST: statements that differ only behind it share a digest. Nothing here recurses.
 */
#define XXH_INLINE_ALL
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "classify.h"
#include "error.h"
#include "redact.h"

#define TEXT_MOST ((size_t)64 << 10)
#define SLACK 64u      /* always free behind the text: a keyword may be read 8 bytes wide */
#define DEPTH_MOST 64

enum previous { P_START, P_WORD, P_LITERAL, P_LIST, P_OPERATOR, P_COMMA, P_OPEN, P_CLOSE, P_DOT };
enum frame { PLAIN = 0, LIST = 1, ROW = 3 /* a LIST whose siblings are dropped */ };

struct state { /* what is put back when a dropped row ends */
    size_t len;
    uint8_t kind, keyword;       /* of the previous token */
    size_t mark;                 /* text length before the previous token */
    uint8_t before, before_keyword;
};

struct qt_normalizer {
    struct qt_keywords keywords;
    char *text;
    size_t room;
    struct qt_redacted redacted;

    /* of the statement being read */
    struct qt_lexer lexer;
    struct qt_classifier classifier;
    struct state s;
    int depth;
    uint8_t frames[DEPTH_MOST];
    uint8_t row_closed;          /* the last token closed a row: a comma may begin rows to drop */
    uint8_t string_before;       /* the last token was a string: adjacent ones are one */
    int skip_depth;              /* > 0: dropping rows, inside parentheses deeper than this less one */
    struct state skip_state;
    uint32_t flags;
};

struct qt_normalizer *qt_normalizer_new(void)
{
    struct qt_normalizer *n = calloc(1, sizeof *n);
    if (n == NULL)
        return NULL;
    qt_keywords_init(&n->keywords);
    n->room = 4096;
    n->text = malloc(n->room);
    if (n->text == NULL) {
        free(n);
        return NULL;
    }
    return n;
}

void qt_normalizer_free(struct qt_normalizer *n)
{
    if (n == NULL)
        return;
    free(n->text);
    qt_redacted_free(&n->redacted);
    free(n);
}

/* Room for `more` bytes and the slack; -1 when out of memory. `more` is cut to what TEXT_MOST leaves. */
static int reserve(struct qt_normalizer *n, size_t more)
{
    size_t need = n->s.len + more + SLACK;
    if (need <= n->room)
        return 0;
    size_t room = n->room;
    while (room < need)
        room *= 2;
    char *text = realloc(n->text, room);
    if (text == NULL)
        return -1;
    n->text = text;
    n->room = room;
    return 0;
}

static void put(struct qt_normalizer *n, char c)
{
    n->text[n->s.len++] = c;
}

static void mark(struct qt_normalizer *n)
{
    n->s.mark = n->s.len;
    n->s.before = n->s.kind;
    n->s.before_keyword = n->s.keyword;
}

static void became(struct qt_normalizer *n, int kind, int keyword)
{
    n->s.kind = (uint8_t)kind;
    n->s.keyword = (uint8_t)keyword;
}

/* The blank before a word or a literal. */
static void gap(struct qt_normalizer *n)
{
    if (n->s.kind != P_START && n->s.kind != P_OPEN && n->s.kind != P_DOT)
        put(n, ' ');
}

static int operand_expected(const struct qt_normalizer *n)
{
    if (n->s.kind == P_WORD)
        return qt_keyword_flags[n->s.keyword] & QT_KW_OPERAND;
    return n->s.kind == P_OPERATOR || n->s.kind == P_COMMA || n->s.kind == P_OPEN || n->s.kind == P_START;
}

static int frame_of(const struct qt_normalizer *n)
{
    return n->depth > 0 && n->depth <= DEPTH_MOST ? n->frames[n->depth - 1] : PLAIN;
}

static void literal(struct qt_normalizer *n)
{
    if (frame_of(n) & LIST) {
        if (n->s.kind == P_COMMA && n->s.before == P_LIST) { /* ?+, ? is ?+ */
            n->s.len = n->s.mark;
            became(n, P_LIST, 0);
            return;
        }
        mark(n);
        gap(n);
        put(n, '?');
        put(n, '+');
        became(n, P_LIST, 0);
        return;
    }
    mark(n);
    gap(n);
    put(n, '?');
    became(n, P_LITERAL, 0);
}

static void string(struct qt_normalizer *n)
{
    if (n->string_before)
        return; /* 'a' 'b' is one literal */
    int prefix = n->s.kind == P_WORD && (n->s.keyword == QT_K_date || n->s.keyword == QT_K_time || n->s.keyword == QT_K_timestamp);
    if (prefix) { /* DATE'2024-01-31' is one literal */
        n->s.len = n->s.mark;
        became(n, n->s.before, n->s.before_keyword);
    }
    literal(n);
}

static void lower_copy(struct qt_normalizer *n, const char *p, size_t len)
{
    char *out = n->text + n->s.len;
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)p[i];
        out[i] = (char)(c | (unsigned char)((unsigned char)(c - 'A') < 26 ? 0x20 : 0));
    }
    n->s.len += len;
}

static void word(struct qt_normalizer *n, const struct qt_token *t)
{
    struct state old = n->s;
    mark(n);
    gap(n);
    size_t begin = n->s.len;
    lower_copy(n, t->p, t->len);
    memset(n->text + n->s.len, 0, 8);
    int keyword = qt_keyword_find(&n->keywords, n->text + begin, t->len);
    qt_classify_word(&n->classifier, keyword, n->depth);
    if (keyword == QT_K_null || keyword == QT_K_true || keyword == QT_K_false) {
        int value = old.kind == P_OPERATOR || old.kind == P_COMMA || old.kind == P_OPEN ||
                    (old.kind == P_WORD && (qt_keyword_flags[old.keyword] & QT_KW_OPERAND));
        if (value) {
            n->s = old;
            literal(n);
            return;
        }
    }
    if (n->s.before == P_OPEN && frame_of(n) != PLAIN &&
        (keyword == QT_K_select || keyword == QT_K_with || keyword == QT_K_values || keyword == QT_K_table))
        n->frames[n->depth - 1] = PLAIN; /* a subquery, not a list */
    became(n, P_WORD, keyword);
}

static int is_plain(const char *p, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)p[i] >= 0x80 || !(qt_char_class[(unsigned char)p[i]] & QT_C_IDENT))
            return 0;
    return len > 0;
}

static void name(struct qt_normalizer *n, const struct qt_token *t)
{
    const char *p = t->p;
    size_t len = t->len;
    mark(n);
    gap(n);
    if (t->kind == QT_T_QUOTED && len > 2 && is_plain(p + 1, len - 2)) {
        p++;
        len -= 2;
    }
    size_t begin = n->s.len;
    if (t->kind == QT_T_VARIABLE && len > 1 && (p[1] == '\'' || p[1] == '"')) {
        p = "@?"; /* an account's host, as in 'app'@'10.%' */
        len = 2;
    }
    lower_copy(n, p, len);
    if (t->kind == QT_T_SYSTEM)
        qt_classify_system(&n->classifier, &n->keywords, n->text + begin, len);
    else if (t->kind == QT_T_QUOTED)
        qt_classify_word(&n->classifier, QT_K_NONE, n->depth);
    else
        qt_classify_other(&n->classifier, t->kind);
    became(n, P_WORD, 0);
}

/* A sign where an operand is expected belongs to the number behind it. */
static int is_sign(const struct qt_normalizer *n, const struct qt_token *t)
{
    if (t->len != 1 || (*t->p != '-' && *t->p != '+') || !operand_expected(n))
        return 0;
    struct qt_lexer ahead = n->lexer;
    struct qt_token next;
    qt_lex(&ahead, &next);
    return next.kind == QT_T_NUMBER;
}

static void operator(struct qt_normalizer *n, const struct qt_token *t)
{
    qt_classify_other(&n->classifier, t->kind);
    if (is_sign(n, t))
        return;
    mark(n);
    gap(n);
    memcpy(n->text + n->s.len, t->p, t->len);
    n->s.len += t->len;
    became(n, P_OPERATOR, 0);
}

static int opens_list(const struct qt_normalizer *n)
{
    int keyword = n->s.kind == P_WORD ? n->s.keyword : 0;
    if (keyword == QT_K_in)
        return LIST;
    if (keyword == QT_K_values || keyword == QT_K_value)
        return ROW;
    if (keyword == QT_K_row && (n->s.before_keyword == QT_K_values || n->skip_depth > 0))
        return ROW;
    if ((frame_of(n) & LIST) && (n->s.kind == P_OPEN || n->s.kind == P_COMMA))
        return ROW;
    return n->skip_depth > 0 && n->s.kind == P_COMMA ? ROW : PLAIN;
}

static void open(struct qt_normalizer *n)
{
    int frame = opens_list(n);
    qt_classify_other(&n->classifier, QT_T_OPEN);
    mark(n);
    if (n->s.kind == P_WORD ? (qt_keyword_flags[n->s.keyword] & QT_KW_GAP) != 0
                            : n->s.kind != P_START && n->s.kind != P_OPEN && n->s.kind != P_DOT)
        put(n, ' ');
    put(n, '(');
    if (n->depth < DEPTH_MOST)
        n->frames[n->depth] = (uint8_t)frame;
    n->depth++;
    became(n, P_OPEN, 0);
}

static void close(struct qt_normalizer *n)
{
    qt_classify_other(&n->classifier, QT_T_CLOSE);
    n->row_closed = frame_of(n) == ROW;
    if (n->depth > 0)
        n->depth--;
    mark(n);
    put(n, ')');
    became(n, P_CLOSE, 0);
}

/* Does the next token begin another row: ( or ROW( ? */
static int row_follows(const struct qt_normalizer *n)
{
    struct qt_lexer ahead = n->lexer;
    struct qt_token next;
    qt_lex(&ahead, &next);
    if (next.kind == QT_T_WORD && next.len == 3 && qt_lower(next.p[0]) == 'r' && qt_lower(next.p[1]) == 'o' && qt_lower(next.p[2]) == 'w')
        qt_lex(&ahead, &next);
    return next.kind == QT_T_OPEN;
}

static void comma(struct qt_normalizer *n, int after_row)
{
    qt_classify_other(&n->classifier, QT_T_COMMA);
    if (after_row && n->skip_depth == 0 && row_follows(n)) {
        n->skip_state = n->s;
        n->skip_depth = n->depth + 1;
    }
    mark(n);
    put(n, ',');
    became(n, P_COMMA, 0);
}

static void end_of_statement(struct qt_normalizer *n)
{
    qt_classify_end(&n->classifier);
    struct qt_lexer ahead = n->lexer;
    struct qt_token next;
    qt_lex(&ahead, &next);
    n->depth = 0;
    if (next.kind == QT_T_END || next.kind == QT_T_SEMICOLON)
        return;
    mark(n);
    put(n, ';');
    became(n, P_OPERATOR, 0);
}

static void comment(struct qt_normalizer *n, const struct qt_token *t)
{
    static const char *const texts[] = {"/*+", "/*!", "*/"};
    mark(n);
    if (n->s.kind != P_START)
        put(n, ' ');
    const char *text = texts[t->kind - QT_T_HINT];
    while (*text)
        put(n, *text++);
    became(n, t->kind == QT_T_COMMENT_END ? P_WORD : P_OPERATOR, 0);
}

/* While rows are dropped: are we past them? Then what they wrote is taken back. */
static void check_skip(struct qt_normalizer *n, const struct qt_token *t)
{
    if (n->skip_depth == 0 || n->depth >= n->skip_depth)
        return;
    int row_word = t->kind == QT_T_WORD && t->len == 3 && qt_lower(t->p[0]) == 'r' && n->s.kind == P_COMMA;
    int goes_on = (t->kind == QT_T_COMMA && row_follows(n)) || t->kind == QT_T_OPEN || row_word;
    if (t->kind == QT_T_COMMA || !goes_on)
        n->s = n->skip_state; /* bounded: the dropped rows' text is taken back at each comma */
    if (!goes_on) {
        n->skip_depth = 0;
        n->row_closed = 0;
    }
}

static int token(struct qt_normalizer *n, const struct qt_token *t)
{
    int after_row = n->row_closed;
    size_t more = t->kind == QT_T_STRING || t->kind == QT_T_NUMBER ? 4 : t->len + 4;
    if (n->skip_depth > 0)
        check_skip(n, t);
    if (n->s.len >= TEXT_MOST)
        n->s.len = TEXT_MOST; /* full: what follows is still classified */
    if (reserve(n, more) != 0)
        return -1;
    n->row_closed = 0;
    switch (t->kind) {
    case QT_T_WORD:
        word(n, t);
        break;
    case QT_T_STRING:
        qt_classify_string(&n->classifier, t->p, t->len);
        string(n);
        break;
    case QT_T_PARAM:
        n->flags |= QT_F_PLACEHOLDER;
        /* fall through */
    case QT_T_NUMBER:
        qt_classify_other(&n->classifier, t->kind);
        literal(n);
        break;
    case QT_T_QUOTED:
    case QT_T_VARIABLE:
    case QT_T_SYSTEM:
        name(n, t);
        break;
    case QT_T_OPEN:
        open(n);
        break;
    case QT_T_CLOSE:
        close(n);
        break;
    case QT_T_COMMA:
        comma(n, after_row);
        break;
    case QT_T_DOT:
        qt_classify_other(&n->classifier, t->kind);
        mark(n);
        put(n, '.');
        became(n, P_DOT, 0);
        break;
    case QT_T_SEMICOLON:
        end_of_statement(n);
        break;
    case QT_T_OPERATOR:
        operator(n, t);
        break;
    default:
        comment(n, t);
    }
    n->string_before = t->kind == QT_T_STRING;
    return 0;
}

static void begin(struct qt_normalizer *n, const char *sql, size_t len)
{
    qt_lexer_init(&n->lexer, sql, len);
    qt_classify_begin(&n->classifier);
    memset(&n->s, 0, sizeof n->s);
    n->depth = 0;
    n->row_closed = n->string_before = 0;
    n->skip_depth = 0;
    n->flags = 0;
}

int qt_normalize(struct qt_normalizer *n, const char *sql, size_t len, struct qt_statement *out, struct qt_error *error)
{
    struct qt_token t;
    begin(n, sql, len);
    for (qt_lex(&n->lexer, &t); t.kind != QT_T_END; qt_lex(&n->lexer, &t))
        if (token(n, &t) != 0)
            return qt_fail(error, QT_ENOMEM, "out of memory for a statement of %zu bytes", len);
    if (n->skip_depth > 0)
        n->s = n->skip_state;
    qt_classify_end(&n->classifier);
    if (n->s.len > TEXT_MOST)
        n->s.len = TEXT_MOST;
    out->text = n->text;
    out->text_len = n->s.len;
    out->digest = XXH3_64bits(n->text, n->s.len);
    out->klass = n->classifier.klass;
    out->danger = n->classifier.danger;
    out->flags = n->flags | n->classifier.flags;
    out->open_quote = n->lexer.open_quote;
    out->redacted = NULL;
    out->redacted_len = 0;
    if (n->classifier.secret) {
        if (qt_redact(&n->redacted, sql, len) != 0)
            return qt_fail(error, QT_ENOMEM, "out of memory for a statement of %zu bytes", len);
        out->redacted = n->redacted.text;
        out->redacted_len = n->redacted.len;
        out->flags |= QT_F_REDACTED;
    }
    return QT_OK;
}
