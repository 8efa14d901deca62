/* SPDX-License-Identifier: Apache-2.0 */
/* One pass: tokens -> normalized text -> XXH3. The same tokens feed the classifier.
 *
 *   SELECT a,B FROM `t` WHERE id IN (1, 2) AND x=-5 -- why   ->   select a, b from t where id in (?+) and x = ?
 *
 * Rules:
 *
 * - Words are in lower case. Plain identifiers lose their back quotes.
 * - A literal becomes ?. Any number of literals in a list becomes ?+ (normalize_lists.c).
 * - A sign belongs to a literal if an operand is expected.
 * - NULL, TRUE and FALSE are literals if a value is expected. Elsewhere they are words (IS NULL, NOT NULL, DEFAULT
 *   NULL).
 * - LIMIT n OFFSET m becomes LIMIT m, n.
 * - Comments are removed. Hints and executable comments stay.
 * - Spacing is uniform and does not depend on the client's text.
 *
 * Memory use does not depend on the statement's size; text.c sets the limit. The digest covers the whole text. Callers
 * get the first 64 KiB of the text.
 *
 * The code does not recurse or look ahead. Text that was written too early is removed again. Examples are a sign and
 * the DATE of DATE'...'. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "sql/normalize_lists.h"
#include "sql/readings.h"
#include "sql/secrets.h"

struct qt_normalizer *qt_normalizer_new(void)
{
    struct qt_normalizer *n = calloc(1, sizeof *n);
    if (n == NULL)
        return NULL;
    qt_keywords_init(&n->keywords);
    if (qt_text_new(&n->text) != 0 || qt_redacted_new(&n->redacted) != 0) {
        qt_normalizer_free(n);
        return NULL;
    }
    return n;
}

void qt_normalizer_free(struct qt_normalizer *n)
{
    if (n == NULL)
        return;
    qt_text_free(&n->text);
    qt_redacted_free(&n->redacted);
    qt_names_free(&n->names);
    free(n);
}

static void mark(struct qt_normalizer *n)
{
    n->mark = (struct qt_mark){n->text.len, n->keyword, n->before, n->level->element};
}

static void take_back(struct qt_normalizer *n)
{
    n->text.len = n->mark.len;
    n->level->element = n->mark.element;
    qt_became(n, n->mark.before, n->mark.keyword);
}

static void fold(struct qt_normalizer *n)
{
    n->mark.len -= qt_text_room(&n->text); /* moves with the text; a word that no longer fits is not removed */
}

static inline uint64_t lower8(uint64_t x)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t low = x & (ones * 0x7f);
    uint64_t upper = ((low + ones * (0x80 - 'A')) ^ (low + ones * (0x7f - 'Z'))) & ~x & (ones * 0x80);
    return x | upper >> 2;
}

/* Writes at most QT_TEXT_PIECE minus a few bytes. Reads and writes eight bytes at a time as far as the statement
 * allows. */
static inline void put_lower_piece(struct qt_normalizer *n, const char *p, size_t len)
{
    char *out = n->text.p + n->text.len;
    const char *end = p + len;
    n->text.len += len;
    for (; p < end && n->lexer.all_end - p >= 8; p += 8, out += 8) {
        uint64_t eight;
        memcpy(&eight, p, 8);
        eight = lower8(eight);
        memcpy(out, &eight, 8);
    }
    for (; p < end; p++)
        *out++ = qt_lower(*p);
}

static inline void put_lower(struct qt_normalizer *n, const char *p, size_t len)
{
    const size_t most = QT_TEXT_PIECE - 64;
    for (; len > most; p += most, len -= most) {
        put_lower_piece(n, p, most);
        fold(n);
    }
    put_lower_piece(n, p, len);
}

static int operand_expected(const struct qt_normalizer *n)
{
    const unsigned none = 1u << QT_B_LITERAL | 1u << QT_B_CLOSE | 1u << QT_B_DOT | 1u << QT_B_SYSTEM;
    if (n->before == QT_B_WORD)
        return qt_keyword_flags[n->keyword] & QT_KW_SIGN;
    return !(none >> n->before & 1);
}

static void literal(struct qt_normalizer *n, int kind)
{
    if (kind == QT_T_STRING && n->string_before)
        return; /* adjacent strings are one literal: 'a' 'b' */
    char last = n->before == QT_B_UNARY ? n->text.p[n->text.len - 1] : 0;
    int introducer = n->before == QT_B_WORD && (qt_keyword_flags[n->keyword] & QT_KW_PREFIX) && !n->comment_before &&
                     (kind == QT_T_STRING || n->keyword > QT_K_timestamp);
    if (introducer || last == '-' || last == '+')
        take_back(n);
    qt_gap(n);
    qt_put(n, '?');
    n->level->element = n->level->element == QT_E_EMPTY ? QT_E_LITERAL : QT_E_OTHER;
    qt_became(n, QT_B_LITERAL, n->before == QT_B_WORD && n->keyword == QT_K_limit ? QT_K_limit : 0);
}

/* Returns 1 for NULL, TRUE and FALSE. */
static int is_value(const struct qt_normalizer *n)
{
    if (n->before == QT_B_WORD)
        return qt_keyword_flags[n->keyword] & QT_KW_VALUE;
    return n->before != QT_B_START && operand_expected(n);
}

static void put_word(struct qt_normalizer *n, const char *p, size_t len, int keyword)
{
    mark(n);
    qt_gap(n);
    put_lower(n, p, len);
    n->level->element = QT_E_OTHER;
    qt_became(n, QT_B_WORD, keyword);
}

static void word(struct qt_normalizer *n, const struct qt_token *t)
{
    switch (t->keyword) {
    case QT_K_null:
    case QT_K_true:
    case QT_K_false:
        if (is_value(n)) {
            literal(n, t->kind);
            return;
        }
        break;
    case QT_K_offset:
        if (n->before == QT_B_LITERAL && n->keyword == QT_K_limit) {
            qt_list_comma(n);
            return;
        }
        break;
    case QT_K_row:
        if ((n->level->list && n->level->element == QT_E_EMPTY) ||
            (n->before == QT_B_WORD && n->keyword == QT_K_values)) {
            n->row_held = 1; /* ROW(1,2) equals (1,2) */
            return;
        }
        break;
    case QT_K_select:
    case QT_K_with:
    case QT_K_values:
    case QT_K_table:
        if (n->before == QT_B_OPEN)
            n->level->list = 0; /* a subquery is not a list */
        break;
    default:
        break;
    }
    put_word(n, t->p, t->len, t->keyword);
}

/* Writes a word that is not in the statement. */
static void put_own(struct qt_normalizer *n, const char *text)
{
    put_word(n, text, 0, QT_K_NONE);
    while (*text)
        qt_put(n, *text++);
}

static int is_plain(const char *p, size_t len)
{
    int digits = 1;
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)p[i] >= 0x80 || !(qt_char_class[(unsigned char)p[i]] & QT_C_IDENT))
            return 0;
        digits &= (qt_char_class[(unsigned char)p[i]] & QT_C_DIGIT) != 0;
    }
    return !digits;
}

static void quoted(struct qt_normalizer *n, const struct qt_token *t)
{
    if (t->len > 2 && t->p[t->len - 1] == *t->p && is_plain(t->p + 1, t->len - 2))
        put_word(n, t->p + 1, t->len - 2, QT_K_NONE);
    else
        put_word(n, t->p, t->len, QT_K_NONE);
}

static void variable(struct qt_normalizer *n, const struct qt_token *t)
{
    if (t->len > 1 && (t->p[1] == '\'' || t->p[1] == '"'))
        put_own(n, "@?"); /* host of an account, as in 'app'@'10.%' */
    else
        put_word(n, t->p, t->len, QT_K_NONE);
}

static void operator(struct qt_normalizer *n, const struct qt_token *t)
{
    int arrow = t->len > 1 && t->p[0] == '-';
    int unary = t->len == 1 && memchr("-+!~", *t->p, 4) != NULL && operand_expected(n);
    mark(n);
    if (!arrow)
        qt_gap(n);
    for (size_t i = 0; i < t->len; i++)
        qt_put(n, t->p[i]);
    n->level->element = QT_E_OTHER;
    qt_became(n, arrow ? QT_B_ARROW : unary ? QT_B_UNARY : QT_B_OPERATOR, 0);
}

static void punctuation(struct qt_normalizer *n, const struct qt_token *t)
{
    n->level->element = QT_E_OTHER;
    n->comment_before = 0;
    if (t->kind == QT_T_DOT) {
        qt_put(n, '.');
        qt_became(n, QT_B_DOT, 0);
    } else {
        qt_gap(n);
        qt_put(n, '@');
        qt_put(n, '@');
        qt_became(n, QT_B_SYSTEM, 0);
    }
}

static void comment(struct qt_normalizer *n, const struct qt_token *t)
{
    int end = t->kind == QT_T_COMMENT_END, hint = t->kind == QT_T_HINT;
    if (hint)
        mark(n), n->hint = n->mark;
    if (end)
        n->comment_before = 1;
    qt_gap(n);
    qt_put(n, end ? '*' : '/');
    qt_put(n, end ? '/' : '*');
    if (!end)
        qt_put(n, hint ? '+' : '!');
    n->comment_before = 1;
    n->level->element = QT_E_OTHER;
    if (hint)
        qt_became(n, QT_B_OPERATOR, 0);
    else if (end && n->hint.before == QT_B_WORD) {
        qt_became(n, n->hint.before, n->hint.keyword); /* the text after a hint does not depend on the hint */
        n->hint.before = QT_B_START;
    }
}

/* Each statement of a text begins with a fresh state. Semicolons at the end are not written. */
static void semicolon(struct qt_normalizer *n)
{
    n->semicolon = n->before != QT_B_START;
    n->depth = 0;
    n->level = &n->plain;
    n->rows = QT_ROWS_NONE;
}

/* Writes pending text before this token. */
static void write_held(struct qt_normalizer *n, const struct qt_token *t)
{
    if (n->semicolon) {
        n->semicolon = 0;
        qt_put(n, ';');
        qt_became(n, QT_B_COMMA, 0);
    }
    if (n->row_held) {
        n->row_held = 0;
        if (t->kind != QT_T_OPEN)
            put_own(n, "row");
    }
}

static void token(struct qt_normalizer *n, const struct qt_token *t)
{
    fold(n);
    if (n->rows != QT_ROWS_NONE && t->kind != QT_T_SEMICOLON && qt_list_skip(n, t))
        return;
    if ((n->semicolon | n->row_held) && t->kind != QT_T_SEMICOLON)
        write_held(n, t);
    switch (t->kind) {
    case QT_T_WORD:
        word(n, t);
        break;
    case QT_T_STRING:
    case QT_T_NUMBER:
    case QT_T_PARAM:
        literal(n, t->kind);
        break;
    case QT_T_QUOTED:
        quoted(n, t);
        break;
    case QT_T_VARIABLE:
        variable(n, t);
        break;
    case QT_T_OPERATOR:
        operator(n, t);
        break;
    case QT_T_OPEN:
        qt_list_open(n);
        break;
    case QT_T_CLOSE:
        qt_list_close(n);
        break;
    case QT_T_COMMA:
        qt_list_comma(n);
        break;
    case QT_T_SEMICOLON:
        semicolon(n);
        break;
    case QT_T_DOT:
    case QT_T_SYSTEM:
        punctuation(n, t);
        break;
    default:
        comment(n, t);
    }
    n->string_before = t->kind == QT_T_STRING;
}

static void begin(struct qt_normalizer *n, struct qt_session_mode mode, const char *sql, size_t len)
{
    qt_lexer_init(&n->lexer, &n->keywords, sql, len);
    n->lexer.reading = mode.reading;
    n->lexer.charset = mode.charset;
    qt_classify_begin(&n->classifier);
    qt_text_begin(&n->text);
    n->before = QT_B_START;
    n->keyword = n->string_before = n->comment_before = n->row_held = n->semicolon = 0;
    n->rows = QT_ROWS_NONE;
    n->hint.before = QT_B_START;
    n->depth = 0;
    n->level = &n->plain;
    n->plain = (struct qt_paren){0};
}

int qt_normalize(struct qt_normalizer *n, const struct qt_session_mode *known, const char *sql, size_t len,
                 struct qt_statement *out, struct qt_error *error)
{
    struct qt_session_mode mode = known != NULL ? *known : (struct qt_session_mode){0};
    struct qt_token t;
    if (n == NULL || out == NULL || (sql == NULL && len > 0))
        return qt_fail(error, QT_EINVALID, "qt_normalize: expected a normaliser, a statement and a result, found NULL");
    if (sql == NULL)
        sql = "";
    begin(n, mode, sql, len);
    const char *behind = sql; /* end of the previous token; comments or blanks follow */
    int secret = 0;
    for (qt_lex(&n->lexer, &t); t.kind != QT_T_END; qt_lex(&n->lexer, &t)) {
        if (t.p > behind)
            secret |= qt_secret_in_gap(behind, (size_t)(t.p - behind));
        behind = t.p + t.len;
        qt_classify(&n->classifier, &t);
        if (t.kind == QT_T_STRING)
            secret |= qt_read_inner(&n->classifier, n->lexer.keywords, &t);
        token(n, &t);
    }
    qt_classify_end(&n->classifier);
    secret |= qt_secret_in_gap(behind, (size_t)(sql + len - behind));
    secret |= (n->classifier.classes & 1u << QT_CLASS_ADMIN) && qt_secret_in_nonsense(sql, len);
    n->classifier.secret |= secret;
    if (n->classifier.sets_mode > 1)
        mode.known = 0; /* the text may change the mode before its end */
    if (n->lexer.saw | n->lexer.saw_comments | qt_is_wide(mode.charset))
        qt_readings(&n->classifier, &n->lexer, mode, sql, len);
    out->digest = qt_text_digest(&n->text, &out->text_len);
    out->text = n->text.p;
    out->klass = n->classifier.klass;
    out->danger = n->classifier.danger;
    out->flags = n->classifier.flags;
    out->actions = n->classifier.actions;
    out->open_quote = n->lexer.open_quote;
    out->sets_mode = n->classifier.sets_mode;
    out->redacted = NULL;
    out->redacted_len = 0;
    if (n->classifier.secret) {
        qt_redact(&n->redacted, &n->lexer, mode, sql, len);
        out->redacted = n->redacted.text;
        out->redacted_len = n->redacted.len;
        out->flags |= QT_F_REDACTED;
    }
    return QT_OK;
}
