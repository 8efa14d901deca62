/* SPDX-License-Identifier: Apache-2.0 */
/* Functions for single properties of a statement in its session's reading: its names, its form, its placeholders, the
 * target of a KILL. */
#include "base/error.h"
#include "sql/names.h"
#include "sql/normal_text.h"
#include "sql/properties.h"

static void begin(struct qt_lexer *lexer, const struct qt_normalizer *n, const struct qt_session_mode *mode,
                  const char *sql, size_t len)
{
    qt_lexer_init(lexer, &n->keywords, sql, len);
    lexer->reading = mode != NULL ? mode->reading : 0;
    lexer->charset = mode != NULL ? mode->charset : QT_NARROW;
}

uint64_t qt_statement_properties(const struct qt_normalizer *n, const struct qt_session_mode *mode, const char *sql,
                                 size_t len)
{
    struct qt_lexer lexer;
    begin(&lexer, n, mode, sql, len);
    return qt_properties_read(&lexer);
}

int qt_statement_names(struct qt_normalizer *n, const struct qt_session_mode *mode, const char *sql, size_t len,
                       struct qt_statement_names *out, struct qt_error *error)
{
    struct qt_lexer lexer;
    begin(&lexer, n, mode, sql, len);
    if (qt_names_read(&n->names, &lexer) != 0)
        return qt_fail(error, QT_ENOMEM, "out of memory for the names in a statement");
    out->tables = n->names.tables.p;
    out->tables_len = n->names.tables.len;
    out->calls = n->names.calls.p;
    out->calls_len = n->names.calls.len;
    return QT_OK;
}

size_t qt_placeholders(const char *sql, size_t len, int32_t reading, size_t *offsets, size_t most)
{
    struct qt_keywords keywords;
    struct qt_lexer lexer;
    struct qt_token t;
    size_t found = 0;
    qt_keywords_init(&keywords);
    qt_lexer_init(&lexer, &keywords, sql, len);
    lexer.reading = (uint8_t)reading;
    for (qt_lex(&lexer, &t); t.kind != QT_T_END; qt_lex(&lexer, &t)) {
        if (t.kind != QT_T_PARAM)
            continue;
        if (found < most)
            offsets[found] = (size_t)(t.p - sql);
        found++;
    }
    return found;
}

/* Returns the number of a token that has only digits, or -1. */
static int64_t number_of(const struct qt_token *t)
{
    int64_t number = 0;
    for (size_t i = 0; i < t->len; i++) {
        int digit = t->p[i] - '0';
        if (digit < 0 || digit > 9 || number > (INT64_MAX - digit) / 10)
            return -1;
        number = 10 * number + digit;
    }
    return number;
}

/* Skips one of two words. Returns 1 for the first, 2 for the second, 0 for another token. */
static int take_word(struct qt_lexer *lexer, struct qt_token *t, const char *first, const char *second)
{
    int found = t->kind != QT_T_WORD ? 0 : qt_name_is(t, first) ? 1 : qt_name_is(t, second) ? 2 : 0;
    if (found)
        qt_lex(lexer, t);
    return found;
}

int64_t qt_killed_thread(const struct qt_normalizer *n, const char *sql, size_t len, int32_t *ends_session)
{
    struct qt_lexer lexer;
    struct qt_token t;
    begin(&lexer, n, NULL, sql, len);
    *ends_session = 1;
    qt_lex(&lexer, &t);
    if (!take_word(&lexer, &t, "kill", "kill"))
        return -1;
    take_word(&lexer, &t, "hard", "soft");
    *ends_session = take_word(&lexer, &t, "connection", "query") != 2;
    int64_t thread = t.kind == QT_T_NUMBER ? number_of(&t) : -1;
    do
        qt_lex(&lexer, &t);
    while (t.kind == QT_T_SEMICOLON);
    return t.kind == QT_T_END ? thread : -1;
}
