/* SPDX-License-Identifier: Apache-2.0 */
/* parser: qt_problems_add -> items (at most QT_PROBLEMS_KEPT of a kind) -> qt_problems_take: rows for another thread */
#include "reader/problems.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arrow_build.h"
#include "base/arrow_stream.h"
#include "querytape_columns.h"

#define SHOWN 80u /* bytes of input shown per problem */

static const struct qt_column_spec columns[QT_PROBLEMS_COLUMNS] = QT_PROBLEMS_SPECS;

int qt_problems_init(struct qt_problems *p)
{
    memset(p, 0, sizeof *p);
    return pthread_mutex_init(&p->lock, NULL) == 0 ? 0 : -1;
}

static void forget(struct qt_problems *p)
{
    for (size_t i = 0; i < p->n; i++)
        free(p->items[i].detail);
    free(p->items);
    p->items = NULL;
    p->n = p->room = 0;
}

void qt_problems_free(struct qt_problems *p)
{
    forget(p);
    pthread_mutex_destroy(&p->lock);
}

static char *describe(const char *message, const char *found, size_t len)
{
    size_t shown = len < SHOWN ? len : SHOWN;
    char *text = malloc(strlen(message) + shown + 48);
    if (text == NULL)
        return NULL;
    if (found == NULL)
        return strcpy(text, message);
    const char *between = strncmp(message, "expected ", 9) == 0 ? ", found" : ":";
    char *at = text + sprintf(text, "%s%s \"", message, between);
    for (size_t i = 0; i < shown; i++)
        *at++ = (unsigned char)found[i] < 0x20 || (unsigned char)found[i] >= 0x7f ? '?' : found[i];
    strcpy(at, shown < len ? "\"..." : "\"");
    return text;
}

static struct qt_problem *next_item(struct qt_problems *p)
{
    if (p->n == p->room) {
        size_t room = p->room ? p->room * 2 : 64;
        struct qt_problem *items = realloc(p->items, room * sizeof *items);
        if (items == NULL)
            return NULL;
        p->items = items;
        p->room = room;
    }
    return &p->items[p->n];
}

/* Counts a problem. Returns the number of earlier problems of this kind. */
static uint64_t count(struct qt_problems *p, const char *kind)
{
    int i = 0;
    while (i < QT_PROBLEM_KINDS - 1 && p->kinds[i].kind != NULL && strcmp(p->kinds[i].kind, kind) != 0)
        i++; /* surplus kinds share the last counter */
    p->kinds[i].kind = kind;
    p->total++;
    return p->kinds[i].n++;
}

static void keep(struct qt_problems *p, struct qt_problem problem)
{
    struct qt_problem *item = problem.detail != NULL ? next_item(p) : NULL;
    if (item == NULL) {
        free(problem.detail);
        return;
    }
    *item = problem;
    p->n++;
}

struct qt_span qt_problem_excerpt(struct qt_normalizer *normalizer, struct qt_span found)
{
    struct qt_statement as_statement;
    size_t n = 0;
    if (found.p == NULL || found.len == 0)
        return found;
    if (qt_normalize(normalizer, NULL, found.p, found.len, &as_statement, NULL) == QT_OK && as_statement.redacted)
        return (struct qt_span){as_statement.redacted, as_statement.redacted_len};
    while (n < found.len && found.p[n] != '\'' && found.p[n] != '"')
        n++;
    return (struct qt_span){found.p, n};
}

void qt_problems_add(struct qt_problems *p, int64_t file, int64_t line, int64_t offset, const char *kind,
                     const char *message, const char *found, size_t found_len)
{
    pthread_mutex_lock(&p->lock);
    uint64_t before = count(p, kind);
    if (before < QT_PROBLEMS_KEPT)
        keep(p, (struct qt_problem){file, line, offset, kind, describe(message, found, found_len)});
    else if (before == QT_PROBLEMS_KEPT)
        keep(p, (struct qt_problem){
                    file, line, offset, "more_problems",
                    describe("only the first 10,000 problems of this kind are listed", kind, strlen(kind))});
    pthread_mutex_unlock(&p->lock);
}

static void add_row(struct qt_column *c, const struct qt_problem *item)
{
    qt_col_i32(&c[QT_PROBLEMS_FILE], (int32_t)item->file);
    qt_col_i64(&c[QT_PROBLEMS_LINE], item->line);
    qt_col_i64(&c[QT_PROBLEMS_OFFSET], item->offset);
    qt_col_text(&c[QT_PROBLEMS_KIND], item->kind);
    qt_col_any_text(&c[QT_PROBLEMS_DETAIL], item->detail, strlen(item->detail));
}

static int next_batch(void *owner, struct ArrowArray *out, struct qt_error *error)
{
    struct qt_problems *p = owner;
    struct qt_columns c;
    int code = qt_columns_init(&c, columns, QT_PROBLEMS_COLUMNS);
    if (code)
        return qt_fail(error, code, "out of memory");
    pthread_mutex_lock(&p->lock);
    size_t n = p->n;
    for (size_t i = 0; i < n; i++)
        add_row(c.col, &p->items[i]);
    if (n > 0)
        code = qt_columns_finish(&c, out, error);
    if (code == QT_OK)
        forget(p);
    pthread_mutex_unlock(&p->lock);
    qt_columns_free(&c);
    return code;
}

int qt_problems_take(struct qt_problems *p, struct ArrowArrayStream *out, struct qt_error *error)
{
    struct qt_stream_source source = {columns, QT_PROBLEMS_COLUMNS, next_batch, NULL, p};
    return qt_stream_make(out, &source, error);
}
