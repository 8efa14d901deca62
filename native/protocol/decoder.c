/* SPDX-License-Identifier: Apache-2.0 */
/* Data flow of the decoder:
 *
 *   bytes of one direction -> [compression.c] -> packets -> login.c | client_commands.c | server_replies.c
 *
 * A packet that is complete in the current bytes is parsed in place. Only incomplete packets are copied.
 *
 * Missing bytes usually stop the decoder. A connection that was joined in mid-stream also begins with a stopped
 * decoder. The decoder resumes at a client segment whose first bytes can only be a command. The server's next packet
 * with sequence 1 is then the reply.
 *
 * The decoder does not stop if all missing bytes belong to one command, according to the packet length. The packets
 * after that command are then still at known positions. */
#include "protocol/decoder.h"

#include <stdio.h>
#include <zstd.h>

#include "base/bytes.h"
#include "protocol/client_commands.h"
#include "protocol/compression.h"
#include "protocol/encrypted.h"
#include "protocol/login.h"
#include "protocol/opening.h"
#include "protocol/pending.h"
#include "protocol/prepared_statements.h"
#include "protocol/resync.h"
#include "protocol/server_replies.h"

enum { PACKET_HEADER = 4 };

/* ---- creation and destruction ---- */

struct qt_decoder *qt_decoder_new(const struct qt_decoder_options *options, const struct qt_decoder_sink *sink)
{
    struct qt_decoder *d = calloc(1, sizeof *d);
    if (d == NULL)
        return NULL;
    d->options = *options;
    d->sink = *sink;
    d->port = options->client_port;
    d->host = strndup(options->client_host.p != NULL ? options->client_host.p : "", options->client_host.len);
    d->phase = options->joined_midway ? PHASE_LOST : PHASE_GREETING;
    d->thread_id = -1;
    d->deprecate_eof = -1;
    d->charset = -1;
    d->way[0].aligned = d->way[1].aligned = !options->joined_midway;
    if (d->host == NULL) {
        qt_decoder_free(d);
        return NULL;
    }
    return d;
}

void qt_decoder_free(struct qt_decoder *d)
{
    if (d == NULL)
        return;
    qt_pending_free(d);
    qt_stmt_forget_all(d);
    qt_stmt_drop(d->last_stmt);
    for (int i = 0; i < 2; i++) {
        qt_bytes_free(&d->way[i].part);
        qt_bytes_free(&d->way[i].frame);
    }
    struct qt_bytes *texts[] = {&d->inflated, &d->user,       &d->login_user, &d->db,
                                &d->login_db, &d->attributes, &d->version,    &d->params};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        qt_bytes_free(texts[i]);
    ZSTD_freeDCtx(d->zstd);
    qt_tls_free(d->tls);
    free(d->host);
    free(d);
}

/* ---- state from other sources ---- */

int qt_decoder_set_account(struct qt_decoder *d, int64_t thread_id, struct qt_span user, struct qt_span db)
{
    d->thread_id = thread_id;
    d->has_user = user.p != NULL;
    d->has_db = db.p != NULL;
    int bad = qt_bytes_set(&d->user, user) | qt_bytes_set(&d->login_user, user) | qt_bytes_set(&d->db, db) |
              qt_bytes_set(&d->login_db, db);
    return bad ? QT_ENOMEM : QT_OK;
}

int qt_decoder_add_statement(struct qt_decoder *d, uint32_t id, struct qt_span text, uint16_t params)
{
    struct qt_stmt *s = qt_stmt_new(d);
    if (s == NULL)
        return QT_ENOMEM;
    s->id = id;
    s->answered = 1;
    s->params = params;
    int bad = qt_bytes_set(&s->text, text);
    qt_stmt_drop(s); /* releases one of three references */
    return bad ? QT_ENOMEM : QT_OK;
}

/* ---- resynchronization ---- */

/* Checks whether a client segment begins with a command after the decoder lost its position. If so, the decoder decodes
 * both directions again from this segment on. */
static int find_command(struct qt_decoder *d, enum qt_way way, const uint8_t *p, size_t n)
{
    if (way != QT_WAY_CLIENT || qt_opening_is_x_midway(d))
        return 0;
    int frame = d->compressed || !d->has_caps ? qt_begins_frame(p, n) : 0;
    if (!frame && (d->compressed || !qt_begins_command(p, n)))
        return 0;
    if (frame == 1 || frame == 2)
        d->compressed = d->has_caps ? d->compressed : frame;
    else if (frame == 3 && !d->compressed)
        d->compressed = 1;
    for (int i = 0; i < 2; i++) {
        d->way[i].part.len = d->way[i].frame.len = d->way[i].skip = 0;
        d->way[i].goes_on = 0;
    }
    d->way[QT_WAY_CLIENT].aligned = 1;
    d->way[QT_WAY_SERVER].aligned = 0;
    d->phase = PHASE_COMMAND;
    if (d->options.joined_midway && !d->midway_said) {
        d->midway_said = 1;
        struct qt_span host = {d->host, strlen(d->host)};
        if (d->sink.midway != NULL && d->sink.midway(d->sink.self, d->options.connection, d, host, d->port))
            return 1;
        qt_decoder_problem(
            d, 0, "joined_midway",
            "the capture does not contain the login, so account, schema and prepared statements are unknown", NULL, 0);
    }
    return 1;
}

/* ---- packets ---- */

static int is_readable(const struct qt_decoder *d) { return d->phase != PHASE_DONE && d->phase != PHASE_LOST; }

/* Capture times of the current bytes. A TLS record has a first and a last time, because its bytes are known only when
 * the record is complete. */
struct moment {
    int64_t first_ns, last_ns, packet;
};

static int take_packet(struct qt_decoder *d, enum qt_way way, const uint8_t *p, size_t len, const struct moment *m)
{
    struct qt_stream *s = &d->way[way];
    struct qt_piece piece = {p + PACKET_HEADER, len,         p[3],       s->goes_on,
                             len == MAX_PACKET, m->first_ns, m->last_ns, m->packet};
    s->goes_on = piece.more;
    s->seq = p[3];
    if (d->phase == PHASE_DONE)
        return QT_OK;
    if (d->phase < PHASE_COMMAND)
        return qt_login_take(d, way, &piece);
    return way == QT_WAY_CLIENT ? qt_commands_take(d, &piece) : qt_replies_take(d, &piece);
}

/* Collects a packet that does not end in the current bytes. Processes the packet when it is complete. Returns the
 * number of bytes used. */
static size_t gather(struct qt_decoder *d, enum qt_way way, const uint8_t *p, size_t n, const struct moment *m,
                     int *code)
{
    struct qt_stream *s = &d->way[way];
    size_t used = 0;
    if (s->part.len == 0) {
        s->first_ns = m->first_ns;
        s->packet = m->packet;
    }
    while (used < n) {
        size_t want = s->part.len < PACKET_HEADER ? PACKET_HEADER : qt_get_le24(s->part.p) + PACKET_HEADER;
        size_t more = want - s->part.len < n - used ? want - s->part.len : n - used;
        if (qt_bytes_add(&s->part, p + used, more) != 0) {
            *code = QT_ENOMEM;
            return n;
        }
        used += more;
        if (s->part.len >= PACKET_HEADER && s->part.len == qt_get_le24(s->part.p) + PACKET_HEADER) {
            struct moment since = {s->first_ns, m->last_ns, s->packet};
            struct qt_bytes whole = s->part; /* the handler may resynchronize and clear `s->part` */
            s->part = (struct qt_bytes){NULL, 0, 0};
            *code = take_packet(d, way, (uint8_t *)whole.p, whole.len - PACKET_HEADER, &since);
            qt_bytes_clear(&whole, KEEP_BYTES);
            if (s->part.p == NULL)
                s->part = whole;
            else
                qt_bytes_free(&whole);
            return used;
        }
    }
    return used;
}

/* Takes uncompressed or decompressed packets. Stops where compression or TLS begins or the rest is unreadable. Returns
 * the number of bytes used. */
static size_t take_packets(struct qt_decoder *d, enum qt_way way, struct qt_span bytes, const struct moment *m,
                           int *code)
{
    struct qt_stream *s = &d->way[way];
    const uint8_t *p = (const uint8_t *)bytes.p, *end = p + bytes.len;
    int compressed = d->compressed;
    while (p < end && *code == QT_OK && is_readable(d) && d->compressed == compressed && !qt_encrypted_is_due(d)) {
        size_t left = (size_t)(end - p), skip = s->skip < left ? s->skip : left;
        if (skip > 0) {
            s->skip -= skip;
            p += skip;
            continue;
        }
        if (!s->aligned) { /* server only: the first packet of a reply has sequence 1 */
            if (left < 5 || p[3] != 1 || s->part.len > 0)
                return bytes.len;
            s->aligned = 1;
        }
        if (s->part.len == 0 && left >= PACKET_HEADER && left >= qt_get_le24(p) + PACKET_HEADER) {
            size_t len = qt_get_le24(p);
            *code = take_packet(d, way, p, len, m);
            p += len + PACKET_HEADER;
        } else {
            p += gather(d, way, p, left, m, code);
        }
    }
    return bytes.len - (size_t)(end - p);
}

/* Takes the next compressed frame, or the available part of it. Returns the number of bytes used. */
static size_t take_frame(struct qt_decoder *d, enum qt_way way, struct qt_span bytes, const struct moment *m, int *code)
{
    struct qt_span rest = bytes, content;
    int is_whole = qt_compression_next_frame(d, way, &rest, m->packet, &content, code);
    if (is_whole > 0)
        take_packets(d, way, content, m, code);
    else if (*code == QT_EFORMAT)
        *code = qt_pending_lose(d);
    qt_compression_release(d, way);
    return bytes.len - rest.len;
}

/* Takes unencrypted or decrypted bytes, up to the beginning of TLS. Sets `*used` to the number of bytes used. */
static int take_bytes(struct qt_decoder *d, enum qt_way way, struct qt_span bytes, const struct moment *m, size_t *used)
{
    struct qt_span rest = bytes;
    struct qt_bytes gathered = {NULL, 0, 0};
    int code = QT_OK;
    *used = bytes.len;
    qt_opening_note(d, way, bytes, m->packet);
    if (d->phase == PHASE_LOST && !find_command(d, way, (const uint8_t *)bytes.p, bytes.len))
        return QT_OK;
    if (d->phase == PHASE_GREETING && way == QT_WAY_CLIENT)
        code = qt_opening_take_proxy_header(d, &rest, &gathered);
    while (rest.len > 0 && code == QT_OK && is_readable(d) && !qt_encrypted_is_due(d)) {
        size_t some = d->compressed ? take_frame(d, way, rest, m, &code) : take_packets(d, way, rest, m, &code);
        rest = (struct qt_span){rest.p + some, rest.len - some};
    }
    *used = rest.len < bytes.len ? bytes.len - rest.len : 0;
    qt_bytes_free(&gathered);
    return code;
}

/* ---- TLS ---- */

static int on_plain(void *self, int way, const struct qt_tls_plain *plain)
{
    struct qt_decoder *d = self;
    struct moment m = {plain->first_ns, plain->last_ns, plain->packet};
    size_t used;
    d->decrypted = 1;
    return take_bytes(d, (enum qt_way)way, (struct qt_span){(const char *)plain->p, plain->n}, &m, &used);
}

static int skip_bytes(struct qt_decoder *d, enum qt_way way, uint64_t lost, int64_t when_ns, int64_t packet);

static int on_gap(void *self, int way, uint64_t lost, int64_t when_ns, int64_t packet)
{
    return skip_bytes(self, (enum qt_way)way, lost, when_ns, packet);
}

/* Returns whether the connection uses TLS and its handshake was not captured. No key can be assigned to such a
 * connection. */
static int is_encrypted_midway(const struct qt_decoder *d, enum qt_way way, const char *bytes, size_t n)
{
    return d->phase == PHASE_LOST && d->options.joined_midway && !d->midway_said && way == QT_WAY_CLIENT &&
           qt_encrypted_looks_like((const uint8_t *)bytes, n);
}

int qt_decoder_take(struct qt_decoder *d, enum qt_way way, const char *bytes, size_t n, int64_t when_ns, int64_t packet)
{
    struct moment m = {when_ns, when_ns, packet};
    size_t used;
    if (d->tls != NULL)
        return qt_encrypted_take(d, way, (struct qt_span){bytes, n}, when_ns, packet);
    if (is_encrypted_midway(d, way, bytes, n)) {
        d->encrypted = 1;
        d->tls_end = QT_TLS_NO_KEYS;
        d->phase = PHASE_DONE;
        return qt_pending_report_session(d);
    }
    int code = take_bytes(d, way, (struct qt_span){bytes, n}, &m, &used);
    if (code != QT_OK || !qt_encrypted_is_due(d))
        return code;
    struct qt_tls_sink sink = {d, on_plain, on_gap};
    code = qt_encrypted_begin(d, &sink);
    return code == QT_OK && used < n
               ? qt_encrypted_take(d, way, (struct qt_span){bytes + used, n - used}, when_ns, packet)
               : code;
}

/* Takes the captured part of a command with missing bytes. Decoding continues if all missing bytes belong to this
 * packet, according to its length. The rest of the packet is skipped, and the reply is assigned to this command. */
static int take_damaged_command(struct qt_decoder *d, uint64_t lost, int64_t when_ns)
{
    struct qt_stream *s = &d->way[QT_WAY_CLIENT];
    size_t len = qt_get_le24(s->part.p), due = len + PACKET_HEADER - s->part.len;
    struct qt_piece piece = {
        (uint8_t *)s->part.p + PACKET_HEADER, s->part.len - PACKET_HEADER, 0, 0, 1, s->first_ns, when_ns, s->packet};
    s->goes_on = 1;
    int code = qt_commands_take(d, &piece);
    if (code == QT_OK && d->n_pending > 0)
        qt_last_pending(d)->cut = 1;
    if (code != QT_OK || d->phase != PHASE_COMMAND || lost > due || len == MAX_PACKET || d->tls != NULL)
        return code == QT_OK ? qt_pending_lose(d) : code;
    s->part.len = 0;
    s->skip = due - (size_t)lost;
    s->goes_on = 0;
    return d->n_pending > 0 && qt_first_pending(d)->no_reply ? qt_pending_finish(d) : QT_OK;
}

static int skip_bytes(struct qt_decoder *d, enum qt_way way, uint64_t lost, int64_t when_ns, int64_t packet)
{
    struct qt_stream *s = &d->way[way];
    char text[64];
    if (d->phase == PHASE_DONE)
        return QT_OK;
    snprintf(text, sizeof text, "%llu %s from the %s %s missing", (unsigned long long)lost,
             lost == 1 ? "byte" : "bytes", way == QT_WAY_CLIENT ? "client" : "server", lost == 1 ? "is" : "are");
    qt_decoder_problem(d, packet, "lost_packets", text, NULL, 0);
    if (lost <= s->skip) { /* the missing bytes are part of the skipped bytes */
        s->skip -= (size_t)lost;
        return QT_OK;
    }
    if (d->phase == PHASE_COMMAND && way == QT_WAY_CLIENT && s->part.len > 5 && !d->compressed && s->part.p[3] == 0)
        return take_damaged_command(d, lost, when_ns);
    return qt_pending_lose(d);
}

int qt_decoder_skip(struct qt_decoder *d, enum qt_way way, uint64_t lost, int64_t when_ns, int64_t packet)
{
    return d->tls != NULL ? qt_encrypted_skip(d, way, lost, when_ns, packet)
                          : skip_bytes(d, way, lost, when_ns, packet);
}

int qt_decoder_end(struct qt_decoder *d)
{
    if (d->ended)
        return QT_OK;
    d->ended = 1;
    int code = d->tls != NULL ? qt_encrypted_finish(d) : QT_OK;
    if (code == QT_OK)
        code = qt_pending_give_up(d);
    if (code == QT_OK && (d->session_told || d->encrypted))
        code = qt_pending_report_session(d);
    else if (code == QT_OK)
        qt_opening_report_silent(d);
    d->phase = PHASE_DONE;
    return code;
}

int qt_decoder_awaits_secrets(const struct qt_decoder *d) { return d->tls != NULL && qt_tls_waits(d->tls); }

int qt_decoder_check_secrets(struct qt_decoder *d)
{
    return qt_decoder_awaits_secrets(d) ? qt_encrypted_check_secrets(d) : QT_OK;
}

void qt_decoder_set_connection(struct qt_decoder *d, void *connection) { d->options.connection = connection; }
