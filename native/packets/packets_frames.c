/* SPDX-License-Identifier: Apache-2.0 */
#include "packets/packets_frames.h"

#include <string.h>

#include "base/error.h"

enum { MOST_NESTED = 4 }; /* packets in fragments in packets in fragments */

static const char *const frame_kinds[QT_FRAME_KINDS] = {
    "tcp", "not_ip", "not_tcp", "ip_fragment", "cut_in_headers", "bad_lengths", "unknown_link_layer"};

/* What a problem of a file says, once a kind, with the number of the first packet; the count is in `describe`. */
static void not_read(struct qt_packets *s, enum qt_frame_kind kind, const struct qt_packet *p)
{
    s->frames[kind]++;
    if (kind == QT_FRAME_NOT_IP || kind == QT_FRAME_NOT_TCP || kind == QT_FRAME_FRAGMENT || s->frames[kind] > 1)
        return;
    qt_problems_add(&s->reader.problems, s->file, 0, s->packet, frame_kinds[kind], "a frame with a whole TCP header",
                    (const char *)p->p, p->captured < 32 ? p->captured : 32);
}

/* May an IP packet, of which there are these first bytes, be of a connection that is followed? */
static int may_be_ours(const struct qt_packets *s, const struct qt_datagram *d)
{
    struct qt_frame frame = {.tunnels = 0};
    enum qt_frame_kind kind = qt_frame_parse_payload(d->protocol, d->p, d->len, 65535, &frame);
    int has_ports = kind == QT_FRAME_TCP || kind == QT_FRAME_BAD;
    return has_ports
               ? qt_tcp_is_server(s->tcp, frame.segment.from.port) || qt_tcp_is_server(s->tcp, frame.segment.to.port)
               : kind == QT_FRAME_FRAGMENT || (kind == QT_FRAME_CUT && (d->protocol != 17 || d->len > 0));
}

/* Names the packets whose fragments did not all come. */
static void note_incomplete(struct qt_packets *s, int64_t now_ns)
{
    struct qt_datagram lost;
    while (qt_fragments_lost(s->fragments, now_ns, &lost)) {
        if (!may_be_ours(s, &lost))
            continue;
        s->incomplete++;
        qt_problems_add(&s->reader.problems, s->file < 0 ? 0 : s->file, 0, lost.packet, "ip_fragment",
                        "every fragment of an IP packet", NULL, 0);
    }
}

/* Puts fragments together, until there is something else or more have to come. */
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

int qt_packets_take(struct qt_packets *s, const struct qt_packet *p, struct qt_error *error)
{
    struct qt_frame frame;
    s->packet++;
    s->bytes += p->captured;
    if (s->packet % 64 == 0)
        atomic_store_explicit(&s->reader.bytes_parsed, s->bytes, memory_order_relaxed);
    enum qt_frame_kind kind = qt_frame_parse(p->link, p->p, p->captured, p->sent, &frame);
    if (kind == QT_FRAME_FRAGMENT && join(s, p, &frame, &kind) < 0)
        return qt_fail(error, QT_ENOMEM, "out of memory for fragments");
    for (int i = 0; frame.tunnels != 0 && i < QT_TUNNELS; i++)
        s->tunnels[i] += frame.tunnels >> i & 1;
    if (kind != QT_FRAME_TCP) {
        not_read(s, kind, p);
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

void qt_packets_frames_end(struct qt_packets *s) { note_incomplete(s, INT64_MAX); }

void qt_packets_describe_frames(const struct qt_packets *s, struct qt_json *json)
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
