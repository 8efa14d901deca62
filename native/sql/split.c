/* SPDX-License-Identifier: Apache-2.0 */
/* Each reading splits a text by its own tokens. If two possible readings differ, the result is uncertain. */
#include "sql/split.h"

#include <stdlib.h>
#include <string.h>

#include "sql/keywords.h"
#include "sql/lexer.h"
#include "sql/readings.h"

/* Returns 1 for statements that contain other statements or return several results. */
static int hides_others(int keyword)
{
    switch (keyword) {
    case QT_K_begin: /* BEGIN NOT ATOMIC; after a plain BEGIN, the INSERTs count */
    case QT_K_create:
    case QT_K_alter:
    case QT_K_call:
    case QT_K_execute:
    case QT_K_declare:
    case QT_K_if:
    case QT_K_case:
    case QT_K_for:
    case QT_K_loop:
    case QT_K_while:
    case QT_K_repeat:
    case QT_K_end:
        return 1;
    default:
        return 0;
    }
}

static int is_mere_begin(struct qt_lexer lexer)
{
    struct qt_token t;
    qt_lex(&lexer, &t);
    return t.kind == QT_T_SEMICOLON || t.kind == QT_T_END || (t.kind == QT_T_WORD && t.keyword == QT_K_work);
}

static int add_insert(struct qt_split *s, size_t at)
{
    if (s->n_inserts == s->room) {
        size_t room = s->room > 0 ? 2 * s->room : 16;
        size_t *larger = realloc(s->inserts, room * 2 * sizeof *larger);
        if (larger == NULL)
            return -1;
        s->inserts = larger;
        s->room = room;
    }
    s->inserts[2 * s->n_inserts] = (size_t)s->statements - 1;
    s->inserts[2 * s->n_inserts++ + 1] = at;
    return 0;
}

/* Returns the keyword of a statement's first token. For SET STATEMENT ... FOR, returns the keyword after FOR. The lexer
 * is after the first token. */
static int verb_of(struct qt_lexer lexer, const struct qt_token *first)
{
    struct qt_token t;
    if (first->kind != QT_T_WORD || first->keyword != QT_K_set)
        return first->kind == QT_T_WORD ? first->keyword : QT_K_NONE;
    qt_lex(&lexer, &t);
    if (t.kind != QT_T_WORD || t.keyword != QT_K_statement)
        return QT_K_set;
    while (t.kind != QT_T_END && t.kind != QT_T_SEMICOLON && !(t.kind == QT_T_WORD && t.keyword == QT_K_for))
        qt_lex(&lexer, &t);
    if (t.kind == QT_T_WORD)
        qt_lex(&lexer, &t);
    return t.kind == QT_T_WORD ? t.keyword : QT_K_set;
}

/* Returns 1 if the token makes the result uncertain for the whole text. */
static int is_uncertain(const struct qt_lexer *lexer, const struct qt_token *t, int first, int verb)
{
    if (t->kind == QT_T_EXECUTABLE)
        return 1;
    if (t->kind != QT_T_WORD)
        return 0;
    if (t->keyword == QT_K_row_count || t->keyword == QT_K_found_rows)
        return 1;
    return first && hides_others(verb) && !(t->keyword == QT_K_begin && is_mere_begin(*lexer));
}

/* Returns 0 on success, 1 if this reading is impossible, and -1 when out of memory. */
static int split_once(struct qt_split *s, struct qt_lexer *lexer, const char *sql)
{
    struct qt_token t;
    const char *rest = sql, *end = lexer->end;
    int first = 1, certain = 1;
    s->statements = 0;
    s->n_inserts = 0;
    for (qt_lex(lexer, &t); t.kind != QT_T_END && certain; qt_lex(lexer, &t)) {
        if (t.kind == QT_T_SEMICOLON) {
            first = 1;
            rest = t.p + t.len;
            continue;
        }
        int verb = first ? verb_of(*lexer, &t) : QT_K_NONE;
        certain = !is_uncertain(lexer, &t, first, verb) && s->statements < QT_MAX_SPLIT;
        s->statements += first;
        if ((verb == QT_K_insert || verb == QT_K_replace) && add_insert(s, (size_t)(t.p - sql)) != 0)
            return -1;
        first = 0;
    }
    if (!certain)
        s->statements = -1;
    while (rest < end && qt_char_class[(unsigned char)*rest] & QT_C_SPACE)
        rest++;
    s->comment_behind = first && s->statements > 0 && rest < end;
    return lexer->open_quote != 0;
}

static int are_equal(const struct qt_split *a, const struct qt_split *b)
{
    if (a->statements != b->statements || a->comment_behind != b->comment_behind || a->n_inserts != b->n_inserts)
        return 0;
    for (size_t i = 0; i < 2 * a->n_inserts; i++)
        if (a->inserts[i] != b->inserts[i])
            return 0;
    return 1;
}

static int split_so(struct qt_split *s, struct qt_lexer *lexer, const struct qt_keywords *keywords,
                    struct qt_session_mode way, const char *sql, size_t len)
{
    qt_lexer_init(lexer, keywords, sql, len);
    lexer->reading = way.reading;
    lexer->charset = way.charset;
    return split_once(s, lexer, sql);
}

int qt_split_text(struct qt_split *s, struct qt_session_mode mode, const char *sql, size_t len)
{
    struct qt_session_mode way[QT_MAX_WAYS];
    struct qt_keywords keywords;
    struct qt_lexer lexer;
    struct qt_split other = {.room = 0};
    qt_keywords_init(&keywords);
    int code = split_so(s, &lexer, &keywords, mode, sql, len);
    int saw = lexer.saw | qt_is_wide(mode.charset), wide = qt_holds_wide(sql, len);
    int blank = saw & QT_SAW_BLANK || qt_is_wide(mode.charset) ? qt_holds_high_blank(sql, len) : 0;
    size_t ways = code == 0 && saw != 0 ? qt_other_ways(mode, way) : 0;
    if (code > 0)
        s->statements = -1;
    for (size_t i = 0; i < ways && code == 0; i++) {
        if (!wide && !blank && way[i].charset != mode.charset)
            continue;
        code = split_so(&other, &lexer, &keywords, way[i], sql, len);
        if (code == 0 && !are_equal(s, &other))
            s->statements = -1;
        code = code < 0 ? code : 0;
    }
    qt_split_free(&other);
    return code < 0 ? -1 : 0;
}

/* Returns 1 for statements whose body may contain semicolons: BEGIN NOT ATOMIC, CREATE PROCEDURE, IF. */
static int may_have_body(const struct qt_lexer *lexer, const struct qt_token *t)
{
    if (t->kind != QT_T_WORD || t->keyword == QT_K_call || t->keyword == QT_K_execute)
        return 0;
    return hides_others(t->keyword) && !(t->keyword == QT_K_begin && is_mere_begin(*lexer));
}

static int holds_several_so(struct qt_lexer *lexer)
{
    struct qt_token t;
    int statements = 0, inside = 0, has_body = 0;
    for (qt_lex(lexer, &t); t.kind != QT_T_END; qt_lex(lexer, &t)) {
        int begins = !inside && t.kind != QT_T_SEMICOLON && !has_body;
        inside = t.kind != QT_T_SEMICOLON;
        statements += begins;
        has_body = has_body || (begins && may_have_body(lexer, &t));
    }
    return statements > 1;
}

int qt_holds_several(const char *sql, size_t len)
{
    struct qt_keywords keywords;
    struct qt_lexer lexer;
    int several = 0, possible = 0;
    if (memchr(sql, ';', len) == NULL)
        return 0;
    qt_keywords_init(&keywords);
    for (uint8_t reading = 0; !possible && reading <= (QT_READ_NO_BACKSLASH | QT_READ_ANSI); reading++) {
        qt_lexer_init(&lexer, &keywords, sql, len);
        lexer.reading = reading;
        several = holds_several_so(&lexer);
        possible = lexer.open_quote == 0;
    }
    return several && possible;
}

void qt_split_free(struct qt_split *s)
{
    free(s->inserts);
    s->inserts = NULL;
    s->n_inserts = s->room = 0;
}
