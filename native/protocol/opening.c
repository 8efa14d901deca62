/* SPDX-License-Identifier: Apache-2.0 */
#include "protocol/opening.h"

#include "protocol/login_packets.h"
#include "protocol/protocol.h"

enum { LEAST = 5 }; /* keep-alive probes carry 1 byte */

/* Sets the client's address from a PROXY header. */
static int set_client(struct qt_decoder *d, const char *host, int port)
{
    char *copy = strdup(host);
    if (copy == NULL)
        return QT_ENOMEM;
    free(d->host);
    d->host = copy;
    d->port = port;
    return QT_OK;
}

int qt_opening_take_proxy_header(struct qt_decoder *d, struct qt_span *rest, struct qt_bytes *gathered)
{
    struct qt_stream *s = &d->way[QT_WAY_CLIENT];
    struct qt_proxy_header header;
    if (s->part.len > 0) {
        if (qt_bytes_add(&s->part, rest->p, rest->len) != 0)
            return QT_ENOMEM;
        *gathered = s->part;
        s->part = (struct qt_bytes){NULL, 0, 0};
        *rest = (struct qt_span){gathered->p, gathered->len};
    }
    int is = qt_parse_proxy_header(rest->p, rest->len, &header);
    if (is < 0) {
        int bad = qt_bytes_add(&s->part, rest->p, rest->len);
        *rest = (struct qt_span){rest->p + rest->len, 0};
        return bad ? QT_ENOMEM : QT_OK;
    }
    *rest = (struct qt_span){rest->p + header.used, rest->len - header.used};
    if (is == 0)
        return QT_OK;
    d->opening[QT_WAY_CLIENT].bytes = rest->len; /* a health check by the proxy has no bytes after the header */
    return header.host[0] != '\0' ? set_client(d, header.host, header.port) : QT_OK;
}

void qt_opening_note(struct qt_decoder *d, enum qt_way way, struct qt_span bytes, int64_t packet)
{
    struct qt_opening *o = &d->opening[way];
    if (d->opening_packet == 0)
        d->opening_packet = packet;
    o->bytes += bytes.len;
    for (size_t i = 0; i < bytes.len && o->n < (int)sizeof o->first; i++)
        o->first[o->n++] = (uint8_t)bytes.p[i];
}

static void write_hex(char *out, const struct qt_opening *o)
{
    if (o->n == 0)
        strcpy(out, "nothing");
    for (int i = 0; i < o->n; i++)
        sprintf(out + (size_t)i * 3, i + 1 < o->n ? "%02x " : "%02x", o->first[i]);
}

void qt_opening_report_silent(struct qt_decoder *d)
{
    char message[192], client[40], server[40];
    const struct qt_opening *o = d->opening;
    int greeted = d->phase == PHASE_LOGIN && o[QT_WAY_CLIENT].bytes == 0;     /* a client that only checks the port */
    int answers = d->options.joined_midway && o[QT_WAY_CLIENT].bytes < LEAST; /* end of an earlier reply */
    if (d->x_protocol || greeted || answers || o[QT_WAY_CLIENT].bytes + o[QT_WAY_SERVER].bytes < LEAST)
        return;
    write_hex(client, &o[QT_WAY_CLIENT]);
    write_hex(server, &o[QT_WAY_SERVER]);
    snprintf(message, sizeof message,
             "no MySQL command was found on port %d (first bytes of the client: %s; first bytes of the server: %s)",
             (int)d->options.server_port, client, server);
    qt_decoder_problem(d, d->opening_packet, "no_event", message, NULL, 0);
}

static void tell_x(struct qt_decoder *d, int64_t packet)
{
    d->x_protocol = 1;
    d->phase = PHASE_DONE;
    qt_decoder_problem(d, packet, "x_protocol", "querytape does not read the X protocol", NULL, 0);
}

int qt_opening_is_x(struct qt_decoder *d, enum qt_way way, const struct qt_piece *piece)
{
    if (piece->n == 0 || !qt_x_may_begin(way == QT_WAY_CLIENT, piece->seq, piece->p[0]))
        return 0;
    tell_x(d, piece->packet);
    return 1;
}

int qt_opening_is_x_midway(struct qt_decoder *d)
{
    if (!d->options.joined_midway || d->midway_said || d->options.server_port != QT_X_PORT)
        return 0;
    tell_x(d, 0);
    return 1;
}
