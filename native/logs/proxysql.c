/* SPDX-License-Identifier: Apache-2.0 */
/* ProxySQL's events log in its binary format (1). A record:
 *
 *   u64 length · u8 event (0 query, 16 execute, 17 prepare, 18 about the log itself) · lenenc thread ·
 *   lenenc strings user, schema, client ("address:port") ·
 *   lenenc hostgroup [· lenenc string server, unless it is none] · lenenc start, end in microseconds ·
 *   [lenenc statement id, of execute and prepare] · [lenenc affected rows [· last insert id] · rows sent] ·
 *   lenenc digest ·
 *   lenenc string query · [parameters: proxysql_params.c]
 *
 * The format has no version number, and releases differ in the optional fields in brackets. For queries the length is
 * one byte too large. The reader therefore tries each layout. It chooses the layout that ends at the given length.
 *
 * Source: ProxySQL's MySQL_Logger.cpp, issues 2284, 4861, 4895. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/reading.h"
#include "logs/proxysql_params.h"
#include "reader/log.h"

enum { QUERY = 0, EXECUTE = 16, PREPARE = 17, METADATA = 18, SHORTEST = 16, HEAD = 4 << 10 };
#define MAX_LENGTH (UINT64_C(1) << 33) /* bytes of a record: its query and, for an execution, its parameters */
#define NO_HOSTGROUP UINT64_C(0xFFFFFFFFFFFFFFFF)
#define EARLIEST UINT64_C(1262304000000000) /* year 2010, in microseconds */
#define LATEST UINT64_C(7258118400000000)   /* year 2200, in microseconds */

struct qt_proxysql {
    struct qt_log log;
    int counts;    /* counts in the previous record: 3 (affected, last insert id, rows), 2 (no id) or 0 */
    uint64_t skip; /* remaining bytes of a record that exceeds the size limit */
    struct qt_bytes params;
};

struct row {
    int event;
    uint64_t thread, start_us, end_us, stmt, affected, insert_id, rows;
    int counts;
    struct qt_span user, schema, client, query, params;
    size_t size; /* bytes of the record, including its length field */
    int cut;     /* the query continues beyond the buffer */
};

static int is_text(struct qt_span s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.p[i] < ' ')
            return 0;
    return 1;
}

/* Takes the part of a query that is in the buffer. Returns the length of the whole query. */
static uint64_t take_query(struct qt_reading *r, struct row *out)
{
    uint64_t len = qt_take_lenenc(r);
    out->cut = !r->bad && len > qt_left(r);
    out->query = (struct qt_span){(const char *)r->p, out->cut ? qt_left(r) : (size_t)len};
    r->p += out->query.len;
    return len;
}

/* Reads a record in one layout. Returns 0 if the layout does not fit. `r` begins after the length field and may end
 * inside the query. */
static int with_layout(struct qt_reading r, uint64_t length, int counts, struct row *out)
{
    const uint8_t *begin = r.p;
    *out = (struct row){.counts = counts};
    out->event = (int)qt_take_int(&r, 1);
    out->thread = qt_take_lenenc(&r);
    out->user = qt_take_string(&r);
    out->schema = qt_take_string(&r);
    out->client = qt_take_string(&r);
    if (qt_take_lenenc(&r) != NO_HOSTGROUP)
        qt_take_string(&r);
    out->start_us = qt_take_lenenc(&r);
    out->end_us = qt_take_lenenc(&r);
    int prepared = out->event == EXECUTE || out->event == PREPARE;
    if (prepared)
        out->stmt = qt_take_lenenc(&r);
    if (counts > 0)
        out->affected = qt_take_lenenc(&r);
    if (counts == 3)
        out->insert_id = qt_take_lenenc(&r);
    if (counts > 0)
        out->rows = qt_take_lenenc(&r);
    qt_take_lenenc(&r);
    uint64_t query = take_query(&r, out), used = (uint64_t)(r.p - begin) + query - out->query.len;
    unsigned uncounted = !prepared;
    int timed = out->start_us >= EARLIEST && out->start_us <= LATEST && out->end_us >= out->start_us &&
                out->end_us <= LATEST;
    if (r.bad || (!timed && out->event != METADATA) || !is_text(out->user) || !is_text(out->schema) ||
        !is_text(out->client))
        return 0;
    if (used != length && used + uncounted != length && !(out->event == EXECUTE && used < length))
        return 0;
    out->size = 8 + (size_t)(out->event == EXECUTE ? length : used);
    if (used < length && length - used <= qt_left(&r) && !out->cut)
        out->params = (struct qt_span){(const char *)r.p, (size_t)(length - used)};
    return 1;
}

/* Finds the layout that fits the buffered bytes of a record. Returns 1, or 0 if none fits. */
static int find_layout(struct qt_proxysql *s, uint64_t length, struct row *out)
{
    static const int layouts[] = {3, 2, 0};
    const struct qt_log *l = &s->log;
    struct qt_reading r = qt_reading(l->buffer + l->begin + 8, l->end - l->begin - 8);
    if (with_layout(r, length, s->counts, out))
        return 1;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (with_layout(r, length, layouts[i], out)) {
            s->counts = layouts[i];
            return 1;
        }
    return 0;
}

/* Reads a record at the start of the buffer. Returns 1 if found, 0 if not, -1 if `*code` has an error.
 *
 * A length field alone is not reliable. The rest of a large record is therefore read only if the fields before the
 * query are valid. */
static int record_at(struct qt_proxysql *s, struct row *out, int *code, struct qt_error *error)
{
    struct qt_log *l = &s->log;
    struct qt_reading r = qt_reading(l->buffer + l->begin, l->end - l->begin);
    uint64_t length = qt_take_int(&r, 8), event = qt_take_int(&r, 1);
    if (r.bad || length < SHORTEST || length > MAX_LENGTH || (event != QUERY && (event < EXECUTE || event > METADATA)))
        return 0;
    uint64_t want[] = {HEAD, length};
    for (int i = length <= HEAD; i < 2; i++) {
        if (l->end - l->begin < 8 + want[i] && !l->at_end) {
            *code = qt_log_fill(l, 8 + (size_t)want[i], error);
            if (*code != QT_OK)
                return -1;
        }
        if (!find_layout(s, length, out))
            return 0;
    }
    if (qt_log_is_full(l) && out->size > l->end - l->begin)
        return 1;
    /* While a log is being written, its last record may be incomplete. */
    return !out->cut && l->end - l->begin >= out->size;
}

static struct qt_span without_port(struct qt_span client)
{
    for (size_t i = client.len; i > 0; i--)
        if (client.p[i - 1] == ':')
            return (struct qt_span){client.p, i - 1};
    return client;
}

/* Sets the statement id and, for an execution, the bound values. An execution that lacks needed values cannot be
 * replayed. */
static int set_prepared(struct qt_proxysql *s, const struct row *row, struct qt_event_row *e)
{
    uint64_t count = 0;
    if (row->event == QUERY || (e->flags & QT_F_REDACTED))
        return 0;
    if (row->event == PREPARE) {
        e->stmt = (int64_t)(row->stmt & INT64_MAX);
        return 0;
    }
    qt_bytes_clear(&s->params, HEAD);
    int known = qt_proxysql_params(row->params, &s->params, &count);
    if (known > 0 && count > 0) {
        e->stmt = (int64_t)(row->stmt & INT64_MAX);
        e->params = (struct qt_span){s->params.p, s->params.len};
        e->flags &= ~QT_F_PLACEHOLDER;
    }
    return known < 0 ? -1 : 0;
}

static int tell(struct qt_proxysql *s, const struct row *row, struct qt_error *error)
{
    static const char *const names[] = {[QUERY] = "query", [EXECUTE] = "execute", [PREPARE] = "prepare"};
    struct qt_event_row e = qt_event_unknown;
    struct qt_statement what;
    int64_t at = qt_log_find_session(&s->log, row->thread, 0, names[row->event]);
    struct qt_span text = {row->query.p != NULL ? row->query.p : "", row->query.len};
    if (at < 0 ||
        qt_normalize(s->log.normalizer, &s->log.sessions.entries[at].mode, text.p, text.len, &what, error) != QT_OK)
        return -1;
    e.command = names[row->event];
    e.session = s->log.sessions.entries[at].session;
    e.seq = s->log.sessions.entries[at].seq;
    e.thread_id = (int64_t)(row->thread & INT64_MAX);
    e.start_ns = (int64_t)row->start_us * 1000;
    e.duration_ns = (int64_t)(row->end_us - row->start_us) * 1000;
    e.precision_ns = 1000;
    e.user = row->user;
    e.host = without_port(row->client);
    e.db = row->schema;
    if (row->counts > 0) {
        e.rows_affected = (int64_t)(row->affected & INT64_MAX);
        e.rows_sent = (int64_t)(row->rows & INT64_MAX);
    }
    e.file = s->log.file;
    e.offset = (int64_t)s->log.offset;
    qt_event_set_statement(&e, text, &what);
    if (row->event != PREPARE) /* the log does not record whether a prepare succeeded */
        qt_log_follow_mode(&s->log, at, &what, text, 0);
    if (set_prepared(s, row, &e) != 0)
        return -1;
    if (row->cut) {
        e.flags |= QT_F_TRUNCATED;
        qt_log_add_cut_problem(&s->log, e.statement);
    }
    if (qt_event_batch_add(&s->log.reader.batch, &e, NULL) != 0)
        return -1;
    s->log.file_events++;
    atomic_fetch_add_explicit(&s->log.reader.events, 1, memory_order_relaxed);
    return 0;
}

/* Skips damaged bytes up to the next record or the end of the file. */
static int resynchronise(struct qt_proxysql *s, struct row *row, struct qt_error *error)
{
    int code = QT_OK;
    struct qt_span found = {s->log.buffer + s->log.begin, s->log.end - s->log.begin};
    qt_log_add_bad_record(&s->log, "not_understood", "expected a record of a ProxySQL events log",
                          (struct qt_span){found.p, found.len < 40 ? found.len : 40});
    do {
        qt_log_consume(&s->log, 1);
        qt_reader_add_not_understood(&s->log.reader, 1);
        if (s->log.end - s->log.begin < 64 && !s->log.at_end &&
            (code = qt_log_fill(&s->log, s->log.following ? 64 : 1 << 16, error)) != QT_OK)
            return code;
        if (s->log.begin == s->log.end)
            return QT_OK;
    } while (record_at(s, row, &code, error) == 0);
    return code;
}

/* Consumes `size` bytes. Bytes that are not in the buffer yet are skipped when they arrive. */
static void consume(struct qt_proxysql *s, uint64_t size)
{
    size_t have = s->log.end - s->log.begin, used = size < have ? (size_t)size : have;
    qt_log_consume(&s->log, used);
    s->skip = size - used;
}

static int read_batch(struct qt_reader *reader, struct qt_error *error)
{
    struct qt_proxysql *s = (struct qt_proxysql *)reader;
    struct row row;
    int code = QT_OK;
    s->log.part_began_ns = reader->due = 0;
    qt_log_trim_sessions(&s->log);
    while (!atomic_load_explicit(&reader->stopped, memory_order_relaxed) && qt_log_is_open(&s->log) &&
           !qt_reader_batch_full(reader)) {
        if (s->log.end - s->log.begin < 64 && !s->log.at_end &&
            (code = qt_log_fill(&s->log, s->log.following ? 64 : 1 << 16, error)) != QT_OK)
            return code;
        if (s->skip > 0 && s->log.begin < s->log.end) {
            consume(s, s->skip);
            continue;
        }
        if (s->log.begin == s->log.end) {
            s->skip = 0;
            if (qt_log_next_file(&s->log, error) < 0)
                return error != NULL ? error->code : QT_EIO;
            continue;
        }
        int found = record_at(s, &row, &code, error);
        if (found > 0 && reader->batch.rows > 0 && reader->batch.bytes + row.query.len > QT_LOG_MAX_BATCH)
            return QT_OK;
        if (found == 0)
            code = resynchronise(s, &row, error);
        if (code != QT_OK)
            return code;
        if (found == 0)
            continue; /* continue at the next record or the end */
        if (row.event != METADATA && tell(s, &row, error) != 0)
            return qt_fail(error, QT_ENOMEM, "out of memory");
        consume(s, row.size);
    }
    return QT_OK;
}

static void close_log(struct qt_reader *reader)
{
    struct qt_proxysql *s = (struct qt_proxysql *)reader;
    qt_bytes_free(&s->params);
    qt_log_close(&s->log);
}

static const struct qt_reader_kind kind = {read_batch, NULL, close_log, NULL};

struct qt_reader *qt_proxysql_open(const char *const *paths, int32_t n_paths, const struct qt_log_options *options,
                                   struct qt_error *error)
{
    struct qt_proxysql *s = qt_log_open(sizeof *s, &kind, "a ProxySQL events log", paths, n_paths, options, error);
    if (s == NULL)
        return NULL;
    s->counts = 3;
    s->log.exact_times = 1;
    return &s->log.reader;
}
