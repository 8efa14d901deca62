/* SPDX-License-Identifier: Apache-2.0 */
/* Clients send parameter types with the first execution and may omit them later. The tape contains the types for each
 * execution, so that each execution is complete.
 *
 * If the first execution came before the capture, the decoder uses types that other connections sent for the same text.
 * The values must fit these types to the last byte. If all values are NULL, no types are needed.
 *
 * Servers ignore bytes after the statement's values. For example, Connector/J before 8.0.22 sends an extra zero. This
 * decoder also ignores such bytes, unless only the length shows the form of the packet. */
#include "protocol/executions.h"

#include "base/reading.h"
#include "protocol/parameter_types.h"

/* Fields of an EXECUTE after the statement's id. */
struct execution {
    uint64_t flags, iterations, n; /* `n`: number of parameters, including query attributes */
    const uint8_t *nulls;          /* NULL bitmap of (n + 7) / 8 bytes */
    int has_types;                 /* the packet contains types; `types` and `names` are owned */
    struct qt_bytes types, names;
    struct qt_reading values;
    const uint8_t *stopped; /* end of the last field that matches the statement */
};

static void free_execution(struct execution *x)
{
    qt_bytes_free(&x->types);
    qt_bytes_free(&x->names);
}

/* Reads the parameter types, 2 bytes each. If the client sends query attributes, a name follows each type. */
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

/* Returns 0 if the values fit their types, and sets the end of the values. Parameters sent as long data have no value
 * in the packet. `to_the_end`: no bytes may follow the values. On failure, `x->stopped` is the first byte that does not
 * fit. */
static int check_values(const struct qt_stmt *s, struct execution *x, int to_the_end)
{
    const struct qt_bytes *types = x->has_types ? &x->types : &s->types;
    struct qt_reading r = x->values;
    x->stopped = r.p;
    if (types->len < x->n * 2)
        return -1;
    for (uint64_t i = 0; i < x->n && !r.bad; i++) {
        int absent = x->nulls[i / 8] >> i % 8 & 1 || (s->has_long_data != NULL && i < s->params && s->has_long_data[i]);
        x->stopped = r.p;
        if (!absent)
            qt_skip_value(&r, (uint8_t)types->p[i * 2]);
    }
    if (r.bad)
        return -1;
    x->stopped = r.p;
    if (to_the_end && qt_left(&r) > 0)
        return -1;
    x->values.end = r.p;
    return 0;
}

static int are_null(const struct execution *x)
{
    for (uint64_t i = 0; i < x->n; i++)
        if (!(x->nulls[i / 8] >> i % 8 & 1))
            return 0;
    return x->n > 0;
}

/* Uses types from other connections if the first execution of the statement came before the capture. */
static int take_other_types(struct qt_decoder *d, struct qt_stmt *s, struct execution *x)
{
    struct qt_span found = {NULL, 0}, text = {s->text.p, s->text.len};
    if (s->types.len > 0 || x->has_types || x->n == 0 || x->n != s->params)
        return -1;
    if (text.len > 0 && d->options.types != NULL)
        found = qt_parameter_types_find(d->options.types, text, (size_t)x->n * 2);
    int bad = found.p != NULL ? qt_bytes_set(&s->types, found) : 0;
    for (uint64_t i = 0; found.p == NULL && are_null(x) && i < x->n; i++)
        bad |= qt_bytes_add(&s->types, "\6", 2); /* MYSQL_TYPE_NULL, followed by a zero */
    s->of_others = s->types.len > 0;
    return bad || check_values(s, x, 1) != 0 ? -1 : 0;
}

static void forget_other_types(struct qt_stmt *s)
{
    s->types.len = 0;
    s->of_others = 0;
}

/* Reads the fields before the values. */
static int read_head(const struct qt_stmt *s, struct qt_reading *r, int named, struct execution *x)
{
    x->flags = qt_take_int(r, 1);
    x->iterations = qt_take_int(r, 4);
    if (named && (x->n > 0 || x->flags & EXECUTE_HAS_COUNT))
        x->n = qt_take_lenenc(r);
    x->flags &= ~(uint64_t)EXECUTE_HAS_COUNT;
    if (r->bad || x->n < s->params)
        return -1;
    if (x->n == 0)
        return 0;
    x->nulls = qt_take(r, (x->n + 7) / 8);
    if (!r->bad && qt_left(r) == 0 && are_null(x)) /* MariaDB's server accepts this short form */
        return 0;
    x->has_types = qt_take_int(r, 1) != 0;
    return r->bad || (x->has_types && read_types(x, r, named) != 0) ? -1 : 0;
}

/* Parses the packet in one of its two forms. Returns 0 if the packet has this form. `named`: client and server have
 * negotiated query attributes. A statement with parameters or with the EXECUTE_HAS_COUNT flag then has a parameter
 * count and names. */
static int read_form(struct qt_decoder *d, const struct qt_pending_command *c, int named, int to_the_end,
                     struct execution *x)
{
    const struct qt_stmt *s = c->stmt;
    struct qt_reading r = qt_reading(c->payload.p + 4, c->payload.len - 4);
    *x = (struct execution){.n = s->params};
    int code = read_head(s, &r, named, x);
    x->stopped = r.p;
    x->values = r;
    if (code != 0)
        return code;
    return s->types.len == 0 && !x->has_types && x->n > 0 ? take_other_types(d, c->stmt, x)
                                                          : check_values(s, x, to_the_end);
}

/* Tries the possible forms of the packet. If the login was not captured, the negotiated form is unknown. The form that
 * EXECUTE_HAS_COUNT indicates is tried first. A form that fits to the last byte is preferred. */
static int find_form(struct qt_decoder *d, struct qt_pending_command *c, struct execution *x)
{
    struct qt_stmt *s = c->stmt;
    int flag = c->payload.len > 4 && (c->payload.p[4] & EXECUTE_HAS_COUNT) != 0;
    int named = d->has_caps ? (d->caps & CLIENT_QUERY_ATTRIBUTES) != 0 : flag, code = -1;
    const struct {
        int named, to_the_end;
    } agreed[] = {{named, 0}}, unknown[] = {{named, 1}, {!named, 1}, {named, 0}},
      *forms = d->has_caps ? agreed : unknown;
    for (int i = 0, n = d->has_caps ? 1 : 3; i < n && code != 0; i++) {
        if (i > 0)
            free_execution(x);
        code = read_form(d, c, forms[i].named, forms[i].to_the_end, x);
        if (code != 0 && s->of_others)
            forget_other_types(s);
    }
    return code;
}

static int read_execution(struct qt_decoder *d, struct qt_pending_command *c, struct execution *x)
{
    struct qt_stmt *s = c->stmt;
    if (s->of_others)
        forget_other_types(s); /* search the types again: new types may have been added or become ambiguous */
    int code = find_form(d, c, x);
    if (code == 0 && s->of_others && !x->has_types && d->options.types != NULL)
        qt_parameter_types_used(d->options.types);
    if (code == 0 && x->has_types) { /* keep the types, because the next execution may omit them */
        struct qt_bytes types = s->types, names = s->names;
        s->types = x->types;
        s->names = x->names;
        x->types = types;
        x->names = names;
        s->of_others = 0;
        if (d->options.types != NULL && s->text.len > 0 && x->n == s->params)
            qt_parameter_types_add(d->options.types, (struct qt_span){s->text.p, s->text.len},
                                   (struct qt_span){s->types.p, s->types.len});
    }
    return code;
}

/* Returns the first byte of the packet that does not fit, counted from 1. Returns 0 if the types were sent before the
 * capture. */
static size_t misfit_of(const struct qt_pending_command *c, const struct execution *x)
{
    int untyped = c->stmt->types.len == 0 && !x->has_types && x->n > 0 && x->nulls != NULL;
    return untyped ? 0 : (size_t)((const char *)x->stopped - c->payload.p) + 2; /* + 2: the command byte is byte 1 */
}

/* Writes a bitmap of the parameters sent as long data, (n + 7) / 8 bytes. */
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

/* Writes an execution for the tape. The letter is 'N' with query attributes, 'D' with long data, or 'E'. The fields
 * that follow: count, bitmap of long data ('D' and 'N' only), flags, iterations, NULL bitmap, 1, types, values, names
 * ('N' only). */
int qt_execution_write(struct qt_decoder *d, struct qt_pending_command *c)
{
    struct qt_stmt *s = c->stmt;
    struct qt_bytes *out = &d->params;
    struct execution x;
    int code = read_execution(d, c, &x);
    free_execution(&x); /* the statement has taken over the types */
    if (code != 0) {
        d->misfit = misfit_of(c, &x);
        return -1;
    }
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

/* Writes a bulk execution for the tape: 'B', count, flags with BULK_SEND_TYPES set, types, rows. */
int qt_bulk_write(struct qt_decoder *d, struct qt_pending_command *c)
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
    if (r.bad || s->types.len != n * 2 || n == 0) {
        d->misfit = s->types.len == 0 && !r.bad && n > 0 ? 0 : (size_t)((const char *)r.p - c->payload.p) + 2;
        return -1;
    }
    int bad = qt_bytes_add(out, "B", 1) | qt_bytes_add_lenenc(out, n) |
              qt_bytes_add_int(out, flags | BULK_SEND_TYPES, 2) | qt_bytes_add(out, s->types.p, n * 2) |
              qt_bytes_add(out, r.p, qt_left(&r));
    while (qt_left(&r) > 0 && !r.bad)
        for (uint64_t i = 0; i < n && !r.bad; i++)
            if (qt_take_int(&r, 1) == 0)
                qt_skip_value(&r, (uint8_t)s->types.p[i * 2]);
    d->misfit = (size_t)((const char *)r.p - c->payload.p) + 2;
    return bad || r.bad ? -1 : 0;
}
