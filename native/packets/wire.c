/* SPDX-License-Identifier: Apache-2.0 */
/* Life of a connection's decoder; from bytes to packets; what happens when some are missing.
 *
 * A packet that lies whole in the bytes at hand is read there; only one that goes beyond them is gathered. After a gap, or
 * without the connection's begin, nothing is believed until a client's segment begins with what can only be a command;
 * the server's next packet with sequence 1 is then its answer.
 */
#include <stdio.h>
#include <zstd.h>

#include "wire_private.h"

struct qt_wire *qt_wire_new(const struct qt_wire_options *options, const struct qt_wire_sink *sink)
{
    struct qt_wire *w = calloc(1, sizeof *w);
    if (w == NULL)
        return NULL;
    w->options = *options;
    w->sink = *sink;
    w->port = options->client_port;
    w->host = strndup(options->client_host.p != NULL ? options->client_host.p : "", options->client_host.len);
    w->phase = options->joined_midway ? PHASE_LOST : PHASE_GREETING;
    w->thread_id = -1;
    w->deprecate_eof = -1;
    w->charset = -1;
    w->way[0].aligned = w->way[1].aligned = !options->joined_midway;
    if (w->host == NULL) {
        qt_wire_free(w);
        return NULL;
    }
    return w;
}

static void free_command(struct qt_command *c)
{
    qt_bytes_free(&c->text);
    qt_bytes_free(&c->payload);
    qt_bytes_free(&c->file);
    qt_bytes_free(&c->error);
    qt_bytes_free(&c->schema);
    qt_stmt_drop(c->stmt);
}

void qt_wire_free(struct qt_wire *w)
{
    if (w == NULL)
        return;
    for (size_t i = 0; i < w->room; i++)
        free_command(&w->waiting[i]);
    free(w->waiting);
    qt_stmt_forget_all(w);
    qt_stmt_drop(w->last_stmt);
    for (int i = 0; i < 2; i++) {
        qt_bytes_free(&w->way[i].part);
        qt_bytes_free(&w->way[i].frame);
    }
    struct qt_bytes *texts[] = {&w->inflated, &w->user,     &w->login_user, &w->db,     &w->login_db, &w->attributes,
                                &w->version,  &w->new_user, &w->new_db,     &w->params};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        qt_bytes_free(texts[i]);
    ZSTD_freeDCtx(w->zstd);
    free(w->host);
    free(w);
}

size_t qt_wire_memory(const struct qt_wire *w)
{
    size_t sum = sizeof *w + w->room * sizeof *w->waiting + w->inflated.room + w->params.room;
    for (int i = 0; i < 2; i++)
        sum += w->way[i].part.room + w->way[i].frame.room;
    for (size_t i = 0; i < w->room; i++)
        sum += w->waiting[i].text.room + w->waiting[i].payload.room + w->waiting[i].file.room;
    return sum;
}

int qt_wire_set(struct qt_bytes *b, struct qt_span text)
{
    b->len = 0;
    return text.p != NULL ? qt_bytes_add(b, text.p, text.len) : 0;
}

void qt_wire_problem(struct qt_wire *w, int64_t packet, const char *kind, const char *expected, const void *found, size_t len)
{
    if (w->sink.problem != NULL)
        w->sink.problem(w->sink.self, w->options.connection, packet, kind, expected, found, len);
}

static int handle(struct qt_wire *w, enum qt_way way, const struct qt_piece *piece)
{
    if (w->phase == PHASE_DONE)
        return QT_OK;
    if (w->phase < PHASE_COMMAND)
        return qt_wire_login(w, way, piece);
    return way == QT_WAY_CLIENT ? qt_wire_client(w, piece) : qt_wire_server(w, piece);
}

static int is_command(uint8_t byte) { return byte <= COM_LAST || byte == COM_STMT_BULK_EXECUTE; }

static size_t le24(const uint8_t *p) { return (size_t)p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16; }

/* Can these bytes, the first of a segment, be a command and nothing else? */
static int begins_command(const uint8_t *p, size_t n)
{
    if (n < 5 || p[3] != 0 || !is_command(p[4]) || p[4] == COM_SLEEP)
        return 0;
    size_t len = le24(p);
    if (len == 0)
        return 0;
    int text = p[4] == COM_QUERY || p[4] == COM_STMT_PREPARE || p[4] == COM_INIT_DB;
    if (text && len > 1 && n > 5 && p[5] < 0x20 && p[5] != '\t' && p[5] != '\n' && p[5] != '\r' && p[5] != 0)
        return 0;
    if (len + 4 == n)
        return 1;
    if (len + 4 > n) /* goes on in the next segment: only what can be long */
        return text || p[4] == COM_STMT_EXECUTE || p[4] == COM_STMT_SEND_LONG_DATA || p[4] == COM_STMT_BULK_EXECUTE;
    return n - len - 4 >= 5 ? begins_command(p + len + 4, n - len - 4) : 0; /* pipelined ones */
}

/* 1 = a zlib frame, 2 = a zstd one, 0 = neither, 3 = one that is stored as it is. */
static int begins_frame(const uint8_t *p, size_t n)
{
    if (n < 12 || p[3] != 0 || le24(p) + 7 != n)
        return 0;
    if (le24(p + 4) == 0)
        return begins_command(p + 7, n - 7) ? 3 : 0;
    if (p[7] == 0x78)
        return 1;
    return memcmp(p + 7, "\x28\xb5\x2f\xfd", 4) == 0 ? 2 : 0;
}

/* While the way is lost: does the client speak a command here? Then both ways are read again from here on. */
static int find_way(struct qt_wire *w, enum qt_way way, const uint8_t *p, size_t n)
{
    if (way != QT_WAY_CLIENT)
        return 0;
    int frame = w->compressed || !w->has_caps ? begins_frame(p, n) : 0;
    if (!frame && (w->compressed || !begins_command(p, n)))
        return 0;
    if (frame == 1 || frame == 2)
        w->compressed = w->has_caps ? w->compressed : frame;
    else if (frame == 3 && !w->compressed)
        w->compressed = 1;
    for (int i = 0; i < 2; i++) {
        w->way[i].part.len = w->way[i].frame.len = 0;
        w->way[i].goes_on = 0;
    }
    w->way[QT_WAY_CLIENT].aligned = 1;
    w->way[QT_WAY_SERVER].aligned = 0;
    w->phase = PHASE_COMMAND;
    if (w->options.joined_midway && !w->midway_said) {
        w->midway_said = 1;
        qt_wire_problem(w, 0, "joined_midway", "the connection's login in the capture: account, schema and prepared texts are not known",
                        NULL, 0);
    }
    return 1;
}

static int take_piece(struct qt_wire *w, enum qt_way way, const uint8_t *p, size_t len, int64_t first_ns, int64_t when_ns,
                      int64_t packet)
{
    struct qt_stream *s = &w->way[way];
    struct qt_piece piece = {p + 4, len, p[3], s->goes_on, len == LARGEST_PACKET, first_ns, when_ns, packet};
    s->goes_on = piece.more;
    s->seq = p[3];
    return handle(w, way, &piece);
}

/* Gathers a packet that goes beyond these bytes; takes it when it is whole. Returns how many bytes were used. */
static size_t gather(struct qt_wire *w, enum qt_way way, const uint8_t *p, size_t n, int64_t when_ns, int64_t packet, int *code)
{
    struct qt_stream *s = &w->way[way];
    size_t used = 0;
    if (s->part.len == 0) {
        s->first_ns = when_ns;
        s->packet = packet;
    }
    while (used < n) {
        size_t want = s->part.len < 4 ? 4 : le24((uint8_t *)s->part.p) + 4;
        size_t more = want - s->part.len < n - used ? want - s->part.len : n - used;
        if (qt_bytes_add(&s->part, p + used, more) != 0) {
            *code = QT_ENOMEM;
            return n;
        }
        used += more;
        if (s->part.len >= 4 && s->part.len == le24((uint8_t *)s->part.p) + 4) {
            struct qt_bytes whole = s->part; /* the handler may lose the way and clear what is gathered */
            s->part = (struct qt_bytes){NULL, 0, 0};
            *code = take_piece(w, way, (uint8_t *)whole.p, whole.len - 4, s->first_ns, when_ns, s->packet);
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

int qt_wire_raw(struct qt_wire *w, enum qt_way way, const char *bytes, size_t n, int64_t when_ns, int64_t packet)
{
    struct qt_stream *s = &w->way[way];
    const uint8_t *p = (const uint8_t *)bytes;
    int code = QT_OK, compressed = w->compressed;
    while (n > 0 && code == QT_OK && w->phase != PHASE_DONE && w->phase != PHASE_LOST) {
        size_t used;
        if (!s->aligned) { /* only the server: an answer's first packet has sequence 1 */
            if (n < 5 || p[3] != 1 || s->part.len > 0)
                return QT_OK;
            s->aligned = 1;
        }
        if (s->part.len == 0 && n >= 4 && n >= le24(p) + 4) {
            used = le24(p) + 4;
            code = take_piece(w, way, p, used - 4, when_ns, when_ns, packet);
        } else {
            used = gather(w, way, p, n, when_ns, packet, &code);
        }
        p += used;
        n -= used;
        if (n > 0 && compressed != w->compressed && code == QT_OK) /* the login has just ended: frames from here on */
            return qt_wire_inflate(w, way, (const char *)p, n, when_ns, packet);
    }
    return code;
}

int qt_wire_bytes(struct qt_wire *w, enum qt_way way, const char *bytes, size_t n, int64_t when_ns, int64_t packet)
{
    if (w->phase == PHASE_DONE)
        return QT_OK;
    if (w->phase == PHASE_LOST && !find_way(w, way, (const uint8_t *)bytes, n))
        return QT_OK;
    if (w->phase == PHASE_GREETING && way == QT_WAY_CLIENT) {
        size_t used = 0;
        int is = qt_wire_proxy(w, bytes, n, &used);
        if (is < 0)
            return QT_OK;
        bytes += used;
        n -= used;
    }
    return w->compressed ? qt_wire_inflate(w, way, bytes, n, when_ns, packet) : qt_wire_raw(w, way, bytes, n, when_ns, packet);
}

int qt_wire_lose(struct qt_wire *w, int64_t packet)
{
    int code = QT_OK;
    (void)packet;
    if (w->phase == PHASE_DONE)
        return QT_OK;
    w->phase = PHASE_LOST;
    while (w->n > 0 && code == QT_OK) {
        w->waiting[w->first].whole = 0;
        code = qt_wire_finish(w);
    }
    for (int i = 0; i < 2; i++) {
        w->way[i].part.len = w->way[i].frame.len = 0;
        w->way[i].goes_on = 0;
    }
    return code;
}

int qt_wire_gap(struct qt_wire *w, enum qt_way way, uint64_t lost, int64_t when_ns, int64_t packet)
{
    struct qt_stream *s = &w->way[way];
    char text[64];
    if (w->phase == PHASE_DONE)
        return QT_OK;
    int n = snprintf(text, sizeof text, "%llu bytes of the %s missing", (unsigned long long)lost,
                     way == QT_WAY_CLIENT ? "client" : "server");
    qt_wire_problem(w, packet, "lost_packets", "every byte of the connection", text, (size_t)n);
    int code = QT_OK;
    if (w->phase == PHASE_COMMAND && way == QT_WAY_CLIENT && s->part.len > 5 && !w->compressed && s->part.p[3] == 0) {
        struct qt_piece piece = {(uint8_t *)s->part.p + 4, s->part.len - 4, 0, 0, 1, s->first_ns, when_ns, s->packet};
        s->goes_on = 1;
        code = qt_wire_client(w, &piece); /* what there is of a command whose rest is missing */
        if (code == QT_OK && w->n > 0)
            w->waiting[(w->first + w->n - 1) % w->room].cut = 1;
    }
    return code == QT_OK ? qt_wire_lose(w, packet) : code;
}

int qt_wire_end(struct qt_wire *w, enum qt_wire_ending how, int64_t when_ns)
{
    int code = QT_OK;
    (void)how;
    (void)when_ns;
    if (w->ended)
        return QT_OK;
    w->ended = 1;
    while (w->n > 0 && code == QT_OK) {
        w->waiting[w->first].whole = 0;
        code = qt_wire_finish(w);
    }
    if (code == QT_OK && (w->session_told || w->encrypted))
        code = qt_wire_tell_session(w);
    w->phase = PHASE_DONE;
    return code;
}
