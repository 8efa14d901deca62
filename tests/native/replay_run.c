/* SPDX-License-Identifier: Apache-2.0 */
#include "replay_run.h"

#include "base/arrow_build.h"
#include "check.h"

static const struct qt_column_spec SESSIONS[] = {
    {"session", 'l', 0},      {"open_due_ns", 'l', 0}, {"events", 'l', 0},       {"db", 'u', 1},
    {"opened_ahead", 'b', 0}, {"account", 'i', 1},     {"client_flags", 'l', 1}, {"charset", 'u', 1},
    {"collation_id", 'i', 1}, {"names", 'u', 1},
};
static const struct qt_column_spec EVENTS[] = {
    {"session", 'l', 0},    {"seq", 'l', 0},       {"due_ns", 'l', 0}, {"span_ns", 'l', 0},  {"command", 'i', 0},
    {"class", 'i', 0},      {"actions", 'l', 0},   {"flags", 'l', 0},  {"account", 'i', 1},  {"db", 'u', 1},
    {"stmt", 'l', 1},       {"statement", 'z', 1}, {"params", 'z', 1}, {"clock_us", 'l', 1}, {"insert_id", 'l', 1},
    {"insert_ids", 'u', 1}, {"waits", 'u', 1},     {"digest", 'u', 1},
};
enum {
    SESSION,
    SEQ,
    DUE,
    SPAN,
    COMMAND,
    CLASS,
    ACTIONS,
    FLAGS,
    ACCOUNT,
    DB,
    STMT,
    STATEMENT,
    PARAMS,
    CLOCK,
    INSERT_ID,
    INSERT_IDS,
    WAITS,
    DIGEST
};

/* A stream of one batch with 64-bit offsets, as DuckDB produces them. */
struct wide {
    const struct qt_column_spec *specs;
    int32_t n;
    struct ArrowArray batch;
};

static int wide_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    struct wide *w = stream->private_data;
    CHECK_INT(qt_columns_schema(w->specs, w->n, out), QT_OK);
    for (int32_t i = 0; i < w->n; i++)
        if (w->specs[i].type == 'u' || w->specs[i].type == 'z')
            out->children[i]->format = w->specs[i].type == 'u' ? "U" : "Z";
    return 0;
}

static int wide_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    struct wide *w = stream->private_data;
    *out = w->batch;
    w->batch.release = NULL;
    return 0;
}

static const char *wide_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return NULL;
}

static void wide_release(struct ArrowArrayStream *stream)
{
    struct wide *w = stream->private_data;
    if (w->batch.release != NULL)
        w->batch.release(&w->batch);
    free(w);
    stream->release = NULL;
}

static void widen(struct qt_pool *pool, struct ArrowArray *c)
{
    const int32_t *narrow = c->buffers[1];
    int64_t *offsets = qt_buffer_new(pool, (size_t)(c->length + 1) * sizeof *offsets);
    CHECK(offsets != NULL);
    for (int64_t i = 0; i <= c->length; i++)
        offsets[i] = narrow[i];
    qt_buffer_free((void *)(uintptr_t)narrow);
    c->buffers[1] = offsets;
}

static void wide_stream(struct qt_columns *cols, struct ArrowArrayStream *out)
{
    struct wide *w = calloc(1, sizeof *w);
    CHECK(w != NULL);
    w->specs = cols->specs;
    w->n = cols->n;
    CHECK_INT(qt_columns_finish(cols, &w->batch, NULL), QT_OK);
    for (int32_t i = 0; i < w->n; i++)
        if (w->specs[i].type == 'u' || w->specs[i].type == 'z')
            widen(cols->pool, w->batch.children[i]);
    *out = (struct ArrowArrayStream){wide_schema, wide_next, wide_error, wide_release, w};
}

void replay_init(struct replay *r)
{
    memset(r, 0, sizeof *r);
    fake_start(&r->server);
    r->options = (struct qt_engine_options){
        .host = "127.0.0.1",
        .port = r->server.port,
        .user = "u",
        .password = "p",
        .charset = "utf8mb4",
        .connect_timeout_s = 30,
        .connect_rate = 10000,
        .queue_bytes = 1 << 20,
        .drain_ns = 60000 * MS,
        .stack_bytes = 1 << 20,
        .max_errors = -1,
        .order_bound_ns = 1000 * MS,
    };
    CHECK_INT(qt_columns_init(&r->sessions, SESSIONS, 10), QT_OK);
    CHECK_INT(qt_columns_init(&r->events, EVENTS, sizeof EVENTS / sizeof *EVENTS), QT_OK);
}

void replay_session(struct replay *r, int64_t id, int64_t open_due_ns, int64_t events, const char *db)
{
    struct qt_column *c = r->sessions.col;
    qt_col_i64(&c[0], id);
    qt_col_i64(&c[1], open_due_ns);
    qt_col_i64(&c[2], events);
    if (db == NULL)
        qt_col_null(&c[3]);
    else
        qt_col_text(&c[3], db);
    qt_col_bool(&c[4], open_due_ns <= 0);
    for (int i = 5; i < 10; i++)
        if (i == 6 && r->client_flags != 0)
            qt_col_i64(&c[i], r->client_flags);
        else
            qt_col_null(&c[i]);
}

static void put_text(struct qt_column *c, const char *text)
{
    if (text == NULL)
        qt_col_null(c);
    else
        qt_col_text(c, text);
}

static void put_bytes(struct qt_column *c, const char *bytes, size_t len)
{
    if (bytes == NULL)
        qt_col_null(c);
    else
        qt_col_bytes(c, bytes, len);
}

static void put_number(struct qt_column *c, int64_t n)
{
    if (n == NO_VALUE)
        qt_col_null(c);
    else
        qt_col_i64(c, n);
}

/* Returns the actions that a tape would store for the statement. */
static int64_t actions_of(const char *sql, size_t len)
{
    struct qt_normalizer *normalizer = qt_normalizer_new();
    struct qt_statement statement;
    CHECK_INT(qt_normalize(normalizer, NULL, sql, sql != NULL ? len : 0, &statement, NULL), QT_OK);
    qt_normalizer_free(normalizer);
    return statement.actions;
}

void replay_put(struct replay *r, const struct planned *e)
{
    struct qt_column *c = r->events.col;
    qt_col_i64(&c[SESSION], e->session);
    qt_col_i64(&c[SEQ], e->seq);
    qt_col_i64(&c[DUE], e->due_ns);
    qt_col_i64(&c[SPAN], e->span_ns);
    qt_col_i32(&c[COMMAND], e->command);
    qt_col_i32(&c[CLASS], e->sql != NULL && strncmp(e->sql, "SELECT", 6) == 0 ? QT_CLASS_READ : QT_CLASS_WRITE);
    qt_col_i64(&c[ACTIONS], actions_of(e->sql, e->len));
    qt_col_i64(&c[FLAGS], e->flags);
    qt_col_null(&c[ACCOUNT]);
    put_text(&c[DB], e->db);
    put_number(&c[STMT], e->stmt == 0 ? NO_VALUE : e->stmt);
    put_bytes(&c[STATEMENT], e->sql, e->len);
    put_bytes(&c[PARAMS], e->params, e->params_len);
    put_number(&c[CLOCK], e->clock_us == 0 ? NO_VALUE : e->clock_us);
    put_number(&c[INSERT_ID], e->insert_id == 0 ? NO_VALUE : e->insert_id);
    put_text(&c[INSERT_IDS], e->insert_ids);
    put_text(&c[WAITS], e->waits);
    put_text(&c[DIGEST], e->digest);
}

void replay_full_event(struct replay *r, int64_t session, int64_t seq, int64_t due_ns, int command, int64_t flags,
                       const char *db, const char *bytes, size_t len)
{
    replay_put(r, &(struct planned){.session = session,
                                    .seq = seq,
                                    .due_ns = due_ns,
                                    .command = command,
                                    .flags = flags,
                                    .db = db,
                                    .sql = bytes,
                                    .len = len});
}

void replay_stmt_event(struct replay *r, int64_t seq, int command, int64_t stmt, const char *sql, const char *params,
                       size_t len)
{
    replay_put(r, &(struct planned){.session = 1,
                                    .seq = seq,
                                    .due_ns = seq,
                                    .command = command,
                                    .stmt = stmt,
                                    .sql = sql,
                                    .len = sql == NULL ? 0 : strlen(sql),
                                    .params = params,
                                    .params_len = len});
}

void replay_event(struct replay *r, int64_t session, int64_t seq, int64_t due_ns, const char *sql)
{
    replay_full_event(r, session, seq, due_ns, 1, 0, NULL, sql, strlen(sql));
}

static void *feeder_run(void *arg)
{
    struct replay *r = arg;
    struct ArrowArrayStream stream;

    wide_stream(&r->events, &stream);
    r->fed_code = qt_engine_feed(r->engine, &stream, &r->fed_error);
    stream.release(&stream);
    CHECK_INT(qt_engine_feed_end(r->engine, NULL), QT_OK);
    return NULL;
}

static int is_null(const struct ArrowArray *c, int64_t row)
{
    const uint8_t *bits = c->buffers[0];
    return bits != NULL && !(bits[row / 8] >> (row % 8) & 1);
}

static int64_t number(const struct ArrowArray *batch, int column, int64_t row)
{
    const struct ArrowArray *c = batch->children[column];
    return is_null(c, row) ? NO_VALUE : ((const int64_t *)c->buffers[1])[row];
}

static void text(const struct ArrowArray *batch, int column, int64_t row, char *to, size_t size)
{
    const struct ArrowArray *c = batch->children[column];
    const int32_t *offsets = c->buffers[1];
    size_t len = (size_t)(offsets[row + 1] - offsets[row]);

    to[0] = 0;
    if (is_null(c, row))
        return;
    CHECK(len < size);
    memcpy(to, (const char *)c->buffers[2] + offsets[row], len);
    to[len] = 0;
}

static void keep(struct replay *r, const struct ArrowArray *b, int64_t row)
{
    const struct ArrowArray *error = b->children[15];
    struct outcome *o;

    if (r->n == r->space) {
        r->space = r->space == 0 ? 64 : r->space * 2;
        r->outcome = realloc(r->outcome, r->space * sizeof *r->outcome);
        CHECK(r->outcome != NULL);
    }
    o = &r->outcome[r->n++];
    *o = (struct outcome){
        .session = number(b, 0, row),
        .seq = number(b, 1, row),
        .due_ns = number(b, 3, row),
        .queued_ns = number(b, 4, row),
        .free_ns = number(b, 5, row),
        .sent_ns = number(b, 6, row),
        .first_ns = number(b, 7, row),
        .done_ns = number(b, 8, row),
        .rows = number(b, 11, row),
        .affected = number(b, 12, row),
        .bytes = number(b, 13, row),
        .warnings = number(b, 14, row),
        .error = is_null(error, row) ? NO_VALUE : ((const int32_t *)error->buffers[1])[row],
    };
    text(b, 9, row, o->status, sizeof o->status);
    text(b, 10, row, o->reason, sizeof o->reason);
    text(b, 16, row, o->text, sizeof o->text);
    text(b, 17, row, o->checksum, sizeof o->checksum);
    o->order_ns = number(b, 18, row);
}

static void pull(struct replay *r)
{
    struct ArrowArrayStream stream;

    CHECK_INT(qt_engine_outcomes(r->engine, 20 * MS, &stream, NULL), QT_OK);
    for (;;) {
        struct ArrowArray batch;
        CHECK_INT(stream.get_next(&stream, &batch), 0);
        if (batch.release == NULL)
            break;
        for (int64_t row = 0; row < batch.length; row++)
            keep(r, &batch, row);
        batch.release(&batch);
    }
    stream.release(&stream);
}

static int by_place(const void *a, const void *b)
{
    const struct outcome *x = a, *y = b;
    return x->session != y->session ? (x->session > y->session) - (x->session < y->session)
                                    : (x->seq > y->seq) - (x->seq < y->seq);
}

void replay_run(struct replay *r)
{
    struct ArrowArrayStream stream;
    struct qt_error err = {0, ""};
    pthread_t feeder;

    r->engine = qt_engine_new(&r->options, &err);
    CHECK_TEXT(err.message, "");
    wide_stream(&r->sessions, &stream);
    qt_engine_sessions(r->engine, &stream, &err);
    stream.release(&stream);
    CHECK_TEXT(err.message, "");
    r->begun_ns = fake_now();
    CHECK_INT(qt_engine_start(r->engine, &err), QT_OK);
    CHECK_INT(pthread_create(&feeder, NULL, feeder_run, r), 0);
    do {
        qt_engine_stats(r->engine, &r->stats);
        if (r->no_reading && r->stats.state != QT_ENGINE_DONE)
            continue;
        pull(r);
        if (r->each_slice != NULL)
            r->each_slice(r);
    } while (r->stats.state != QT_ENGINE_DONE);
    pthread_join(feeder, NULL);
    fake_settle(&r->server);
    qt_engine_stats(r->engine, &r->stats);
    CHECK_INT(r->stats.counts.fed, r->n);
    CHECK_INT(r->stats.counts.executed + r->stats.counts.not_sent, r->n);
    CHECK_INT(r->stats.counts.executed, replay_count(r, "executed", NULL));
    CHECK_INT(r->stats.queued_bytes, 0);
    CHECK_INT(r->stats.sessions_open, 0);
    if (r->n > 0)
        qsort(r->outcome, r->n, sizeof *r->outcome, by_place);
}

struct outcome *replay_find(struct replay *r, int64_t session, int64_t seq)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->outcome[i].session == session && r->outcome[i].seq == seq)
            return &r->outcome[i];
    fprintf(stderr, "no outcome of session %lld, event %lld\n", (long long)session, (long long)seq);
    exit(1);
}

int replay_count(struct replay *r, const char *status, const char *reason)
{
    int n = 0;
    for (size_t i = 0; i < r->n; i++)
        n += strcmp(r->outcome[i].status, status) == 0 && (reason == NULL || strcmp(r->outcome[i].reason, reason) == 0);
    return n;
}

void replay_free(struct replay *r)
{
    qt_engine_free(r->engine);
    fake_stop(&r->server);
    qt_columns_free(&r->sessions);
    qt_columns_free(&r->events);
    free(r->outcome);
}
