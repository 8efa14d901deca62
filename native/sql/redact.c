/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   tokens -> as they are, but for literals: '<redacted>', and comments: nothing -> at most QT_REDACTED_KEPT bytes
 */
#include "sql/redact.h"

#include <stdlib.h>
#include <string.h>

#include "sql/lexer.h"
#include "sql/names.h"

int qt_redacted_new(struct qt_redacted *r)
{
    r->len = 0;
    r->text = malloc(QT_REDACTED_KEPT);
    return r->text != NULL ? 0 : -1;
}

void qt_redacted_free(struct qt_redacted *r)
{
    free(r->text);
    r->text = NULL;
}

static void append(struct qt_redacted *r, const char *p, size_t len)
{
    size_t room = QT_REDACTED_KEPT - r->len;
    len = len < room ? len : room;
    memcpy(r->text + r->len, p, len);
    r->len += len;
}

/* What is where a secret is expected, quoted or not: people forget quotes, and logs hold failed statements too. */
struct place {
    int set_password; /* the statement is SET PASSWORD */
    int words;
    int previous, second;
    int assigned; /* behind = */
};

static void step(struct place *at, const struct qt_token *t)
{
    int keyword = t->kind == QT_T_WORD ? t->keyword : QT_K_NONE;
    if (t->kind == QT_T_WORD && ++at->words == 2)
        at->set_password = at->previous == QT_K_set && keyword == QT_K_password;
    if (t->kind == QT_T_SEMICOLON)
        *at = (struct place){0};
    at->second = at->previous;
    at->previous = keyword;
    at->assigned = t->kind == QT_T_OPERATOR && (*t->p == '=' || *t->p == ':');
}

static int is_secret_word(const struct place *at, const struct qt_token *t)
{
    if (t->kind != QT_T_WORD && t->kind != QT_T_QUOTED)
        return 0;
    if (t->keyword == QT_K_password || t->keyword == QT_K_old_password || qt_name_is(t, "random"))
        return 0;
    int identified = at->second == QT_K_identified && at->previous == QT_K_by;
    return identified || (at->second == QT_K_by && at->previous == QT_K_password) || (at->set_password && at->assigned);
}

/* A backslash before a quote ends the literal where the session runs with NO_BACKSLASH_ESCAPES, and then what we take
 * for the text between literals is one. */
static int is_doubtful(const struct qt_token *t)
{
    for (size_t i = 0; i + 1 < t->len; i++)
        if (t->p[i] == '\\' && (t->p[i + 1] == '\'' || t->p[i + 1] == '"'))
            return 1;
    return 0;
}

void qt_redact(struct qt_redacted *r, const struct qt_keywords *keywords, const char *sql, size_t len, int open_quote)
{
    static const char hidden[] = "'<redacted>'";
    struct qt_lexer lexer;
    struct qt_token t;
    struct place place = {0};
    const char *behind = sql; /* the end of the token before */
    int open = open_quote != 0 && open_quote != '*';
    r->len = 0;
    qt_lexer_init(&lexer, keywords, sql, len);
    for (qt_lex(&lexer, &t); t.kind != QT_T_END && r->len < QT_REDACTED_KEPT; qt_lex(&lexer, &t)) {
        int account = t.kind == QT_T_VARIABLE && t.len > 1 && (t.p[1] == '\'' || t.p[1] == '"');
        int text = t.kind == QT_T_STRING || account || (t.kind == QT_T_QUOTED && lexer.open_quote);
        if (t.p > behind)
            append(r, " ", 1);
        if (account)
            append(r, "@", 1);
        if (text || t.kind == QT_T_NUMBER || is_secret_word(&place, &t))
            append(r, hidden, sizeof hidden - 1);
        else
            append(r, t.p, t.len);
        if (text && (open || is_doubtful(&t)))
            return; /* where literals begin and end is not known */
        behind = t.p + t.len;
        step(&place, &t);
    }
}
