/* SPDX-License-Identifier: Apache-2.0 */
/* The slow log has no length fields. A server writes a body and then ";\n". A body therefore ends at a ";\n" before a
 * bound, such as a header (slowlog_lines.h).
 *
 * If this ";\n" is inside an open literal, the body ends after the literal (ambiguous). If the literal never closes,
 * the first such ";\n" is the end (unbalanced).
 *
 * A bound may also follow a line without a semicolon. Outside literals the bound still ends the event. Either the
 * server did not write the end (truncated), or another program added lines.
 *
 * If another program added lines, the body ends at the first ";\n" outside literals, and the added lines are reported.
 * Only statements that contain other statements have a ";\n" inside. */
#include "slowlog/slowlog_body.h"

#include <strings.h>

#include "slowlog/slowlog_lines.h"

#define LITERAL_REACH (256 << 10) /* bytes that an open literal is followed past headers */

/* A body, and the state of its literals and comments so far. */
struct body {
    const char *p, *end;
    const char *followed;
    const char *semicolon; /* first semicolon at a line's end outside literals and comments; NULL: none so far */
    int state;             /* at `followed`: 0 outside, else the byte that opened the literal or comment */
};

/* A possible end of a body: the position after its last byte, and the position after its last line. */
struct place {
    const char *body, *behind;
};

/* Tracks literals and comments in a text that arrives in pieces of whole lines. `state` is as in struct body. */
static int quote_state(int state, const char *p, const char *end)
{
    while (p < end) {
        char c = *p++;
        if (state == 0) {
            if (c == '\'' || c == '"' || c == '`')
                state = c;
            else if (c == '/' && p < end && *p == '*' && !(p + 1 < end && (p[1] == '!' || p[1] == 'M')))
                state = '*', p++;
            else if (c == '#' || (c == '-' && p < end && *p == '-' && (p + 1 == end || p[1] == ' ' || p[1] == '\t')))
                return '#';
        } else if (state == '*') {
            if (c == '*' && p < end && *p == '/')
                state = 0, p++;
        } else if (c == '\\' && state != '`') {
            p += p < end;
        } else if (c == state) {
            state = 0; /* a doubled quote opens the literal again at once, so the state is right */
        }
    }
    return state;
}

/* Tracks literals and comments up to `to`, which is the start of a line or the end. */
static void follow(struct body *b, const char *to)
{
    while (b->followed < to) {
        const char *newline = memchr(b->followed, '\n', (size_t)(to - b->followed));
        const char *last = without_blanks(b->p, newline != NULL ? newline : to);
        if (last > b->followed)
            b->state = quote_state(b->state, b->followed, last);
        if (b->semicolon == NULL && newline != NULL && b->state == 0 && last > b->p && last[-1] == ';')
            b->semicolon = last - 1;
        b->state = b->state == '#' ? 0 : b->state; /* this comment ends at the line's end */
        b->followed = newline != NULL ? newline + 1 : to;
    }
}

static int has_word(const char *p, const char *end, const char *word)
{
    size_t len = strlen(word);
    for (; (size_t)(end - p) >= len; p++)
        if (strncasecmp(p, word, len) == 0)
            return 1;
    return 0;
}

/* Returns 1 if the statement may contain inner statements that end with a semicolon at a line's end. */
static int may_hold_statements(const char *p, const char *end)
{
    static const char *const objects[] = {"procedure", "function", "trigger", "event", "package"};
    static const char *const words[] = {"if", "case", "loop", "while", "repeat", "for", "declare"};
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n'))
        p++;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if ((size_t)(end - p) > strlen(words[i]) && strncasecmp(p, words[i], strlen(words[i])) == 0)
            return 1;
    if (has_word(p, end, "not atomic"))
        return 1;
    if (!has_word(p, end, "create") && !has_word(p, end, "alter"))
        return 0;
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++)
        if (has_word(p, end, objects[i]))
            return 1;
    return 0;
}

/* Returns the end of a body whose last line, up to `last`, has no semicolon. */
static struct place end_unclosed(const struct body *b, const char *last, const char *behind)
{
    if (b->semicolon == NULL || may_hold_statements(b->p, b->semicolon))
        return (struct place){last, behind};
    const char *newline = memchr(b->semicolon, '\n', (size_t)(b->end - b->semicolon));
    return (struct place){b->semicolon, newline + 1};
}

static const char *take(const struct body *b, const struct place *place, struct qt_slow_event *out)
{
    out->body.p = b->p;
    out->body.len = (size_t)(place->body - b->p);
    out->truncated = place->body == b->end || *place->body != ';';
    return place->behind;
}

/* Returns 1 if the line at `at` may be a bound that ends a body without a semicolon. */
static int may_be_bound(const struct body *b, const char *before, const char *at)
{
    if (at >= b->end)
        return 0;
    if (*at == '#') /* the other lines of a header were checked with its first line */
        return !qt_slow_begins_header(before, at);
    return *at == '/' || *at == 'm' || *at == 'b' || *at == '=' || *at == '1' || *at == '2';
}

/* Returns 1 if a literal was followed far enough after the first possible end of the body. This end is inside the
 * literal. */
static int reached(const struct place *first, const char *at, enum qt_slow_quotes quotes)
{
    return quotes == QT_QUOTES_FOLLOWED && first->behind != NULL && at - first->behind > LITERAL_REACH;
}

/* Ends a body when the input ends without a bound. `first` is the first possible end of the body, inside a literal. */
static const char *end_with_input(struct body *b, const struct place *first, enum qt_slow_quotes quotes,
                                  struct qt_slow_event *out)
{
    struct place place = {b->end, b->end};
    int closed = b->end > b->p && b->end[-1] == ';'; /* the last newline may be missing */
    follow(b, b->end);
    if (first->behind != NULL && b->state != 0 && !(closed && quotes == QT_QUOTES_TRUSTED)) {
        out->unbalanced = 1;
        place = *first;
    } else if (closed) {
        place.body--;
    } else if (b->state == 0) {
        place = end_unclosed(b, b->end, b->end);
    }
    return take(b, &place, out);
}

const char *qt_slow_find_body_end(const char *p, const char *end, int at_end, enum qt_slow_quotes quotes,
                                  struct qt_slow_event *out)
{
    struct body b = {p, end, p, NULL, 0};
    struct place first = {NULL, NULL};
    const char *line = p, *newline;
    int passed = 0;
    for (const char *at = p; (newline = memchr(at, '\n', (size_t)(end - at))) != NULL;) {
        line = at;
        at = newline + 1;
        const char *last = without_blanks(p, newline);
        int closed = last > p && last[-1] == ';';
        if (!closed && !may_be_bound(&b, line, at))
            continue;
        if (reached(&first, at, quotes))
            break; /* check this first: the buffered bytes must not change the result */
        enum qt_slow_bound bound = qt_slow_bound_at(at, end, at_end);
        if (bound == QT_BOUND_UNKNOWN)
            return NULL;
        if (bound == QT_NO_BOUND)
            continue;
        if (!closed || quotes == QT_QUOTES_FOLLOWED || b.followed > p)
            follow(&b, at);
        if (bound == QT_BOUND_FOREIGN && b.state != 0)
            continue; /* literals may contain such lines */
        struct place place = closed ? (struct place){last - 1, at} : end_unclosed(&b, last, at);
        int is_end = closed ? quotes == QT_QUOTES_TRUSTED : bound == QT_BOUND_BANNER;
        if (is_end || b.state == 0 || quotes == QT_QUOTES_BROKEN) {
            out->ambiguous = passed > 0;
            out->header_follows = bound == QT_BOUND_HEADER && place.behind == at;
            return take(&b, &place, out);
        }
        first = first.behind == NULL ? place : first;
        passed += closed;
    }
    if (reached(&first, end, quotes)) {
        out->unbalanced = 1;
        return take(&b, &first, out);
    }
    return at_end ? end_with_input(&b, &first, quotes, out) : NULL;
}
