/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   tokens -> as they are, but for literals: '<redacted>', and comments: nothing -> at most QT_REDACTED_KEPT bytes
 *
 * Every way to read the text goes along with the first. Where a token of one ends elsewhere, what follows is a literal
 * in one way and code in another: the text ends there.
 */
#include "sql/redact.h"

#include <stdlib.h>
#include <string.h>

#include "sql/lexer.h"
#include "sql/names.h"
#include "sql/readings.h"

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
    int set;      /* SET, CHANGE or START: of a password, or of a variable whose name tells of one; or no statement */
    int password; /* SET PASSWORD */
    int words;
    int previous, second;
    int assigned; /* behind = */
};

static void step(struct place *at, const struct qt_token *t)
{
    int keyword = t->kind == QT_T_WORD ? t->keyword : QT_K_NONE;
    if (t->kind == QT_T_WORD && ++at->words == 1)
        at->set = keyword == QT_K_set || keyword == QT_K_change || keyword == QT_K_start || keyword == QT_K_NONE;
    at->password |= keyword == QT_K_password && at->previous == QT_K_set;
    if (t->kind == QT_T_COMMA)
        at->password = 0;
    if (t->kind == QT_T_SEMICOLON)
        *at = (struct place){0};
    at->second = at->previous;
    at->previous = keyword;
    at->assigned = t->kind == QT_T_OPERATOR && (*t->p == '=' || *t->p == ':');
}

static int is_secret_word(const struct place *at, const struct qt_token *t, const char *end)
{
    if (t->kind != QT_T_WORD && t->kind != QT_T_QUOTED)
        return 0;
    static const char *const plain[] = {"random", "on", "off", "default", "true", "false", NULL};
    static const char *const of_set_password[] = {"for",     "to",   "replace",      "retain",
                                                  "current", "user", "current_user", NULL};
    const char *next = t->p + t->len;
    while (next < end && *next == ' ')
        next++;
    if (t->keyword == QT_K_password || t->keyword == QT_K_old_password || qt_name_is_any(t, plain) ||
        (next < end && *next == '(')) /* a function's name */
        return 0;
    int identified = at->second == QT_K_identified && at->previous == QT_K_by;
    if (at->password && at->previous != QT_K_for && !qt_name_is_any(t, of_set_password))
        return 1;
    return identified || (at->second == QT_K_by && at->previous == QT_K_password) || (at->set && at->assigned);
}

static int is_text(const struct qt_token *t)
{
    int account = t->kind == QT_T_VARIABLE && t->len > 1 && (t->p[1] == '\'' || t->p[1] == '"');
    return t->kind == QT_T_STRING || account || (t->kind == QT_T_QUOTED && *t->p == '"'); /* ANSI_QUOTES or not */
}

enum hint { NO_HINT, HINT, HINT_VALUE };

/* In a hint all words behind = or : are its value, up to a comma or parenthesis: token = Bearer abc. */
static enum hint read_hint(enum hint hint, const struct place *at, const struct qt_token *t)
{
    if (t->kind == QT_T_HINT)
        return HINT;
    if (hint == NO_HINT || t->kind == QT_T_COMMENT_END)
        return NO_HINT;
    if (t->kind == QT_T_OPEN || t->kind == QT_T_CLOSE || t->kind == QT_T_COMMA)
        return HINT;
    return at->assigned ? HINT_VALUE : hint;
}

/* The lexers of the other ways, each as far as the first one. */
struct ways {
    struct qt_lexer lexer[QT_MAX_WAYS];
    size_t n;
};

static void begin_ways(struct ways *w, const struct qt_lexer *first, struct qt_session_mode mode, const char *sql,
                       size_t len)
{
    struct qt_session_mode way[QT_MAX_WAYS];
    w->n = qt_other_ways(mode, way);
    for (size_t i = 0; i < w->n; i++) {
        qt_lexer_init(&w->lexer[i], first->keywords, sql, len);
        w->lexer[i].reading = way[i].reading;
        w->lexer[i].charset = way[i].charset;
    }
}

/* Is the first one's next token where it is in every way, and no text in any that it isn't in the first? */
static int agree(struct ways *w, const struct qt_token *t)
{
    struct qt_token other;
    for (size_t i = 0; i < w->n; i++) {
        qt_lex(&w->lexer[i], &other);
        if (other.p != t->p || other.len != t->len || is_text(&other) != is_text(t))
            return 0;
    }
    return 1;
}

/* Does a comment open here that makes code of literals where a server skips it? */
static int hides_quotes(const struct qt_lexer *l, const struct qt_token *t)
{
    if (t->kind != QT_T_EXECUTABLE || l->in_executable != QT_COMMENT_EXECUTED_SOME)
        return 0;
    const char *p = t->p + t->len, *star = qt_comment_end(p, l->all_end), *end = star != NULL ? star : l->all_end;
    for (; p < end; p++)
        if (memchr("'\"`#", *p, 4) != NULL || (p + 1 < end && (memcmp(p, "--", 2) == 0 || memcmp(p, "/*", 2) == 0)))
            return 1;
    return 0;
}

void qt_redact(struct qt_redacted *r, const struct qt_lexer *first, struct qt_session_mode mode, const char *sql,
               size_t len)
{
    static const char hidden[] = "'<redacted>'";
    struct qt_lexer lexer;
    struct qt_token t;
    struct place place = {0};
    struct ways ways;
    const char *behind = sql; /* the end of the token before */
    enum hint hint = NO_HINT;
    int open = first->open_quote != 0 && first->open_quote != '*';
    r->len = 0;
    qt_lexer_init(&lexer, first->keywords, sql, len);
    lexer.reading = mode.reading;
    lexer.charset = mode.charset;
    begin_ways(&ways, first, mode, sql, len);
    for (qt_lex(&lexer, &t); t.kind != QT_T_END && r->len < QT_REDACTED_KEPT; qt_lex(&lexer, &t)) {
        hint = read_hint(hint, &place, &t);
        int text = is_text(&t) || (t.kind == QT_T_QUOTED && lexer.open_quote),
            sure = agree(&ways, &t) && !hides_quotes(&lexer, &t);
        if (t.p > behind)
            append(r, " ", 1);
        if (t.kind == QT_T_VARIABLE && text)
            append(r, "@", 1);
        if (!sure || text || t.kind == QT_T_NUMBER || (hint == HINT_VALUE && t.kind == QT_T_WORD) ||
            is_secret_word(&place, &t, sql + len))
            append(r, hidden, sizeof hidden - 1);
        else
            append(r, t.p, t.len);
        if (!sure || (text && open))
            return; /* where literals begin and end is not known */
        behind = t.p + t.len;
        step(&place, &t);
    }
}
