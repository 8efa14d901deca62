/* SPDX-License-Identifier: Apache-2.0 */
/* Converts decoded events to rows of the tape: numbers the sessions, normalizes and redacts the statements. */
#include "packets/packets_events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "packets/insert_ids.h"
#include "protocol/decoder.h"
#include "reader/reader.h"

enum { NO_BACKSLASH = 1 }; /* a bit of struct qt_session_mode */

static int64_t session_of(struct qt_packets *s, struct qt_tcp_owner *owner)
{
    if (owner->session == 0) {
        owner->session = s->next_session++;
        atomic_store_explicit(&s->reader.sessions, (uint64_t)owner->session, memory_order_relaxed);
    }
    return owner->session;
}

/* Sets the times of one command. The start is the time of the command's last byte. The end is the time of the last byte
 * of its reply. */
static void times(struct qt_event_row *out, const struct qt_decoded_event *e)
{
    out->start_ns = e->request_last_ns;
    out->request_ns = e->request_last_ns - e->request_first_ns;
    out->precision_ns = 1000;
    if (e->reply_first_ns >= 0)
        out->first_byte_ns = e->reply_first_ns > out->start_ns ? e->reply_first_ns - out->start_ns : 0;
    if (e->reply_last_ns >= 0)
        out->duration_ns = e->reply_last_ns > out->start_ns ? e->reply_last_ns - out->start_ns : 0;
}

static int is_insert(const char *text) { return memcmp(text, "insert ", 7) == 0 || memcmp(text, "replace ", 8) == 0; }

static enum qt_named_kind kind_of_insert(const struct qt_statement *what)
{
    static const char update[] = " on duplicate key update ";
    return memmem(what->text, what->text_len, update, sizeof update - 1) != NULL ? QT_NAMED_UPSERT : QT_NAMED_INSERT;
}

/* Returns whether this statement generated the id in its reply, or UNKNOWN if that cannot be decided. An UPDATE also
 * returns an id if it called LAST_INSERT_ID(expr). */
static enum qt_named_kind kind_of(struct qt_tcp_owner *owner, const struct qt_decoded_event *e,
                                  const struct qt_statement *what)
{
    static const char set[] = "set statement ", comment[] = "/*! ";
    const char *text = what->text, *verb;
    if (what->flags & QT_F_SQL_PREPARE)
        return qt_named_follow(&owner->named, owner->mode, e->statement);
    if (what->text_len < 10)
        return QT_NAMED_OTHER;
    if (is_insert(text) || (memcmp(text, comment, 4) == 0 && what->text_len > 12 && is_insert(text + 4)))
        return kind_of_insert(what);
    if (what->text_len < 30 || memcmp(text, set, sizeof set - 1) != 0)
        return QT_NAMED_OTHER;
    verb = memmem(text, what->text_len - 8, " for ", 5);
    return verb != NULL && is_insert(verb + 5) ? kind_of_insert(what) : QT_NAMED_OTHER;
}

/* Sets the generated id of a single statement, or the ids of a multi-statement text. Ids of a redacted text are left
 * out, because redaction changes the offsets. */
static int set_insert_ids(struct qt_packets *s, struct qt_tcp_owner *owner, struct qt_event_row *out,
                          const struct qt_decoded_event *e, const struct qt_statement *what)
{
    struct qt_session_mode mode = owner->mode;
    enum qt_named_kind kind = kind_of(owner, e, what);
    int inserts = kind == QT_NAMED_INSERT || (kind == QT_NAMED_UPSERT && !e->only_found);
    out->insert_id = inserts ? e->last_insert_id : -1;
    if (e->result_ids.p == NULL && kind == QT_NAMED_UNKNOWN && e->last_insert_id > 0)
        out->insert_ids = (struct qt_span){"", 0};
    if (e->result_ids.p == NULL)
        return QT_OK;
    if (what->sets_mode > 1) /* a SET in the middle of the text changed the settings */
        mode.known = 0;
    int code = qt_write_insert_ids(&s->insert_ids, mode, e->statement, e->result_ids, e->errno_ > 0);
    if (code < 0)
        return QT_ENOMEM;
    out->insert_id = -1;
    if (code > 0 || (what->redacted != NULL && s->insert_ids.len > 0))
        out->insert_ids = (struct qt_span){"", 0};
    else if (s->insert_ids.len > 0)
        out->insert_ids = (struct qt_span){s->insert_ids.p, s->insert_ids.len};
    return QT_OK;
}

/* Handles a connection that was open before the capture. Applies the session state that the server reported, if any. */
static int on_midway(void *self, void *connection, struct qt_decoder *d, struct qt_span host, int32_t port)
{
    struct qt_packets *s = self;
    struct qt_tcp_owner *owner = connection;
    struct qt_open_session *open = qt_open_sessions_find_client(s->reader.open, host, port);
    if (open == NULL || qt_decoder_set_account(d, open->thread_id, open->user, open->db) != QT_OK)
        return 0;
    for (const struct qt_open_statement *it = open->statements; it != NULL; it = it->next)
        if (it->id >= 0 && qt_decoder_add_statement(d, (uint32_t)it->id, it->text, it->params) != QT_OK)
            return 0;
    owner->open = open;
    s->known_midway++;
    return 1;
}

/* Adds the rows that restore the session's state on a new connection. These rows precede the first event of a
 * connection that was open before the capture. */
static int add_carried(struct qt_packets *s, struct qt_tcp_owner *owner, const struct qt_event_row *first)
{
    const struct qt_open_session *open = owner->open;
    struct qt_event_row like = *first;
    owner->open_told = 1;
    like.seq = owner->seq;
    like.start_ns = first->start_ns - first->request_ns;
    like.db = open->db; /* the event may have changed the schema */
    int code = qt_carried_rows_add(&s->reader, open, 1, &like, NULL);
    owner->seq = like.seq;
    owner->mode = open->mode;
    return code;
}

static int is_command(const struct qt_decoded_event *e, const char *name) { return strcmp(e->command, name) == 0; }

/* Tracks the session settings that change how statements are parsed. A proxy may remove the status flags from the
 * server's reply. */
static void follow_mode(struct qt_packets *s, struct qt_session_mode *mode, const struct qt_decoded_event *e,
                        const struct qt_statement *what)
{
    if (is_command(e, "change_user") || is_command(e, "reset_connection"))
        *mode = (struct qt_session_mode){0};
    if (what != NULL && what->sets_mode && !is_command(e, "prepare"))
        qt_session_mode_follow(s->normalizer, mode, e->statement.p, e->statement.len,
                               e->errno_ == 0  ? 1
                               : e->errno_ > 0 ? -1
                                               : 0);
    if (e->flags & QT_F_TRUNCATED) /* the missing part may change any setting */
        mode->known = 0;
    if (e->no_backslash < 0)
        return;
    int agrees = !(mode->known & NO_BACKSLASH) || (mode->reading & NO_BACKSLASH) == e->no_backslash;
    mode->reading = (uint8_t)((mode->reading & ~NO_BACKSLASH) | e->no_backslash);
    mode->known = (uint8_t)((mode->known & ~NO_BACKSLASH) | (agrees ? NO_BACKSLASH : 0));
}

static int on_event(void *self, void *connection, const struct qt_decoded_event *e)
{
    struct qt_packets *s = self;
    struct qt_tcp_owner *owner = connection;
    struct qt_event_row out = qt_event_unknown;
    struct qt_statement what;
    struct qt_error error;
    out.session = session_of(s, owner);
    out.thread_id = (intptr_t)owner->mine > 0 ? (intptr_t)owner->mine - 1 : -1;
    out.command = e->command;
    times(&out, e);
    out.user = e->user;
    out.host = e->host;
    out.db = e->db;
    out.stmt = e->stmt;
    out.params = e->params;
    out.last_insert_id = -1; /* only a SET in the source fills this column; the id in the reply goes into `insert_id` */
    out.file = s->file < 0 ? 0 : s->file;
    out.offset = e->packet;
    out.rows_sent = e->rows_sent;
    out.rows_affected = e->rows_affected;
    out.bytes_sent = e->bytes_sent;
    out.warnings = e->warnings;
    out.errno_ = e->errno_;
    out.error = e->error;
    out.flags = e->flags;
    if (e->checksum[0] != '\0')
        out.checksum = (struct qt_span){e->checksum, strlen(e->checksum)};
    if (owner->open != NULL && !owner->open_told) {
        int code = add_carried(s, owner, &out);
        if (code != QT_OK)
            return code;
    }
    out.seq = ++owner->seq;
    if (e->statement.p != NULL) {
        int code = qt_normalize(s->normalizer, &owner->mode, e->statement.p, e->statement.len, &what, &error);
        if (code != QT_OK)
            return code;
        qt_event_set_statement(&out, e->statement, &what);
        if (set_insert_ids(s, owner, &out, e, &what) != QT_OK)
            return QT_ENOMEM;
        if (what.redacted != NULL) /* parameters and error text may contain redacted values */
            out.params = out.error = (struct qt_span){NULL, 0};
    }
    follow_mode(s, &owner->mode, e, e->statement.p != NULL ? &what : NULL);
    atomic_fetch_add_explicit(&s->reader.events, 1, memory_order_relaxed);
    return qt_event_batch_add(&s->reader.batch, &out, NULL) == 0 ? QT_OK : QT_ENOMEM;
}

/* Counts each TLS connection once: as decrypted, or under the reason why it was not decrypted. */
static void count_encrypted(struct qt_packets *s, struct qt_tcp_owner *owner, const struct qt_decoded_session *w)
{
    if (owner->tls_counted == 0 && w->decrypted)
        s->decrypted++;
    else if (owner->tls_counted == 0)
        s->unread[w->tls_end]++;
    if (w->decrypted && owner->tls_counted < 2 && w->tls_end != QT_TLS_GOES_ON)
        s->broken_off++;
    if (w->decrypted && owner->tls_counted < 2 && w->tls_end == QT_TLS_RENEGOTIATED)
        s->renegotiated++;
    owner->tls_counted = w->tls_end == QT_TLS_GOES_ON ? 1 : 2;
}

static int on_session(void *self, void *connection, const struct qt_decoded_session *w)
{
    struct qt_packets *s = self;
    struct qt_tcp_owner *owner = connection;
    if (w->encrypted)
        count_encrypted(s, owner, w);
    if (w->thread_id >= 0)
        owner->mine = (void *)(intptr_t)(w->thread_id + 1);
    struct qt_span version = w->server_version;
    if (version.len > 6 && memcmp(version.p, "5.5.5-", 6) == 0) { /* MariaDB adds this prefix for old replicas */
        version.p += 6;
        version.len -= 6;
    }
    if (version.p != NULL && version.len < sizeof s->reader.server_version)
        qt_reader_set_version(&s->reader, version);
    if (owner->seq == 0 && w->collation >= 0)
        qt_session_mode_login(&owner->mode, w->collation, s->reader.server_version);
    if (w->encrypted && !w->decrypted && owner->session == 0)
        return QT_OK; /* the tape will have no events of this connection */
    struct qt_session_fact fact = {
        .session = session_of(s, owner),
        .thread_id = w->thread_id,
        .user = w->user,
        .host = w->host,
        .db = w->db,
        .port = w->port,
        .client_flags = w->client_flags,
        .charset = w->charset.p == NULL && owner->open != NULL ? owner->open->charset : w->charset,
        .attributes = w->attributes,
        .open_at_start = w->connect_seen ? 0 : w->open_at_start,
        .open_at_end = w->quit_seen ? 0 : -1,
        .encrypted = w->encrypted,
    };
    qt_session_facts_add(&s->reader.facts, &fact);
    return QT_OK;
}

static void on_problem(void *self, void *connection, int64_t packet, const char *kind, const char *message,
                       const char *found, size_t found_len)
{
    struct qt_packets *s = self;
    struct qt_tcp_owner *owner = connection;
    if (strcmp(kind, "lost_packets") == 0) /* the lost packets may have changed any setting */
        owner->mode.known = 0;
    s->misfits += strcmp(kind, "execution_does_not_fit") == 0;
    s->x_protocol += strcmp(kind, "x_protocol") == 0;
    if (strcmp(kind, "no_event") == 0 && s->silent++ == 0)
        snprintf(s->first_silent, sizeof s->first_silent, "%s: %.*s", message, (int)found_len, found);
    qt_problems_add(&s->reader.problems, s->file < 0 ? 0 : s->file, 0, packet, kind, message, found, found_len);
}

struct qt_decoder_sink qt_packets_sink(struct qt_packets *s)
{
    return (struct qt_decoder_sink){s, on_midway, on_event, on_session, on_problem};
}
