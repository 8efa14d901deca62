/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's beginning and end; what happens between is told in engine_private.h. */
#include "engine_private.h"

#include <errmsg.h>
#include <errno.h>
#include <limits.h>
#include <mysql.h>
#include <stdlib.h>
#include <string.h>

enum { SESSION, OPEN_DUE, EVENTS, DB, AHEAD, ACCOUNT, CLIENT_FLAGS, CHARSET };
enum { CONDUCTOR_STACK = 256 << 10 };

static int check_options(const struct qt_engine_options *o, struct qt_error *err)
{
    if ((o->host == NULL) == (o->socket == NULL))
        return qt_fail(err, QT_EINVALID, "expected either host or socket");
    if (o->user == NULL || o->charset == NULL)
        return qt_fail(err, QT_EINVALID, "expected user and charset");
    if (o->reader != NULL && ((o->reader->host == NULL) == (o->reader->socket == NULL) || o->reader->user == NULL))
        return qt_fail(err, QT_EINVALID, "expected of the reader either host or socket, and a user");
    if (o->connect_timeout_s < 1 || o->connect_rate < 1 || o->queue_bytes < 1 || o->drain_ns < 0 || o->canaries < 0)
        return qt_fail(err, QT_EINVALID, "connect_timeout_s, connect_rate and queue_bytes must be at least 1, drain_ns and "
                                         "canaries at least 0");
    if (o->pace < QT_PACE_SCHEDULE || o->pace > QT_PACE_NONE || o->order_tables < 0 || o->n_accounts < 0)
        return qt_fail(err, QT_EINVALID, "expected a pace, and order_tables and n_accounts of at least 0");
    return QT_OK;
}

/* Where one fails the field is NULL, which frees as well. */
static int copy_text(const char **field)
{
    const char *text = *field;
    *field = text == NULL ? NULL : strdup(text);
    return text == NULL || *field != NULL;
}

static int copy_accounts(struct qt_engine_options *o)
{
    const struct qt_account *from = o->accounts;
    struct qt_account *to;
    int32_t n = o->n_accounts;

    o->n_accounts = 0;
    o->accounts = to = n > 0 ? calloc((size_t)n, sizeof *to) : NULL;
    if (n > 0 && to == NULL)
        return 0;
    for (int32_t i = 0; i < n; i++) {
        to[i] = from[i];
        o->n_accounts = i + 1;
        if (!(copy_text(&to[i].user) & copy_text(&to[i].password)))
            return 0;
    }
    return 1;
}

static int copy_options(struct qt_engine_options *to, const struct qt_engine_options *from)
{
    *to = *from;
    return copy_text(&to->host) & copy_text(&to->socket) & copy_text(&to->user) & copy_text(&to->password) &
           copy_text(&to->db) & copy_text(&to->charset) & copy_text(&to->init) & copy_text(&to->tls_ca) &
           copy_text(&to->tls_cert) & copy_text(&to->tls_key) & copy_accounts(to);
}

/* What connections to the reader are opened with: the other options stay those of the target. */
static int copy_reader(struct qt_engine *e)
{
    const struct qt_address *reader = e->options.reader;
    struct qt_engine_options *to = &e->reader_options;

    if (reader == NULL)
        return 1;
    *to = e->options;
    to->host = reader->host;
    to->socket = reader->socket;
    to->port = reader->port;
    to->user = reader->user;
    to->password = reader->password;
    return copy_text(&to->host) & copy_text(&to->socket) & copy_text(&to->user) & copy_text(&to->password);
}

static void free_text(const char *text) { free((void *)(uintptr_t)text); }

static void free_secret(const char *text)
{
    if (text != NULL)
        explicit_bzero((char *)(uintptr_t)text, strlen(text));
    free_text(text);
}

static void free_options(struct qt_engine_options *o)
{
    const char *texts[] = {o->host, o->socket, o->user, o->db, o->charset, o->init, o->tls_ca, o->tls_cert, o->tls_key};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free_text(texts[i]);
    free_secret(o->password);
    for (int32_t i = 0; i < o->n_accounts; i++) {
        free_text(o->accounts[i].user);
        free_secret(o->accounts[i].password);
    }
    free((void *)(uintptr_t)o->accounts);
}

static void free_reader(struct qt_engine_options *o)
{
    free_text(o->host);
    free_text(o->socket);
    free_text(o->user);
    free_secret(o->password);
}

struct qt_engine *qt_engine_new(const struct qt_engine_options *options, struct qt_error *err)
{
    struct qt_engine *e;

    if (check_options(options, err) != QT_OK)
        return NULL;
    /* The library sets itself up at its first use, which must not be by several threads at once. */
    if (mysql_server_init(0, NULL, NULL) != 0 || (e = calloc(1, sizeof *e)) == NULL) {
        qt_fail(err, QT_ENOMEM, "out of memory for an engine");
        return NULL;
    }
    pthread_mutex_init(&e->fd_lock, NULL);
    pthread_mutex_init(&e->feed_lock, NULL);
    pthread_mutex_init(&e->stats_lock, NULL);
    pthread_mutex_init(&e->tempo.lock, NULL);
    e->tempo.factor = 1;
    qt_out_init(e);
    atomic_store(&e->room_at, -1);
    atomic_store(&e->last_due_ns, INT64_MIN);
    if (!copy_options(&e->options, options) || !copy_reader(e) ||
        (options->order_tables > 0 && (e->order = qt_order_new(options->order_tables)) == NULL)) {
        qt_engine_free(e);
        qt_fail(err, QT_ENOMEM, "out of memory for an engine");
        return NULL;
    }
    return e;
}

int qt_thread_start(pthread_t *thread, int64_t stack_bytes, void *(*run)(void *), void *arg)
{
    pthread_attr_t attr;
    int error;

    pthread_attr_init(&attr);
    if (stack_bytes > 0)
        pthread_attr_setstacksize(&attr, stack_bytes < PTHREAD_STACK_MIN ? (size_t)PTHREAD_STACK_MIN : (size_t)stack_bytes);
    error = pthread_create(thread, &attr, run, arg);
    pthread_attr_destroy(&attr);
    return error;
}

/* A tape has few schemas and each event's is most often one of the last few: a list that moves hits to the front. */
const char *qt_intern(struct qt_engine *e, const char *name, size_t len)
{
    char *copy;

    for (int64_t i = 0; i < e->n_names; i++)
        if (strncmp(e->name[i], name, len) == 0 && e->name[i][len] == 0) {
            const char *found = e->name[i];
            e->name[i] = e->name[i / 2];
            e->name[i / 2] = found;
            return found;
        }
    if (e->n_names == e->name_slots) {
        int64_t slots = e->name_slots == 0 ? 16 : e->name_slots * 2;
        const char **names = realloc(e->name, (size_t)slots * sizeof *names);
        if (names == NULL)
            return NULL;
        e->name = names;
        e->name_slots = slots;
    }
    copy = strndup(name, len);
    if (copy != NULL)
        e->name[e->n_names++] = copy;
    return copy;
}

static uint64_t hash(int64_t id) { return ((uint64_t)id * 0x9E3779B97F4A7C15ULL) >> 20; }

struct qt_session *qt_find_session(struct qt_engine *e, int64_t id)
{
    if (e->by_id == NULL)
        return NULL;
    for (uint64_t i = hash(id);; i++) {
        struct qt_session *s = e->by_id[i & e->by_id_mask];
        if (s == NULL || s->id == id)
            return s;
    }
}

/* Built once all sessions are known, for they move while their array grows. */
static int index_sessions(struct qt_engine *e, struct qt_error *err)
{
    uint64_t slots = 16;

    while (slots < (uint64_t)e->n_sessions * 2)
        slots *= 2;
    e->by_id = calloc(slots, sizeof(struct qt_session *));
    if (e->by_id == NULL)
        return qt_fail(err, QT_ENOMEM, "out of memory for the sessions");
    e->by_id_mask = slots - 1;
    for (int64_t n = 0; n < e->n_sessions; n++) {
        struct qt_session *s = &e->session[n];
        uint64_t i = hash(s->id);
        if (qt_find_session(e, s->id) != NULL)
            return qt_fail(err, QT_EINVALID, "session %lld is there twice", (long long)s->id);
        while (e->by_id[i & e->by_id_mask] != NULL)
            i++;
        e->by_id[i & e->by_id_mask] = s;
    }
    return QT_OK;
}

static int add_session(struct qt_engine *e, const struct qt_rows *r, int64_t row, struct qt_error *err)
{
    struct qt_session *s = &e->session[e->n_sessions];
    int64_t due = qt_read_i64(r, OPEN_DUE, row);
    size_t len;
    const char *db = qt_read_bytes(r, DB, row, &len), *charset;

    if (e->n_sessions > 0 && due < s[-1].open_due_ns)
        return qt_fail(err, QT_EINVALID, "session %lld is due to open before the one before it: expected them sorted",
                       (long long)qt_read_i64(r, SESSION, row));
    if (db == NULL && e->options.db != NULL) {
        db = e->options.db;
        len = strlen(db);
    }
    if (len > 0 && (db = qt_intern(e, db, len)) == NULL)
        return qt_fail(err, QT_ENOMEM, "out of memory for a schema's name");
    memset(s, 0, sizeof *s);
    s->engine = e;
    s->id = qt_read_i64(r, SESSION, row);
    s->open_due_ns = due;
    s->planned = qt_read_i64(r, EVENTS, row);
    s->db = len > 0 ? db : NULL;
    s->ahead = qt_read_bool(r, AHEAD, row);
    s->account = qt_read_null(r, ACCOUNT, row) ? -1 : qt_read_i32(r, ACCOUNT, row);
    s->client_flags = qt_read_null(r, CLIENT_FLAGS, row) ? 0 : qt_read_i64(r, CLIENT_FLAGS, row);
    charset = qt_read_bytes(r, CHARSET, row, &len);
    if (len > 0 && (s->charset = qt_intern(e, charset, len)) == NULL)
        return qt_fail(err, QT_ENOMEM, "out of memory for a character set's name");
    if (s->account < -1 || s->account >= e->options.n_accounts)
        return qt_fail(err, QT_EINVALID, "session %lld: its account %d is not among the accounts", (long long)s->id, s->account);
    s->tape_end_ns = QT_NONE;
    s->fd = -1;
    atomic_store(&s->target_id, -1);
    atomic_store(&s->stuck_due_ns, QT_NOT_STUCK);
    e->n_sessions++;
    e->n_ahead += due <= 0;
    return QT_OK;
}

static int add_batch(struct qt_engine *e, const struct qt_rows *r, struct qt_error *err)
{
    size_t n = (size_t)(e->n_sessions + r->rows);
    struct qt_session *sessions = realloc(e->session, n * sizeof *sessions);
    int code = QT_OK;

    if (sessions == NULL)
        return qt_fail(err, QT_ENOMEM, "out of memory for %zu sessions", n);
    e->session = sessions;
    for (int64_t row = 0; row < r->rows && code == QT_OK; row++)
        code = add_session(e, r, row, err);
    return code;
}

int qt_engine_sessions(struct qt_engine *e, struct ArrowArrayStream *in, struct qt_error *err)
{
    struct qt_rows r = {.rows = 0};
    int code;

    if (atomic_load(&e->state) != QT_ENGINE_NEW || e->by_id != NULL)
        return qt_fail(err, QT_ESTATE, "sessions are taken once, before the start");
    code = qt_rows_open(&r, in, "lllUbilU", err);
    while (code == QT_OK && (code = qt_rows_next(&r, err)) == QT_OK && r.rows > 0)
        code = add_batch(e, &r, err);
    qt_rows_close(&r);
    return code == QT_OK ? index_sessions(e, err) : code;
}

int qt_engine_start(struct qt_engine *e, struct qt_error *err)
{
    int error;

    if (atomic_load(&e->state) != QT_ENGINE_NEW)
        return qt_fail(err, QT_ESTATE, "the engine was started already");
    e->start_ns = qt_now();
    if (qt_unpaced(e) && e->options.max_open > 0 && e->n_ahead > e->options.max_open)
        e->n_ahead = e->options.max_open;
    atomic_store(&e->state, QT_ENGINE_OPENING);
    error = qt_thread_start(&e->conductor, CONDUCTOR_STACK, qt_conductor_run, e);
    if (error != 0) {
        atomic_store(&e->state, QT_ENGINE_NEW);
        return qt_fail(err, QT_EIO, "no thread for the engine: %s", strerror(error));
    }
    e->has_conductor = 1;
    return QT_OK;
}

/* Nothing here but atomic stores and a futex: a signal handler may call it. */
void qt_engine_stop(struct qt_engine *e, int32_t how)
{
    int32_t before = atomic_load(&e->stop);
    while (how > before && !atomic_compare_exchange_weak(&e->stop, &before, how))
        ;
    qt_ring(e);
}

static void free_session(struct qt_session *s)
{
    struct qt_event *ev;
    while ((ev = qt_session_take(s)) != NULL)
        free(ev);
    free(s->chunk);
    free(s->error);
}

void qt_engine_free(struct qt_engine *e)
{
    if (e == NULL)
        return;
    if (e->has_conductor) {
        qt_engine_stop(e, 2);
        pthread_join(e->conductor, NULL);
    }
    for (int64_t i = 0; i < e->n_sessions; i++)
        free_session(&e->session[i]);
    for (int64_t i = 0; i < e->n_names; i++)
        free((void *)(uintptr_t)e->name[i]);
    free(e->name);
    free(e->session);
    free(e->by_id);
    qt_out_free(e);
    free_reader(&e->reader_options);
    free_options(&e->options);
    pthread_mutex_destroy(&e->fd_lock);
    pthread_mutex_destroy(&e->feed_lock);
    pthread_mutex_destroy(&e->stats_lock);
    pthread_mutex_destroy(&e->tempo.lock);
    qt_order_free(e->order);
    free(e);
}
