/* SPDX-License-Identifier: Apache-2.0 */
/* The sessions of the plan:
 *
 *   stream ─► session 0, 1, 2, ...  in the order in which they are opened, in pieces that never move
 *                │
 *                └─ by_id[]  hash table, rebuilt when it gets full: session number ─► session
 *
 * When the engine follows a tape, sessions are added during the run. */
#include "engine/sessions.h"

#include <stdlib.h>
#include <string.h>

#include "base/arrow_stream.h"

enum { SESSION, OPEN_DUE, EVENTS, DB, AHEAD, ACCOUNT, CLIENT_FLAGS, CHARSET, COLLATION, NAMES };

/* A tape has few schemas, and most events use a schema that was used recently. A list that moves hits towards the front
 * is therefore fast enough. */
const char *qt_intern(struct qt_engine *e, const char *name, size_t len)
{
    char *copy;

    for (int64_t i = 0; i < e->table.n_names; i++)
        if (strncmp(e->table.name[i], name, len) == 0 && e->table.name[i][len] == 0) {
            const char *same = e->table.name[i];
            e->table.name[i] = e->table.name[i / 2];
            e->table.name[i / 2] = same;
            return same;
        }
    if (e->table.n_names == e->table.name_slots) {
        int64_t slots = e->table.name_slots == 0 ? 16 : e->table.name_slots * 2;
        const char **names = realloc(e->table.name, (size_t)slots * sizeof *names);
        if (names == NULL)
            return NULL;
        e->table.name = names;
        e->table.name_slots = slots;
    }
    copy = strndup(name, len);
    if (copy != NULL)
        e->table.name[e->table.n_names++] = copy;
    return copy;
}

static uint64_t hash_id(int64_t id) { return ((uint64_t)id * 0x9E3779B97F4A7C15ULL) >> 20; }

struct qt_session *qt_find_session(struct qt_engine *e, int64_t id)
{
    if (e->table.by_id == NULL)
        return NULL;
    for (uint64_t i = hash_id(id);; i++) {
        struct qt_session *s = e->table.by_id[i & e->table.by_id_mask];
        if (s == NULL || s->id == id)
            return s;
    }
}

static void place_by_id(struct qt_engine *e, struct qt_session *s)
{
    uint64_t i = hash_id(s->id);
    while (e->table.by_id[i & e->table.by_id_mask] != NULL)
        i++;
    e->table.by_id[i & e->table.by_id_mask] = s;
}

/* Makes sure that the hash table has at least twice as many slots as `n` sessions. */
static int make_room_by_id(struct qt_engine *e, int64_t n, struct qt_error *err)
{
    uint64_t slots = 16;
    struct qt_session **table;

    while (slots < (uint64_t)n * 2)
        slots *= 2;
    if (e->table.by_id != NULL && slots <= e->table.by_id_mask + 1)
        return QT_OK;
    table = calloc(slots * 2, sizeof *table);
    if (table == NULL)
        return qt_fail(err, QT_ENOMEM, "out of memory for the sessions");
    free(e->table.by_id);
    e->table.by_id = table;
    e->table.by_id_mask = slots * 2 - 1;
    for (int64_t i = 0; i < e->table.n_sessions; i++)
        place_by_id(e, qt_session_at(e, i));
    return QT_OK;
}

/* Returns the zeroed struct for the next session. Returns NULL when out of memory. */
static struct qt_session *make_room(struct qt_engine *e)
{
    struct qt_session **piece;

    if (e->table.n_sessions >> QT_PIECE_SHIFT >= QT_MAX_PIECES)
        return NULL;
    piece = &e->table.piece[e->table.n_sessions >> QT_PIECE_SHIFT];
    if (*piece == NULL && (*piece = calloc(QT_PIECE_SESSIONS, sizeof **piece)) == NULL)
        return NULL;
    return memset(qt_session_at(e, e->table.n_sessions), 0, sizeof **piece);
}

static int64_t find_last_due(struct qt_engine *e) { return qt_session_at(e, e->table.n_sessions - 1)->open_due_ns; }

static int add_session(struct qt_engine *e, const struct qt_rows *r, int64_t row, struct qt_error *err)
{
    struct qt_session *s = make_room(e);
    int64_t due = qt_read_i64(r, OPEN_DUE, row), before = e->table.n_sessions == 0 ? due : find_last_due(e);
    int running = atomic_load(&e->state) != QT_ENGINE_NEW;
    size_t len;
    const char *db = qt_read_bytes(r, DB, row, &len), *charset, *names;

    if (s == NULL)
        return qt_fail(err, QT_ENOMEM, "out of memory for %lld sessions", (long long)e->table.n_sessions + 1);
    if (running && due < before)
        due = before; /* the session was published late */
    if (due < before)
        return qt_fail(err, QT_EINVALID, "the sessions are not sorted by opening time: session %lld opens too early",
                       (long long)qt_read_i64(r, SESSION, row));
    if (db == NULL && e->options.db != NULL) {
        db = e->options.db;
        len = strlen(db);
    }
    if (len > 0 && (db = qt_intern(e, db, len)) == NULL)
        return qt_fail(err, QT_ENOMEM, "out of memory for a schema name");
    s->engine = e;
    s->place = e->table.n_sessions;
    s->id = qt_read_i64(r, SESSION, row);
    s->open_due_ns = due;
    s->planned = qt_read_i64(r, EVENTS, row);
    s->db = len > 0 ? db : NULL;
    s->ahead = qt_read_bool(r, AHEAD, row);
    s->account = qt_read_null(r, ACCOUNT, row) ? -1 : qt_read_i32(r, ACCOUNT, row);
    s->client_flags = qt_read_null(r, CLIENT_FLAGS, row) ? 0 : qt_read_i64(r, CLIENT_FLAGS, row);
    charset = qt_read_bytes(r, CHARSET, row, &len);
    if (len > 0 && (s->charset = qt_intern(e, charset, len)) == NULL)
        return qt_fail(err, QT_ENOMEM, "out of memory for a character set name");
    s->collation = qt_read_null(r, COLLATION, row) ? 0 : qt_read_i32(r, COLLATION, row);
    names = qt_read_bytes(r, NAMES, row, &len);
    if (len > 0 && (s->names = qt_intern(e, names, len)) == NULL)
        return qt_fail(err, QT_ENOMEM, "out of memory for a collation name");
    if (s->account < -1 || s->account >= e->options.n_accounts)
        return qt_fail(err, QT_EINVALID, "session %lld has account %d, which is not in the list of accounts",
                       (long long)s->id, s->account);
    s->tape_end_ns = QT_NONE;
    s->fd = -1;
    atomic_store(&s->target_id, -1);
    atomic_store(&s->stuck_due_ns, QT_NOT_STUCK);
    atomic_store(&s->at_seq, -1);
    atomic_store(&s->at_table, -1);
    place_by_id(e, s);
    e->table.n_ahead += due <= 0 && !running;
    atomic_fetch_add(&e->table.n_sessions, 1); /* now other threads can see the session */
    return QT_OK;
}

static int add_batch(struct qt_engine *e, const struct qt_rows *r, struct qt_error *err)
{
    int code = make_room_by_id(e, e->table.n_sessions + r->rows, err);

    for (int64_t row = 0; row < r->rows && code == QT_OK; row++) {
        struct qt_session *s = qt_find_session(e, qt_read_i64(r, SESSION, row));
        if (s == NULL)
            code = add_session(e, r, row, err);
        else if (atomic_load(&e->state) == QT_ENGINE_NEW)
            code = qt_fail(err, QT_EINVALID, "session %lld is listed twice", (long long)s->id);
        else
            s->planned += qt_read_i64(r, EVENTS, row);
    }
    return code;
}

int qt_engine_sessions(struct qt_engine *e, struct ArrowArrayStream *in, struct qt_error *err)
{
    struct qt_rows r = {.rows = 0};
    int code;

    if (!e->options.follows && (atomic_load(&e->state) != QT_ENGINE_NEW || e->table.by_id != NULL))
        return qt_fail(err, QT_ESTATE, "sessions can be added only once, before the start of the engine");
    pthread_mutex_lock(&e->feed.lock);
    code = qt_rows_open(&r, in, "lllUbilUiU", err);
    if (code == QT_OK)
        code = make_room_by_id(e, 1, err);
    while (code == QT_OK && (code = qt_rows_next(&r, err)) == QT_OK && r.rows > 0)
        code = add_batch(e, &r, err);
    qt_rows_close(&r);
    pthread_mutex_unlock(&e->feed.lock);
    qt_wake_supervisor(e);
    return code;
}

void qt_engine_sessions_free(struct qt_engine *e)
{
    for (int64_t i = 0; i < e->table.n_sessions; i++) {
        free(qt_session_at(e, i)->chunk);
        free(qt_session_at(e, i)->error);
    }
    for (int64_t i = 0; e->table.piece != NULL && i < QT_MAX_PIECES && e->table.piece[i] != NULL; i++)
        free(e->table.piece[i]);
    free(e->table.piece);
    for (int64_t i = 0; i < e->table.n_names; i++)
        free((void *)(uintptr_t)e->table.name[i]);
    free(e->table.name);
    free(e->table.by_id);
}
