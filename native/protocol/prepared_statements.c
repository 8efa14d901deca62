/* SPDX-License-Identifier: Apache-2.0 */
/* Prepared statements: which one an id means, the types last sent, and parameters as schemas/params.md keeps them.
 *
 * Types are sent with the first execution and left out later, so they are put back in: what is on the tape needs
 * nothing else. All this is done when the command's answer is whole, so a PREPARE that was pipelined before it is known
 * by then. Where the first execution came before the capture, types that others sent with the same text are taken if
 * the values fit them to the last byte; where all values are NULL, none are needed.
 */
#include "protocol/prepared_statements.h"

#include "base/reading.h"
#include "base/values.h"
#include "protocol/known_types.h"
#include "protocol/login_packets.h"

#define LAST_PREPARED UINT32_MAX /* MariaDB: the statement of the PREPARE just before */

struct qt_stmt *qt_stmt_new(struct qt_decoder *d)
{
    struct qt_stmt *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    s->owners = 3; /* the list, last_stmt, and the command */
    s->number = ++d->n_stmts;
    s->next = d->stmts;
    d->stmts = s;
    qt_stmt_drop(d->last_stmt);
    d->last_stmt = s;
    return s;
}

void qt_stmt_drop(struct qt_stmt *s)
{
    if (s == NULL || --s->owners > 0)
        return;
    qt_bytes_free(&s->text);
    qt_bytes_free(&s->types);
    qt_bytes_free(&s->names);
    free(s->has_long_data);
    free(s);
}

struct qt_stmt *qt_stmt_find(struct qt_decoder *d, uint32_t id)
{
    struct qt_stmt *s = d->stmts, *before = NULL;
    if (id == LAST_PREPARED) {
        s = d->last_stmt;
    } else {
        for (; s != NULL && !(s->answered && !s->failed && !s->closed && s->id == id); s = s->next)
            before = s;
        if (s != NULL && before != NULL) { /* the one in use comes first */
            before->next = s->next;
            s->next = d->stmts;
            d->stmts = s;
        }
    }
    if (s != NULL)
        s->owners++;
    return s;
}

void qt_stmt_close(struct qt_decoder *d, struct qt_stmt *s)
{
    s->closed = 1;
    for (struct qt_stmt **at = &d->stmts; *at != NULL; at = &(*at)->next)
        if (*at == s) {
            *at = s->next;
            qt_stmt_drop(s);
            return;
        }
}

void qt_stmt_forget_all(struct qt_decoder *d)
{
    while (d->stmts != NULL) {
        struct qt_stmt *s = d->stmts;
        d->stmts = s->next;
        s->closed = 1;
        qt_stmt_drop(s);
    }
}

/* What an EXECUTE sends behind the statement's id. */
struct execution {
    uint64_t flags, iterations, n; /* n: parameters, with attributes */
    const uint8_t *nulls;          /* (n + 7) / 8 bytes */
    int has_types;                 /* it brings its types: they are in `types` and `names`, owned */
    struct qt_bytes types, names;
    struct qt_reading values;
};

static void free_execution(struct execution *x)
{
    qt_bytes_free(&x->types);
    qt_bytes_free(&x->names);
}

/* Two bytes for each parameter; where clients send query attributes, with a name behind each. */
static int read_types(struct execution *x, struct qt_reading *r, int named)
{
    int bad = 0;
    for (uint64_t i = 0; i < x->n && bad == 0; i++) {
        const uint8_t *type = qt_take(r, 2), *name = r->p;
        if (named)
            qt_take_string(r);
        bad = r->bad || qt_bytes_add(&x->types, type, 2) != 0 ||
              qt_bytes_add(&x->names, name, (size_t)(r->p - name)) != 0;
    }
    return bad ? -1 : 0;
}

/* Do the values fit the types? Those that came as long data are absent. */
static int check_values(const struct qt_stmt *s, const struct execution *x)
{
    const struct qt_bytes *types = x->has_types ? &x->types : &s->types;
    struct qt_reading r = x->values;
    if (types->len < x->n * 2)
        return -1;
    for (uint64_t i = 0; i < x->n; i++) {
        int absent = x->nulls[i / 8] >> i % 8 & 1 || (s->has_long_data != NULL && i < s->params && s->has_long_data[i]);
        if (!absent)
            qt_skip_value(&r, (uint8_t)types->p[i * 2]);
    }
    return r.bad || qt_left(&r) > 0 ? -1 : 0;
}

static int are_null(const struct execution *x)
{
    for (uint64_t i = 0; i < x->n; i++)
        if (!(x->nulls[i / 8] >> i % 8 & 1))
            return 0;
    return x->n > 0;
}

/* The first execution came before the capture: types that are known otherwise. */
static int take_other_types(struct qt_decoder *d, struct qt_stmt *s, const struct execution *x)
{
    struct qt_span found = {NULL, 0}, text = {s->text.p, s->text.len};
    if (s->types.len > 0 || x->has_types || x->n == 0 || x->n != s->params)
        return -1;
    if (text.len > 0 && d->options.types != NULL)
        found = qt_known_types_find(d->options.types, text, (size_t)x->n * 2);
    int bad = found.p != NULL ? qt_bytes_set(&s->types, found) : 0;
    for (uint64_t i = 0; found.p == NULL && are_null(x) && i < x->n; i++)
        bad |= qt_bytes_add(&s->types, "\6", 2); /* MYSQL_TYPE_NULL, behind it a zero */
    s->of_others = s->types.len > 0;
    return bad || check_values(s, x) != 0 ? -1 : 0;
}

static void forget_other_types(struct qt_stmt *s)
{
    s->types.len = 0;
    s->of_others = 0;
}

/* Reads one form of the packet: `named` = client and server have agreed on query attributes, so a statement with
 * parameters, or with the flag, has a count before them, and names. 0 = the packet has this form. */
static int read_form(struct qt_decoder *d, const struct qt_pending_command *c, int named, struct execution *x)
{
    const struct qt_stmt *s = c->stmt;
    struct qt_reading r = qt_reading(c->payload.p + 4, c->payload.len - 4);
    *x = (struct execution){.n = s->params};
    x->flags = qt_take_int(&r, 1);
    x->iterations = qt_take_int(&r, 4);
    if (named && (x->n > 0 || x->flags & EXECUTE_HAS_COUNT))
        x->n = qt_take_lenenc(&r);
    x->flags &= ~(uint64_t)EXECUTE_HAS_COUNT;
    if (r.bad || x->n < s->params)
        return -1;
    if (x->n > 0) {
        x->nulls = qt_take(&r, (x->n + 7) / 8);
        x->has_types = qt_take_int(&r, 1) == 1;
        if (r.bad || (x->has_types && read_types(x, &r, named) != 0))
            return -1;
    }
    x->values = r;
    if (r.bad)
        return -1;
    return s->types.len == 0 && !x->has_types && x->n > 0 ? take_other_types(d, c->stmt, x) : check_values(s, x);
}

/* What was agreed is not known where the login was not seen: the flag decides, or else the form that fits. */
static int read_execution(struct qt_decoder *d, struct qt_pending_command *c, struct execution *x)
{
    struct qt_stmt *s = c->stmt;
    int flag = c->payload.len > 4 && (c->payload.p[4] & EXECUTE_HAS_COUNT) != 0;
    int named = d->has_caps ? (d->caps & CLIENT_QUERY_ATTRIBUTES) != 0 : flag;
    if (s->of_others)
        forget_other_types(s); /* they are asked for again each time: there may be others by now, or doubt */
    int code = read_form(d, c, named, x);
    if (code != 0 && s->of_others)
        forget_other_types(s);
    if (code != 0 && !d->has_caps) {
        free_execution(x);
        code = read_form(d, c, !named, x);
    }
    if (code != 0 && s->of_others)
        forget_other_types(s);
    if (code == 0 && s->of_others && !x->has_types && d->options.types != NULL)
        qt_known_types_used(d->options.types);
    if (code == 0 && x->has_types) { /* the next execution may leave them out */
        struct qt_bytes types = s->types, names = s->names;
        s->types = x->types;
        s->names = x->names;
        x->types = types;
        x->names = names;
        s->of_others = 0;
        if (d->options.types != NULL && s->text.len > 0 && x->n == s->params)
            qt_known_types_add(d->options.types, (struct qt_span){s->text.p, s->text.len},
                               (struct qt_span){s->types.p, s->types.len});
    }
    return code;
}

/* Which parameters came as long data: a bitmap of (n + 7) / 8 bytes. */
static int add_absent(const struct qt_stmt *s, uint64_t n, struct qt_bytes *out)
{
    int bad = 0;
    for (uint64_t from = 0; from < n; from += 8) {
        uint8_t bits = 0;
        for (uint64_t i = from; i < from + 8 && i < n; i++)
            bits |= (uint8_t)((s->has_long_data != NULL && i < s->params && s->has_long_data[i]) << i % 8);
        bad |= qt_bytes_add(out, &bits, 1);
    }
    return bad;
}

/* 'E', with long data 'D', with attributes 'N': count, 'D' and 'N': bitmap of long data, flags, iterations, NULL
 * bitmap, 1, types, values; 'N': names. */
static int execute(struct qt_decoder *d, struct qt_pending_command *c)
{
    struct qt_stmt *s = c->stmt;
    struct qt_bytes *out = &d->params;
    struct execution x;
    int code = read_execution(d, c, &x);
    free_execution(&x); /* the types are the statement's by now */
    if (code != 0)
        return -1;
    int attributes = x.n > s->params;
    int absent = s->has_long_data != NULL && memchr(s->has_long_data, 1, s->params) != NULL;
    int bad = qt_bytes_add(out, attributes ? "N" : absent ? "D" : "E", 1) | qt_bytes_add_lenenc(out, x.n);
    if (attributes || absent)
        bad |= add_absent(s, x.n, out);
    bad |= qt_bytes_add_int(out, x.flags, 1) | qt_bytes_add_int(out, x.iterations, 4);
    if (x.n > 0)
        bad |= qt_bytes_add(out, x.nulls, (x.n + 7) / 8) | qt_bytes_add_int(out, 1, 1) |
               qt_bytes_add(out, s->types.p, x.n * 2) | qt_bytes_add(out, x.values.p, qt_left(&x.values));
    if (attributes)
        bad |= qt_bytes_add(out, s->names.p, s->names.len);
    return bad ? -1 : 0;
}

/* 'B', count, flags with BULK_SEND_TYPES set, types, rows. */
static int bulk(struct qt_decoder *d, struct qt_pending_command *c)
{
    struct qt_stmt *s = c->stmt;
    struct qt_bytes *out = &d->params;
    struct qt_reading r = qt_reading(c->payload.p + 4, c->payload.len - 4);
    uint64_t flags = qt_take_int(&r, 2), n = s->params;
    if (flags & BULK_SEND_TYPES) {
        const uint8_t *types = qt_take(&r, n * 2);
        s->names.len = 0;
        if (types == NULL || qt_bytes_set(&s->types, (struct qt_span){(const char *)types, n * 2}) != 0)
            return -1;
    }
    if (r.bad || s->types.len != n * 2 || n == 0)
        return -1;
    int bad = qt_bytes_add(out, "B", 1) | qt_bytes_add_lenenc(out, n) |
              qt_bytes_add_int(out, flags | BULK_SEND_TYPES, 2) | qt_bytes_add(out, s->types.p, n * 2) |
              qt_bytes_add(out, r.p, qt_left(&r));
    while (qt_left(&r) > 0 && !r.bad)
        for (uint64_t i = 0; i < n && !r.bad; i++)
            if (qt_take_int(&r, 1) == 0)
                qt_skip_value(&r, (uint8_t)s->types.p[i * 2]);
    return bad || r.bad ? -1 : 0;
}

static void note_long_data(struct qt_stmt *s, const struct qt_pending_command *c)
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
static int as_it_was(struct qt_decoder *d, const struct qt_pending_command *c, char letter, size_t from)
{
    d->params.len = 0;
    from = from < c->payload.len ? from : c->payload.len;
    int bad = qt_bytes_add(&d->params, &letter, 1);
    return from < c->payload.len ? bad | qt_bytes_add(&d->params, c->payload.p + from, c->payload.len - from) : bad;
}

static int of_stmt(struct qt_decoder *d, struct qt_pending_command *c)
{
    int bad = 0;
    if (c->stmt == NULL || c->stmt->failed || c->payload.len < 4) { /* prepared before the capture began, or never */
        if (c->type == COM_STMT_CLOSE || c->type == COM_STMT_RESET)
            return as_it_was(d, c, 'R', 0) == 0 ? QT_OK : -1;
        return as_it_was(d, c, 'R', 0) == 0 && c->stmt != NULL ? QT_OK : -1;
    }
    switch (c->type) {
    case COM_STMT_EXECUTE:
        bad = execute(d, c);
        if (bad != 0)
            (void)as_it_was(d, c, 'R', 0);
        if (c->whole)
            reset_long_data(c->stmt);
        return bad;
    case COM_STMT_BULK_EXECUTE:
        bad = bulk(d, c);
        if (bad != 0)
            (void)as_it_was(d, c, 'R', 0);
        return bad;
    case COM_STMT_SEND_LONG_DATA:
        note_long_data(c->stmt, c);
        return as_it_was(d, c, 'L', 4);
    case COM_STMT_FETCH:
        return as_it_was(d, c, 'F', 4);
    case COM_STMT_RESET:
        reset_long_data(c->stmt);
        return 1;
    default:
        return 1;
    }
}

/* What a statement carries but for files. */
static int write_own(struct qt_decoder *d, struct qt_pending_command *c)
{
    switch (c->type) {
    case COM_STMT_EXECUTE:
    case COM_STMT_BULK_EXECUTE:
    case COM_STMT_SEND_LONG_DATA:
    case COM_STMT_FETCH:
    case COM_STMT_CLOSE:
    case COM_STMT_RESET:
        return of_stmt(d, c);
    case COM_QUERY:
        return c->payload.len > 0 ? as_it_was(d, c, 'A', 0) : 1;
    case COM_SET_OPTION:
    case COM_PROCESS_KILL:
    case COM_REFRESH:
    case COM_FIELD_LIST:
        return as_it_was(d, c, 'C', 0);
    case COM_CHANGE_USER:
        d->params.len = 0;
        return qt_write_collation((struct qt_span){c->payload.p, c->payload.len}, &d->params);
    default:
        return 1;
    }
}

/* The files that LOCAL INFILE sent, before them what else there is: 'I' = one file and nothing else, or 'S': lenenc
 * length of the rest and the rest; of each file its lenenc length and its bytes. */
static int write_files(struct qt_decoder *d, const struct qt_pending_command *c)
{
    struct qt_bytes *out = &d->params;
    struct qt_bytes own = *out;
    size_t at = 0;
    int bad = 0;
    if (own.len == 0 && c->file_ends.len == 8) {
        bad = qt_bytes_add(out, "I", 1);
        return c->file.len > 0 ? bad | qt_bytes_add(out, c->file.p, c->file.len) : bad;
    }
    *out = (struct qt_bytes){NULL, 0, 0};
    bad = qt_bytes_add(out, "S", 1) | qt_bytes_add_lenenc(out, own.len);
    if (own.len > 0)
        bad |= qt_bytes_add(out, own.p, own.len);
    for (size_t i = 0; i < c->file_ends.len && !bad; i += 8) {
        size_t end = (size_t)qt_get_le(c->file_ends.p + i, 8);
        bad = qt_bytes_add_lenenc(out, end - at);
        if (end > at && !bad)
            bad = qt_bytes_add(out, c->file.p + at, end - at);
        at = end;
    }
    qt_bytes_free(&own);
    return bad;
}

int qt_stmt_write_params(struct qt_decoder *d, struct qt_pending_command *c)
{
    d->params.len = 0;
    if (d->params.room > KEEP_BYTES)
        qt_bytes_free(&d->params);
    int code = write_own(d, c);
    if (c->file_ends.len == 0 || code < 0)
        return code;
    return write_files(d, c) != 0 ? -1 : QT_OK;
}
