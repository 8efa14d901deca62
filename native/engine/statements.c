/* SPDX-License-Identifier: Apache-2.0 */
/* An array sorted by number. A session has few prepared statements, and the newest statement usually has the greatest
 * number.
 *
 *   number   3     7     8     │ room
 *   stmt     *     *     *     │ */
#include "engine/statements.h"

#include <mysql.h>
#include <stdlib.h>
#include <string.h>

/* Returns the index of the first statement whose number is at least `number`. */
static size_t find_place(const struct qt_connection *c, int64_t number)
{
    size_t low = 0, high = c->n_prepared;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (c->prepared[mid].number < number)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

struct qt_prepared *qt_statements_find(struct qt_connection *c, int64_t number)
{
    size_t at = find_place(c, number);
    return at < c->n_prepared && c->prepared[at].number == number ? &c->prepared[at] : NULL;
}

static void close_statement(struct qt_prepared *p)
{
    if (p->stmt != NULL)
        mysql_stmt_close(p->stmt);
    free(p->text);
}

void qt_statements_drop(struct qt_connection *c, struct qt_prepared *p)
{
    size_t at = (size_t)(p - c->prepared);
    close_statement(p);
    memmove(p, p + 1, (--c->n_prepared - at) * sizeof *p);
}

void qt_statements_clear(struct qt_connection *c)
{
    for (size_t i = 0; i < c->n_prepared; i++)
        close_statement(&c->prepared[i]);
    free(c->prepared);
    c->prepared = NULL;
    c->n_prepared = c->prepared_room = 0;
}

static int add(struct qt_connection *c, int64_t number, struct qt_prepared added)
{
    struct qt_prepared *old = qt_statements_find(c, number);
    size_t at = find_place(c, number);
    if (old != NULL)
        qt_statements_drop(c, old);
    if (c->n_prepared == c->prepared_room) {
        size_t room = c->prepared_room > 0 ? c->prepared_room * 2 : 4;
        struct qt_prepared *larger = realloc(c->prepared, room * sizeof *larger);
        if (larger == NULL)
            return -1;
        c->prepared = larger;
        c->prepared_room = room;
    }
    memmove(c->prepared + at + 1, c->prepared + at, (c->n_prepared - at) * sizeof *c->prepared);
    added.number = number;
    c->prepared[at] = added;
    c->n_prepared++;
    return 0;
}

int qt_statements_add(struct qt_connection *c, int64_t number, MYSQL_STMT *stmt)
{
    return add(c, number, (struct qt_prepared){.stmt = stmt});
}

int qt_statements_add_text(struct qt_connection *c, int64_t number, const char *text, size_t len)
{
    struct qt_prepared kept = {.text = malloc(len > 0 ? len : 1), .len = len};
    if (kept.text == NULL)
        return -1;
    memcpy(kept.text, text, len);
    if (add(c, number, kept) == 0)
        return 0;
    free(kept.text);
    return -1;
}
