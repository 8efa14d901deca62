/* SPDX-License-Identifier: Apache-2.0 */
/* the default reading ─► no bytes that other readings read differently: done
 *                       └► each other reading ─► impossible from some statement on (a backslash outside of quotes, a
 *                                                literal that never ends): only the statements before it count
 *
 * A session cannot use an impossible reading. Without this test a part of each 'it\'s' would count as code. If only
 * some servers execute a comment, each reading is made with and without the comment. */
#include "sql/readings.h"

#include <string.h>

#include "sql/classify.h"
#include "sql/secrets.h"

static int may_hold_statements(const struct qt_classifier *c)
{
    switch (c->words[0]) {
    case QT_K_prepare:
    case QT_K_execute:
    case QT_K_set:
    case QT_K_declare:
    case QT_K_create:
    case QT_K_alter:
        return 1;
    default:
        return 0;
    }
}

/* Returns 1 if the literal is the text that runs: PREPARE s FROM '...', EXECUTE IMMEDIATE '...'. Values after USING do
 * not count. */
static int is_run(const struct qt_classifier *c)
{
    return (c->words[0] == QT_K_prepare && c->n_words == 3) || (c->words[0] == QT_K_execute && c->n_words == 2);
}

/* Reads the text between the quotes as it is written. Doubled or escaped quotes inside it also begin and end
 * literals. */
int qt_read_inner(struct qt_classifier *c, const struct qt_keywords *keywords, const struct qt_token *literal)
{
    struct qt_classifier inner;
    struct qt_lexer lexer;
    struct qt_token t;
    const char *end = literal->p + literal->len;
    const char *p = literal->len > 0 ? memchr(literal->p, *(end - 1), literal->len) : NULL;
    if (p == NULL || !may_hold_statements(c))
        return 0;
    if (end - p > 1)
        end--;
    p++;
    if (p > end)
        return 0;
    qt_lexer_init(&lexer, keywords, p, (size_t)(end - p));
    qt_classify_begin(&inner);
    int given = 0; /* USING fills a ? with a key: EXECUTE IMMEDIATE 'SELECT SHA2(?, 256)' USING '...' */
    for (qt_lex(&lexer, &t); t.kind != QT_T_END; qt_lex(&lexer, &t)) {
        qt_classify(&inner, &t);
        given |= t.kind == QT_T_PARAM && inner.cipher_depth > 0 && c->words[0] == QT_K_execute;
    }
    qt_classify_end(&inner);
    if (is_run(c))
        qt_classify_runs(c, &inner);
    return inner.secret || given;
}

/* Returns 1 for a backslash outside quotes, which is an error in every server. \N is allowed and means NULL. */
static int is_impossible(const struct qt_token *t, const char *end)
{
    return t->kind == QT_T_OPERATOR && *t->p == '\\' && (t->p + 1 >= end || t->p[1] != 'N');
}

/* Classifies a text in the lexer's reading. The lexer must be at the beginning of the text. `own`: this is the
 * session's own reading and therefore always possible. */
static void read_once(struct qt_classifier *c, struct qt_lexer *lexer, int own)
{
    const char *sql = lexer->at, *end = lexer->all_end;
    struct qt_token t;
    int secret = c->secret, possible = 1;
    uint32_t flags = c->flags;
    const char *behind = sql; /* end of the previous token; comments or blanks follow */
    qt_classify_again(c);
    for (qt_lex(lexer, &t); t.kind != QT_T_END && possible; qt_lex(lexer, &t)) {
        possible = own || !is_impossible(&t, end);
        if (possible) {
            c->secret |= qt_secret_in_gap(behind, (size_t)(t.p - behind));
            qt_classify(c, &t);
            if (t.kind == QT_T_STRING)
                c->secret |= qt_read_inner(c, lexer->keywords, &t);
        }
        behind = t.p + t.len;
    }
    if (possible)
        c->secret |= qt_secret_in_gap(behind, (size_t)(end - behind));
    if (!own && (!possible || (lexer->open_quote != 0 && lexer->open_quote != '*'))) {
        qt_classify_drop(c);
        c->flags = flags;
        c->secret = possible ? c->secret : secret; /* a log may have cut off the end */
    }
    qt_classify_end(c);
}

/* Reads a text once for each way in which servers treat its comments. The first way is `comments`. `saw` has the known
 * differences, and a reading may add more. */
static void read_comments(struct qt_classifier *c, const struct qt_keywords *keywords, const char *sql, size_t len,
                          struct qt_session_mode way, unsigned comments, unsigned saw, int own)
{
    for (; comments <= QT_READ_COMMENTS; comments++) {
        struct qt_lexer lexer;
        if ((comments & ~saw) != 0)
            continue;
        qt_lexer_init(&lexer, keywords, sql, len);
        lexer.reading = way.reading;
        lexer.charset = way.charset;
        lexer.comments = (uint8_t)comments;
        read_once(c, &lexer, own);
        saw |= lexer.saw_comments;
    }
}

int qt_holds_wide(const char *p, size_t len)
{
    for (size_t i = 1; i < len; i++)
        if ((p[i] == '\\' || p[i] == '`') && p[i - 1] & 0x80)
            return 1;
    return 0;
}

int qt_holds_high_blank(const char *p, size_t len)
{
    return memchr(p, 0xA0, len) != NULL || memchr(p, 0xFF, len) != NULL;
}

size_t qt_other_ways(struct qt_session_mode own, struct qt_session_mode *way)
{
    unsigned fixed = own.known & (QT_READ_NO_BACKSLASH | QT_READ_ANSI);
    size_t n = 0;
    for (unsigned charset = QT_NARROW; charset < QT_CHARSETS; charset++)
        for (unsigned reading = 0; reading <= (QT_READ_NO_BACKSLASH | QT_READ_ANSI); reading++) {
            if (((reading ^ own.reading) & fixed) != 0 || (own.known & QT_KNOWS_CHARSET && charset != own.charset) ||
                (reading == own.reading && charset == own.charset))
                continue;
            way[n++] = (struct qt_session_mode){(uint8_t)reading, (uint8_t)charset, QT_KNOWS_ALL};
        }
    return n;
}

void qt_readings(struct qt_classifier *c, const struct qt_lexer *first, struct qt_session_mode own, const char *sql,
                 size_t len)
{
    struct qt_session_mode way[QT_MAX_WAYS];
    int ends_differ = first->saw & (QT_SAW_BACKSLASH | QT_SAW_WIDE) || qt_is_wide(own.charset), other[QT_CHARSETS];
    int mode = ends_differ && memchr(sql, '\\', len) != NULL, wide = ends_differ && qt_holds_wide(sql, len);
    int ansi = first->saw & QT_SAW_DOUBLE || (ends_differ && memchr(sql, '"', len) != NULL);
    read_comments(c, first->keywords, sql, len, own, 1, first->saw_comments, 1);
    size_t n = qt_other_ways(own, way);
    int blank = qt_is_wide(own.charset) ? qt_holds_high_blank(sql, len) : first->saw & QT_SAW_BLANK;
    for (unsigned charset = QT_NARROW; charset < QT_CHARSETS; charset++)
        other[charset] = charset == own.charset || (qt_is_wide((int)charset) ? wide : blank) ||
                         (charset == QT_NARROW && wide);
    for (size_t i = 0; i < n; i++) {
        unsigned differs = way[i].reading ^ own.reading;
        if (other[way[i].charset] && (mode || !(differs & QT_READ_NO_BACKSLASH)) && (ansi || !(differs & QT_READ_ANSI)))
            read_comments(c, first->keywords, sql, len, way[i], 0, 0, 0);
    }
}

void qt_readings_all(struct qt_classifier *c, const struct qt_keywords *keywords, const char *sql, size_t len)
{
    struct qt_lexer lexer;
    qt_lexer_init(&lexer, keywords, sql, len);
    qt_classify_begin(c);
    read_once(c, &lexer, 1);
    if (lexer.saw | lexer.saw_comments)
        qt_readings(c, &lexer, (struct qt_session_mode){0}, sql, len);
}
