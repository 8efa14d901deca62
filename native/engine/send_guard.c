/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether a text may be sent. Every danger in the text must be allowed, in every reading of the text. The class
 * of each statement must also be allowed. No text may call a function that a library added to the target, because its
 * effects are unknown. An EXECUTE needs no check of its own: its PREPARE was checked, and a refused PREPARE prepares
 * nothing. */
#include "engine/send_guard.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sql/readings.h"

struct qt_send_guard {
    struct qt_keywords keywords;
    uint32_t dangers, classes;
    int reads_only;
    const char *refused_calls; /* owned by the options */
};

struct qt_send_guard *qt_send_guard_new(const struct qt_engine_options *o)
{
    struct qt_send_guard *p = calloc(1, sizeof *p);
    if (p == NULL)
        return NULL;
    qt_keywords_init(&p->keywords);
    p->dangers = (uint32_t)o->allowed_dangers;
    p->classes = (uint32_t)o->allowed_classes;
    p->reads_only = o->reads_only;
    p->refused_calls = o->refused_calls;
    return p;
}

void qt_send_guard_free(struct qt_send_guard *p) { free(p); }

/* Copies the text of a literal without its quotes, escapes and doubled quotes, as the server reads it. Returns its
 * length. `to` must have room for t->len bytes. */
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

/* Returns whether some character sets treat the byte as white space. */
static int is_high_blank(unsigned char c) { return c == 0xA0 || c == 0xFF; }

static int is_name(unsigned char c) { return c == '_' || c == '$' || (c >= 0x80 && !is_high_blank(c)) || isalnum(c); }

/* Returns whether the name at `at` is a complete name. */
static int is_whole(const char *sql, size_t len, size_t at, size_t name_len)
{
    size_t next = at + name_len;
    return !(at > 0 && is_name((unsigned char)sql[at - 1])) && !(next < len && is_name((unsigned char)sql[next]));
}

/* Returns whether the name at `at` is called: a parenthesis follows, or a comment that may precede a parenthesis. */
static int is_called(const char *sql, size_t len, size_t at, size_t name_len)
{
    size_t next = at + name_len;
    if (!is_whole(sql, len, at, name_len))
        return 0;
    while (next < len && (sql[next] == '`' || sql[next] == '"' || isspace((unsigned char)sql[next]) ||
                          is_high_blank((unsigned char)sql[next])))
        next++;
    return next < len && strchr("(/-#", sql[next]) != NULL && sql[next] != 0;
}

/* Searches the names everywhere, even in literals, because another reading of the text may treat a literal as code. */
static int calls_refused(const struct qt_send_guard *p, const char *sql, size_t len)
{
    for (const char *name = p->refused_calls; name != NULL && *name != 0;) {
        int anywhere = *name == ' ';
        name += anywhere;
        size_t n = strcspn(name, "\n");
        for (size_t at = 0; n > 0 && at + n <= len; at++)
            if (strncasecmp(sql + at, name, n) == 0 && (anywhere ? is_whole : is_called)(sql, len, at, n))
                return 1;
        name += n + (name[n] != 0);
    }
    return 0;
}

/* PREPARE ... FROM '...' and EXECUTE IMMEDIATE '...' run the text of the literal. The content of a variable is unknown,
 * as is the body of a routine in CALL. Both cases require that writes are allowed. */
static uint32_t dangers_of_literals(const struct qt_send_guard *p, const char *sql, size_t len)
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
            size_t n = undo_quotes(&t, text);
            qt_readings_all(&c, &p->keywords, text, n);
            dangers |= calls_refused(p, text, n) ? UINT32_MAX : c.dangers;
        }
    free(text);
    return dangers;
}

int qt_may_send(const struct qt_send_guard *p, const struct qt_planned_event *ev)
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
    if (calls_refused(p, ev->statement, ev->len))
        return 0;
    return (c.dangers & ~p->dangers) == 0 && (c.classes & ~p->classes) == 0 && !(p->reads_only && c.lifts_read_only);
}
