/* SPDX-License-Identifier: Apache-2.0 */
/* Data flow of the packet reader:
 *
 *   files -> capture_file.c -> frames (frame.c, fragments.c) -> tcp.c
 *         -> protocol/decoder.c -> packets_events.c -> a batch of the reader
 *
 * Each connection becomes a session. The session gets its number at its first event. An event is added when its reply
 * is complete. A part therefore also contains long statements that began during an earlier part. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "packets/packets_events.h"

enum { MOST_NESTED = 4 }; /* fragmented packets inside fragmented packets */

static const char *const frame_kinds[QT_FRAME_KINDS] = {
    "tcp", "not_ip", "not_tcp", "ip_fragment", "cut_in_headers", "bad_lengths", "unknown_link_layer"};

/* Reports each kind of unread frame once, with the number of its first packet. `describe` reports the number of unread
 * frames. */
static void note_unread(struct qt_packets *s, enum qt_frame_kind kind, const struct qt_packet *p)
{
    s->frames[kind]++;
    if (kind == QT_FRAME_NOT_IP || kind == QT_FRAME_NOT_TCP || kind == QT_FRAME_FRAGMENT || s->frames[kind] > 1)
        return;
    qt_problems_add(&s->reader.problems, s->file, 0, s->packet, frame_kinds[kind],
                    "expected a frame with a complete TCP header", (const char *)p->p,
                    p->captured < 32 ? p->captured : 32);
}

/* Returns whether an IP packet may belong to a followed connection. The function knows only the first bytes of the
 * packet. */
static int may_be_ours(const struct qt_packets *s, const struct qt_datagram *d)
{
    struct qt_frame frame = {.tunnels = 0};
    enum qt_frame_kind kind = qt_frame_parse_payload(d->protocol, d->p, d->len, 65535, &frame);
    int has_ports = kind == QT_FRAME_TCP || kind == QT_FRAME_BAD;
    return has_ports
               ? qt_tcp_is_server(s->tcp, frame.segment.from.port) || qt_tcp_is_server(s->tcp, frame.segment.to.port)
               : kind == QT_FRAME_FRAGMENT || (kind == QT_FRAME_CUT && (d->protocol != 17 || d->len > 0));
}

/* Reports the IP packets with missing fragments. */
static void note_incomplete(struct qt_packets *s, int64_t now_ns)
{
    struct qt_datagram lost;
    while (qt_fragments_lost(s->fragments, now_ns, &lost)) {
        if (!may_be_ours(s, &lost))
            continue;
        s->incomplete++;
        qt_problems_add(&s->reader.problems, s->file < 0 ? 0 : s->file, 0, lost.packet, "ip_fragment",
                        "fragments of an IP packet are missing", NULL, 0);
    }
}

/* Reassembles fragments until the result is not a fragment or until further fragments must arrive. */
static int join(struct qt_packets *s, const struct qt_packet *p, struct qt_frame *frame, enum qt_frame_kind *kind)
{
    note_incomplete(s, p->when_ns);
    for (int n = 0; *kind == QT_FRAME_FRAGMENT && n < MOST_NESTED; n++) {
        struct qt_datagram whole;
        int is_whole = qt_fragments_take(s->fragments, frame, p->when_ns, s->packet, &whole);
        if (is_whole <= 0)
            return is_whole;
        frame->segment.from = whole.from;
        frame->segment.to = whole.to;
        *kind = qt_frame_parse_payload(whole.protocol, whole.p, whole.len, whole.len, frame);
    }
    return 0;
}

/* Takes one packet of a capture. Returns QT_OK, QT_ENOMEM or the sink's error code. */
static int take_packet(struct qt_packets *s, const struct qt_packet *p, struct qt_error *error)
{
    struct qt_frame frame;
    s->packet++;
    s->bytes += p->captured;
    if (s->packet % 64 == 0)
        atomic_store_explicit(&s->reader.bytes_parsed, s->bytes, memory_order_relaxed);
    enum qt_frame_kind kind = qt_frame_parse(p->link, p->p, p->captured, p->sent, &frame);
    if (kind == QT_FRAME_FRAGMENT && join(s, p, &frame, &kind) < 0)
        return qt_fail(error, QT_ENOMEM, "out of memory for IP fragments");
    for (int i = 0; frame.tunnels != 0 && i < QT_TUNNELS; i++)
        s->tunnels[i] += frame.tunnels >> i & 1;
    if (kind != QT_FRAME_TCP) {
        note_unread(s, kind, p);
        return QT_OK;
    }
    s->frames[kind]++;
    const struct qt_segment *segment = &frame.segment;
    if (!qt_tcp_is_server(s->tcp, segment->to.port) && !qt_tcp_is_server(s->tcp, segment->from.port)) {
        qt_other_ports_take(&s->others, segment);
        return QT_OK;
    }
    int code = qt_tcp_take(s->tcp, segment, p->when_ns, s->packet);
    return code == QT_ENOMEM ? qt_fail(error, code, "out of memory for a connection") : code;
}

/* Reports the incomplete IP packets at the end of the capture. */
static void end_frames(struct qt_packets *s) { note_incomplete(s, INT64_MAX); }

static void describe_frames(const struct qt_packets *s, struct qt_json *json)
{
    static const char *const tunnels[QT_TUNNELS] = {[QT_TUNNEL_VXLAN] = "VXLAN", [QT_TUNNEL_GENEVE] = "GENEVE",
                                                    [QT_TUNNEL_GRE] = "GRE",     [QT_TUNNEL_ERSPAN] = "ERSPAN",
                                                    [QT_TUNNEL_IP] = "IP in IP", [QT_TUNNEL_MPLS] = "MPLS",
                                                    [QT_TUNNEL_PPPOE] = "PPPoE", [QT_TUNNEL_IPSEC] = "IPsec",
                                                    [QT_TUNNEL_L2TP] = "L2TP",   [QT_TUNNEL_MACSEC] = "MACsec"};
    for (int i = 0; i < QT_FRAME_KINDS; i++)
        qt_json_int(json, frame_kinds[i], (int64_t)s->frames[i]);
    for (int i = 0; i < QT_TUNNELS; i++)
        if (s->tunnels[i] > 0)
            qt_json_int(json, tunnels[i], (int64_t)s->tunnels[i]);
    qt_json_int(json, "ip_incomplete", (int64_t)s->incomplete);
    qt_json_int(json, "without_event", (int64_t)s->silent);
    if (s->silent > 0)
        qt_json_text(json, "first_without_event", s->first_silent, strlen(s->first_silent));
    qt_json_int(json, "x_protocol", (int64_t)s->x_protocol);
    qt_other_ports_describe(&s->others, json);
}

#define MAX_EVENT ((size_t)1100 << 20) /* max_allowed_packet is at most 1 GiB */

static int open_next(struct qt_packets *s, struct qt_error *error)
{
    while (s->open == NULL && s->file + 1 < s->inputs.n) {
        s->file++;
        atomic_store(&s->reader.file, s->file);
        s->packet = 0;
        struct qt_input *opened = qt_inputs_take_opened(&s->inputs, s->file);
        s->open = qt_capture_file_open(s->inputs.paths[s->file], opened, s->keys, error);
        if (s->open == NULL)
            return error != NULL ? error->code : QT_EIO;
        if (qt_capture_file_is_stream(s->open)) /* the file cannot be searched for later key logs */
            qt_tls_log_set_grows(s->keys);
    }
    return QT_OK;
}

static void close_file(struct qt_packets *s)
{
    s->bytes_before += qt_capture_file_stored_bytes(s->open);
    qt_capture_file_close(s->open);
    s->open = NULL;
}

/* Reads the next packet from the files, in their order. Returns 1, 0 at the end, -1 on failure. */
static int next_packet(struct qt_packets *s, struct qt_packet *p, struct qt_error *error)
{
    for (;;) {
        if (open_next(s, error) != QT_OK)
            return -1;
        if (s->open == NULL)
            return 0;
        struct qt_error said = {0};
        int more = qt_capture_file_next(s->open, p, &said);
        if (more > 0 && p->untimed)
            qt_problems_add(&s->reader.problems, s->file, 0, s->packet + 1, "impossible_time",
                            "the packet time is outside the years 1970 to 2200", NULL, 0);
        if (more > 0)
            return 1;
        if (more < 0 && said.code != QT_EFORMAT) {
            qt_fail(error, said.code, "%s", said.message);
            return -1;
        }
        if (more < 0) /* truncated file: its earlier packets remain valid */
            qt_problems_add(&s->reader.problems, s->file, 0, s->packet + 1, "damaged_capture", said.message, NULL, 0);
        close_file(s);
    }
}

/* Reports lost packets as a problem once per second, with their number. The last call reports the losses since the
 * previous report. */
static void note_losses(struct qt_packets *s)
{
    uint64_t kernel, interface, ring;
    char text[160];
    int64_t now = qt_now();
    if (!s->ended && now - s->looked_ns < INT64_C(1000000000))
        return;
    s->looked_ns = now;
    uint64_t lost = qt_live_count_lost(s->live, &kernel, &interface, &ring);
    if (lost == s->lost)
        return;
    snprintf(text, sizeof text,
             "packets lost in this second: %llu (since the start: kernel %llu, interface %llu, ring %llu)",
             (unsigned long long)(lost - s->lost), (unsigned long long)kernel, (unsigned long long)interface,
             (unsigned long long)ring);
    s->lost = lost;
    atomic_store_explicit(&s->reader.lost, lost, memory_order_relaxed);
    qt_problems_add(&s->reader.problems, 0, 0, s->packet, "packets_dropped", text, NULL, 0);
}

/* Checks once per second whether the key log now has secrets that connections wait for. */
static int look_for_keys(struct qt_packets *s)
{
    int64_t now = qt_now();
    if (now - s->keys_looked_ns < INT64_C(1000000000))
        return QT_OK;
    s->keys_looked_ns = now;
    return qt_tcp_check_secrets(s->tcp, now);
}

/* Reads the key logs in the rest of the pcapng files, because a missing secret may follow its packets. */
static void look_ahead(void *self)
{
    struct qt_packets *s = self;
    for (int32_t i = s->file < 0 ? 0 : s->file; i < s->inputs.n; i++)
        qt_capture_file_take_secrets(s->inputs.paths[i], s->keys, &s->reader.stopped);
}

static int read_batch(struct qt_reader *reader, struct qt_error *error)
{
    struct qt_packets *s = (struct qt_packets *)reader;
    struct qt_packet p;
    int code = QT_OK;
    for (unsigned n = 0; code == QT_OK && !s->ended; n++) {
        if (s->live == NULL && atomic_load_explicit(&reader->stopped, memory_order_relaxed))
            break;
        int more = s->live != NULL ? qt_live_next(s->live, &p, error) : next_packet(s, &p, error);
        if (more < 0)
            return error != NULL ? error->code : QT_EIO;
        if (more == 0) {
            s->ended = 1;
            break;
        }
        if (s->live != NULL && (n % 4096 == 0 || more == QT_LIVE_QUIET))
            note_losses(s);
        if (more == QT_LIVE_QUIET) {
            code = look_for_keys(s);
            if (reader->batch.rows > 0 && qt_live_is_part_due(s->live))
                break;
            continue;
        }
        code = take_packet(s, &p, error);
        if (n % 256 == 0 && code == QT_OK)
            code = look_for_keys(s);
        if (n % 256 == 0 && s->open != NULL)
            atomic_store_explicit(&reader->bytes_read, s->bytes_before + qt_capture_file_stored_bytes(s->open),
                                  memory_order_relaxed);
        if (qt_reader_batch_full(reader) ||
            (s->live != NULL && n % 256 == 0 && reader->batch.rows > 0 && qt_live_is_part_due(s->live)))
            break;
    }
    if (atomic_load(&reader->stopped) && s->live == NULL) /* a live capture ends when its ring is empty */
        s->ended = 1;
    if (code == QT_OK && s->ended && !s->told_end) {
        s->told_end = 1;
        if (s->live != NULL)
            note_losses(s);
        end_frames(s);
        code = qt_tcp_end(s->tcp);
    }
    atomic_store_explicit(&reader->bytes_parsed, s->bytes, memory_order_relaxed);
    if (s->open == NULL)
        atomic_store_explicit(&reader->bytes_read, s->live != NULL ? s->bytes : s->bytes_before, memory_order_relaxed);
    return code;
}

/* Adds the TLS counters. The parser may still be counting during this call. */
static void describe_tls(const struct qt_packets *s, struct qt_json *json)
{
    static const char *const ends[] = {
        [QT_TLS_NO_KEYS] = "tls_without_keys",      [QT_TLS_WRONG_KEYS] = "tls_wrong_keys",
        [QT_TLS_UNSUPPORTED] = "tls_not_supported", [QT_TLS_REFUSED] = "tls_without_login",
        [QT_TLS_LOST] = "tls_handshake_lost",       [QT_TLS_RENEGOTIATED] = "tls_renegotiated"};
    struct qt_tls_log_counts counts;
    uint64_t encrypted = 0;
    for (int end = QT_TLS_NO_KEYS; end <= QT_TLS_RENEGOTIATED; end++)
        encrypted += end != QT_TLS_REFUSED ? s->unread[end] : 0;
    qt_json_int(json, "encrypted", (int64_t)encrypted);
    if (!qt_tls_log_in_use(s->keys))
        return;
    qt_tls_log_count(s->keys, &counts);
    const char *path = qt_tls_log_path(s->keys);
    qt_json_text(json, "keylog", path, path != NULL ? strlen(path) : 0);
    qt_json_int(json, "decrypted", (int64_t)s->decrypted);
    qt_json_int(json, "decrypted_in_part", (int64_t)s->broken_off);
    qt_json_int(json, "decrypted_to_new_keys", (int64_t)s->renegotiated);
    for (int end = QT_TLS_NO_KEYS; end <= QT_TLS_RENEGOTIATED; end++)
        qt_json_int(json, ends[end], (int64_t)s->unread[end]);
    qt_json_int(json, "keylog_connections", (int64_t)counts.connections);
    qt_json_int(json, "keylog_forgotten", (int64_t)counts.forgotten);
    qt_json_int(json, "keylog_bad_lines", (int64_t)counts.bad_lines);
}

static void describe(struct qt_reader *reader, struct qt_json *json)
{
    struct qt_packets *s = (struct qt_packets *)reader;
    struct qt_tcp_counts tcp;
    qt_tcp_count(s->tcp, &tcp); /* each counter is correct, but their sum may not match while the parser runs */
    qt_reader_describe_version(reader, json);
    qt_json_text(json, "ports", s->ports, strlen(s->ports));
    qt_json_int(json, "connections", (int64_t)tcp.connections);
    describe_tls(s, json);
    qt_json_int(json, "joined_midway", (int64_t)tcp.midway);
    qt_json_int(json, "known_midway", (int64_t)s->known_midway);
    qt_json_int(json, "types_of_others", (int64_t)qt_parameter_types_count(s->types));
    qt_json_int(json, "executions_that_do_not_fit", (int64_t)s->misfits);
    qt_json_int(json, "gaps", (int64_t)tcp.gaps);
    qt_json_int(json, "lost_bytes", (int64_t)tcp.lost_bytes);
    qt_json_int(json, "cut_segments", (int64_t)tcp.cut);
    qt_json_int(json, "duplicate_segments", (int64_t)tcp.duplicates);
    qt_json_int(json, "evicted", (int64_t)tcp.evicted);
    describe_frames(s, json);
    if (s->live != NULL)
        qt_live_describe(s->live, json);
}

static void close_packets(struct qt_reader *reader)
{
    struct qt_packets *s = (struct qt_packets *)reader;
    qt_live_close(s->live);
    qt_tcp_free(s->tcp);
    qt_capture_file_close(s->open);
    qt_inputs_free(&s->inputs);
    qt_tls_log_free(s->keys);
    qt_parameter_types_free(s->types);
    qt_fragments_free(s->fragments);
    qt_normalizer_free(s->normalizer);
    qt_bytes_free(&s->insert_ids);
    qt_reader_release(reader);
    free(s);
}

static void stop(struct qt_reader *reader)
{
    struct qt_packets *s = (struct qt_packets *)reader;
    if (s->live != NULL)
        qt_live_stop(s->live);
}

static const struct qt_reader_kind kind = {read_batch, describe, close_packets, stop};

static int begin(struct qt_packets *s, const struct qt_packets_options *o, struct qt_error *error)
{
    uint16_t ports[QT_MAX_PORTS];
    int32_t n = o->n_ports < QT_MAX_PORTS ? o->n_ports : QT_MAX_PORTS;
    size_t said = 0;
    for (int32_t i = 0; i < n; i++) {
        ports[i] = (uint16_t)o->ports[i];
        said += (size_t)snprintf(s->ports + said, sizeof s->ports - said, i > 0 ? " %d" : "%d", (int)ports[i]);
    }
    struct qt_decoder_sink sink = qt_packets_sink(s);
    struct qt_tcp_options tcp = {ports, n, 65536, (size_t)256 << 20, MAX_EVENT, NULL, NULL};
    if (qt_reader_init(&s->reader, &kind) != 0 || (s->normalizer = qt_normalizer_new()) == NULL ||
        (s->fragments = qt_fragments_new()) == NULL || (tcp.keys = s->keys = qt_tls_log_new()) == NULL ||
        (tcp.types = s->types = qt_parameter_types_new()) == NULL || (s->tcp = qt_tcp_new(&tcp, &sink)) == NULL)
        return qt_fail(error, QT_ENOMEM, "out of memory");
    qt_tls_log_set_ahead(s->keys, look_ahead, s);
    return o->keylog != NULL ? qt_tls_log_open(s->keys, o->keylog, o->keylog_grows, error) : QT_OK;
}

struct qt_reader *qt_packets_open(const char *const *paths, int32_t n_paths, const struct qt_packets_options *options,
                                  struct qt_error *error)
{
    struct qt_packets *s = calloc(1, sizeof *s);
    if (s == NULL) {
        qt_fail(error, QT_ENOMEM, "out of memory");
        return NULL;
    }
    s->file = -1;
    s->next_session = 1;
    int code = qt_inputs_init(&s->inputs, paths, options->opened, n_paths) == 0
                   ? begin(s, options, error)
                   : qt_fail(error, QT_ENOMEM, "out of memory");
    if (code == QT_OK && n_paths > 0)
        code = open_next(s, error);
    if (code == QT_OK && options->interface != NULL) {
        s->live = qt_live_open(options, error);
        code = s->live != NULL ? QT_OK : error != NULL ? error->code : QT_EIO;
    }
    if (code != QT_OK) {
        close_packets(&s->reader);
        return NULL;
    }
    return &s->reader;
}
