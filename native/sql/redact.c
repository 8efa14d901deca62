/* SPDX-License-Identifier: Apache-2.0 */
/* tokens -> unchanged, literals -> '<redacted>', comments -> removed; at most QT_REDACTED_KEPT bytes are kept
 *
 * The lexers of all possible readings advance together with the first lexer. If their tokens end at different
 * positions, the next bytes are a literal in one reading and code in another. The redacted text then ends. */
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

/* The position in a statement, to find places where a secret is expected. A secret may lack its quotes, because logs
 * also contain failed statements. */
struct place {
    int set;      /* the first word is SET, CHANGE, START or no keyword: values may be secrets */
    int password; /* inside SET PASSWORD */
    int words;
    int previous, second;
    int assigned; /* after = or : */
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
        (next < end && *next == '(')) /* the token is a function's name */
        return 0;
    int identified = at->second == QT_K_identified && at->previous == QT_K_by;
    if (at->password && at->previous != QT_K_for && !qt_name_is_any(t, of_set_password))
        return 1;
    return identified || (at->second == QT_K_by && at->previous == QT_K_password) || (at->set && at->assigned);
}

static int is_text(const struct qt_token *t)
{
    int account = t->kind == QT_T_VARIABLE && t->len > 1 && (t->p[1] == '\'' || t->p[1] == '"');
    return t->kind == QT_T_STRING || account || (t->kind == QT_T_QUOTED && *t->p == '"'); /* in any sql_mode */
}

enum hint { NO_HINT, HINT, HINT_VALUE };

/* In a hint, all words after = or : are one value, up to a comma or parenthesis. Example: token = Bearer abc. */
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

/* The lexers of the other readings. Each lexer is at the same position as the first lexer. */
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

/* Returns 1 if all readings have the same next token, and either all or none of them treat the token as a string. */
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

/* Returns 1 if an executable comment opens at this token and contains quotes or comments. Servers that skip the comment
 * read the quotes differently. */
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
    const char *behind = sql; /* end of the previous token */
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
            return; /* the borders of literals are unknown */
        behind = t.p + t.len;
        step(&place, &t);
    }
}
