/* SPDX-License-Identifier: Apache-2.0 */
/* A text may be sent where every danger in it is allowed, in every reading, and the class of each of its statements.
 * An EXECUTE has been looked at with its PREPARE: one that was refused is not prepared. */
#include "engine/permit.h"

#include <stdlib.h>

#include "sql/readings.h"

struct qt_permit {
    struct qt_keywords keywords;
    uint32_t dangers, classes;
    int reads_only;
};

struct qt_permit *qt_permit_new(const struct qt_engine_options *o)
{
    struct qt_permit *p = calloc(1, sizeof *p);
    if (p == NULL)
        return NULL;
    qt_keywords_init(&p->keywords);
    p->dangers = (uint32_t)o->allowed_dangers;
    p->classes = (uint32_t)o->allowed_classes;
    p->reads_only = o->reads_only;
    return p;
}

void qt_permit_free(struct qt_permit *p) { free(p); }

/* The text between the quotes of a literal, as the server reads it: escapes and doubled quotes undone. Returns its
 * length; `to` has room for t->len bytes. */
static size_t undo_quotes(const struct qt_token *t, char *to)
{
    const char *p = t->p, *end = t->p + t->len;
    size_t n = 0;
    while (p < end && *p != '\'' && *p != '"')
        p++;
    if (p == end)
        return 0;
    char quote = *p++;
    for (; p < end; p++) {
        if (p + 1 < end && (*p == '\\' || (*p == quote && p[1] == quote)))
            p++;
        else if (*p == quote)
            break;
        to[n++] = *p;
    }
    return n;
}

/* PREPARE ... FROM '...' and EXECUTE IMMEDIATE '...' run what is in the literal. What a variable holds is not known, as
 * with CALL: both need writes allowed. */
static uint32_t dangers_of_literals(const struct qt_permit *p, const char *sql, size_t len)
{
    struct qt_lexer lexer;
    struct qt_token t;
    struct qt_classifier c;
    uint32_t dangers = 0;
    char *text = malloc(len > 0 ? len : 1);
    if (text == NULL)
        return UINT32_MAX;
    qt_lexer_init(&lexer, &p->keywords, sql, len);
    for (qt_lex(&lexer, &t); t.kind != QT_T_END; qt_lex(&lexer, &t))
        if (t.kind == QT_T_STRING) {
            qt_readings_all(&c, &p->keywords, text, undo_quotes(&t, text));
            dangers |= c.dangers;
        }
    free(text);
    return dangers;
}

int qt_is_permitted(const struct qt_permit *p, const struct qt_planned_event *ev)
{
    struct qt_classifier c;
    if (p == NULL)
        return 1;
    if (ev->command == QT_COMMAND_PROCESS_KILL)
        return p->dangers >> QT_DANGER_KILL & 1;
    if (ev->len == SIZE_MAX)
        return 1;
    qt_readings_all(&c, &p->keywords, ev->statement, ev->len);
    if (c.flags & QT_F_SQL_PREPARE)
        c.dangers |= dangers_of_literals(p, ev->statement, ev->len);
    return (c.dangers & ~p->dangers) == 0 && (c.classes & ~p->classes) == 0 && !(p->reads_only && c.lifts_read_only);
}
