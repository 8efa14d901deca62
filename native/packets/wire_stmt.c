/* SPDX-License-Identifier: Apache-2.0 */
/* Prepared statements: which one an id means, the types last sent, and parameters as schemas/params.md keeps them.
 *
 * Types are sent with the first execution and left out later, so they are put back in: what is on the tape needs nothing
 * else. All this is done when the command's answer is whole, so a PREPARE that was pipelined before it is known by then.
 */
#include "wire_private.h"

#define LAST_PREPARED UINT32_MAX /* MariaDB: the statement of the PREPARE just before */

struct qt_stmt *qt_stmt_new(struct qt_wire *w)
{
    struct qt_stmt *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    s->owners = 3; /* the list, last_stmt, and the command */
    s->number = ++w->n_stmts;
    s->next = w->stmts;
    w->stmts = s;
    qt_stmt_drop(w->last_stmt);
    w->last_stmt = s;
    return s;
}

void qt_stmt_drop(struct qt_stmt *s)
{
    if (s == NULL || --s->owners > 0)
        return;
    qt_bytes_free(&s->text);
    qt_bytes_free(&s->types);
    free(s->has_long_data);
    free(s);
}

/* With an owner more, for the command that asks. NULL = never seen prepared. */
struct qt_stmt *qt_stmt_find(struct qt_wire *w, uint32_t id)
{
    struct qt_stmt *s = w->stmts, *before = NULL;
    if (id == LAST_PREPARED) {
        s = w->last_stmt;
    } else {
        for (; s != NULL && !(s->answered && !s->failed && !s->closed && s->id == id); s = s->next)
            before = s;
        if (s != NULL && before != NULL) { /* the one in use comes first */
            before->next = s->next;
            s->next = w->stmts;
            w->stmts = s;
        }
    }
    if (s != NULL)
        s->owners++;
    return s;
}

void qt_stmt_close(struct qt_wire *w, struct qt_stmt *s)
{
    s->closed = 1;
    for (struct qt_stmt **at = &w->stmts; *at != NULL; at = &(*at)->next)
        if (*at == s) {
            *at = s->next;
            qt_stmt_drop(s);
            return;
        }
}

void qt_stmt_forget_all(struct qt_wire *w)
{
    while (w->stmts != NULL) {
        struct qt_stmt *s = w->stmts;
        w->stmts = s->next;
        s->closed = 1;
        qt_stmt_drop(s);
    }
}

int qt_stmt_skip_value(struct qt_reading *r, unsigned type)
{
    switch (type & 0xFF) {
    case 0x06: /* NULL */
        return 0;
    case 0x01: /* TINY */
        qt_take(r, 1);
        break;
    case 0x02: /* SHORT, YEAR */
    case 0x0d:
        qt_take(r, 2);
        break;
    case 0x03: /* LONG, FLOAT, INT24 */
    case 0x04:
    case 0x09:
        qt_take(r, 4);
        break;
    case 0x05: /* DOUBLE, LONGLONG */
    case 0x08:
        qt_take(r, 8);
        break;
    case 0x07: /* TIMESTAMP, DATE, TIME, DATETIME: a length, then that many */
    case 0x0a:
    case 0x0b:
    case 0x0c:
        qt_take(r, qt_take_int(r, 1));
        break;
    default: /* DECIMAL, VARCHAR, BIT, JSON, ENUM, SET, BLOBs, STRINGs, GEOMETRY */
        qt_take_string(r);
        break;
    }
    return r->bad ? -1 : 0;
}

static int remember_types(struct qt_stmt *s, const uint8_t *types, uint64_t n)
{
    s->types.len = 0;
    return qt_bytes_add(&s->types, types, n * 2);
}

/* Do the values fit the types? Those that came as long data are absent. */
static int check_values(const struct qt_stmt *s, struct qt_reading *r, const uint8_t *nulls, const uint8_t *types, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        int absent = nulls[i / 8] >> i % 8 & 1 || (s->has_long_data != NULL && i < s->params && s->has_long_data[i]);
        if (!absent && qt_stmt_skip_value(r, types[i * 2]) != 0)
            return -1;
    }
    return r->bad || qt_left(r) > 0 ? -1 : 0;
}

/* 'E', count, flags, iterations, NULL bitmap, 1, types, values. With EXECUTE_HAS_COUNT all stands in the packet itself. */
static int execute(struct qt_wire *w, struct qt_command *c)
{
    struct qt_stmt *s = c->stmt;
    struct qt_bytes *out = &w->params;
    struct qt_reading r = qt_reading(c->payload.p + 4, c->payload.len - 4);
    uint64_t flags = qt_take_int(&r, 1), iterations = qt_take_int(&r, 4), n = s->params;
    int named = w->has_caps && w->caps & CLIENT_QUERY_ATTRIBUTES && flags & EXECUTE_HAS_COUNT;
    if (r.bad || named)
        return -1 - named; /* the caller tells them apart */
    int bad = qt_bytes_add(out, "E", 1) | qt_bytes_add_lenenc(out, n) | qt_bytes_add_int(out, flags, 1) |
              qt_bytes_add_int(out, iterations, 4);
    if (n == 0)
        return bad;
    const uint8_t *nulls = qt_take(&r, (n + 7) / 8);
    uint64_t bound = qt_take_int(&r, 1);
    const uint8_t *types = bound == 1 ? qt_take(&r, n * 2) : (const uint8_t *)s->types.p;
    if (r.bad || types == NULL || (bound != 1 && s->types.len != n * 2))
        return -1;
    if (bound == 1 && remember_types(s, types, n) != 0)
        return -1;
    bad |= qt_bytes_add(out, nulls, (n + 7) / 8) | qt_bytes_add_int(out, 1, 1) | qt_bytes_add(out, s->types.p, n * 2) |
           qt_bytes_add(out, r.p, qt_left(&r));
    return bad ? -1 : check_values(s, &r, nulls, (const uint8_t *)s->types.p, n);
}

/* 'B', count, flags with BULK_SEND_TYPES set, types, rows. */
static int bulk(struct qt_wire *w, struct qt_command *c)
{
    struct qt_stmt *s = c->stmt;
    struct qt_bytes *out = &w->params;
    struct qt_reading r = qt_reading(c->payload.p + 4, c->payload.len - 4);
    uint64_t flags = qt_take_int(&r, 2), n = s->params;
    if (flags & BULK_SEND_TYPES) {
        const uint8_t *types = qt_take(&r, n * 2);
        if (types == NULL || remember_types(s, types, n) != 0)
            return -1;
    }
    if (r.bad || s->types.len != n * 2 || n == 0)
        return -1;
    int bad = qt_bytes_add(out, "B", 1) | qt_bytes_add_lenenc(out, n) | qt_bytes_add_int(out, flags | BULK_SEND_TYPES, 2) |
              qt_bytes_add(out, s->types.p, n * 2) | qt_bytes_add(out, r.p, qt_left(&r));
    while (qt_left(&r) > 0 && !r.bad)
        for (uint64_t i = 0; i < n && !r.bad; i++)
            if (qt_take_int(&r, 1) == 0)
                qt_stmt_skip_value(&r, (uint8_t)s->types.p[i * 2]);
    return bad || r.bad ? -1 : 0;
}

static void note_long_data(struct qt_stmt *s, const struct qt_command *c)
{
    struct qt_reading r = qt_reading(c->payload.p + 4, c->payload.len - 4);
    uint64_t param = qt_take_int(&r, 2);
    if (s->has_long_data == NULL && s->params > 0)
        s->has_long_data = calloc(s->params, 1);
    if (!r.bad && s->has_long_data != NULL && param < s->params)
        s->has_long_data[param] = 1;
}

static void reset_long_data(struct qt_stmt *s)
{
    if (s->has_long_data != NULL)
        memset(s->has_long_data, 0, s->params);
}

/* A letter and the packet as it was, behind the statement's id where that is known to us by number. */
static int as_it_was(struct qt_wire *w, const struct qt_command *c, char letter, size_t from)
{
    w->params.len = 0;
    from = from < c->payload.len ? from : c->payload.len;
    int bad = qt_bytes_add(&w->params, &letter, 1);
    return from < c->payload.len ? bad | qt_bytes_add(&w->params, c->payload.p + from, c->payload.len - from) : bad;
}

static int of_stmt(struct qt_wire *w, struct qt_command *c)
{
    int bad = 0;
    if (c->stmt == NULL || c->stmt->failed || c->payload.len < 4) { /* prepared before the capture began, or never */
        if (c->type == COM_STMT_CLOSE || c->type == COM_STMT_RESET)
            return as_it_was(w, c, 'R', 0) == 0 ? QT_OK : -1;
        return as_it_was(w, c, 'R', 0) == 0 && c->stmt != NULL ? QT_OK : -1;
    }
    switch (c->type) {
    case COM_STMT_EXECUTE:
        bad = execute(w, c);
        if (bad == -2)
            bad = as_it_was(w, c, 'N', 4);
        else if (bad != 0)
            (void)as_it_was(w, c, 'R', 0);
        if (c->whole)
            reset_long_data(c->stmt);
        return bad;
    case COM_STMT_BULK_EXECUTE:
        bad = bulk(w, c);
        if (bad != 0)
            (void)as_it_was(w, c, 'R', 0);
        return bad;
    case COM_STMT_SEND_LONG_DATA:
        note_long_data(c->stmt, c);
        return as_it_was(w, c, 'L', 4);
    case COM_STMT_FETCH:
        return as_it_was(w, c, 'F', 4);
    case COM_STMT_RESET:
        reset_long_data(c->stmt);
        return 1;
    default:
        return 1;
    }
}

int qt_stmt_params(struct qt_wire *w, struct qt_command *c)
{
    w->params.len = 0;
    if (w->params.room > KEEP_BYTES)
        qt_bytes_free(&w->params);
    switch (c->type) {
    case COM_STMT_EXECUTE:
    case COM_STMT_BULK_EXECUTE:
    case COM_STMT_SEND_LONG_DATA:
    case COM_STMT_FETCH:
    case COM_STMT_CLOSE:
    case COM_STMT_RESET:
        return of_stmt(w, c);
    case COM_QUERY:
        if (c->file.len > 0)
            return qt_bytes_add(&w->params, "I", 1) | qt_bytes_add(&w->params, c->file.p, c->file.len);
        return c->payload.len > 0 ? as_it_was(w, c, 'A', 0) : 1;
    case COM_SET_OPTION:
    case COM_PROCESS_KILL:
    case COM_REFRESH:
    case COM_FIELD_LIST:
        return as_it_was(w, c, 'C', 0);
    default: /* CHANGE_USER's payload holds a scrambled password */
        return 1;
    }
}
