/* SPDX-License-Identifier: Apache-2.0 */
#include "packets/other_ports.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "packets/tcp_state.h"
#include "protocol/protocol.h"

enum { NOTHING, MYSQL, X_PROTOCOL };

/* looks_of_server and looks_of_client return the protocol that a segment looks like: MYSQL, X_PROTOCOL or NOTHING.
 * looks_of_server assumes that the server sent the segment. looks_of_client assumes that the client sent it. */
static int looks_of_server(const uint8_t *p, size_t n)
{
    if (qt_x_is_hello(p, n))
        return X_PROTOCOL;
    int is_greeting = n > 40 && p[3] == 0 && p[4] == 10 && p[5] >= '0' && p[5] <= '9' && qt_get_le24(p) + 4 == n &&
                      memchr(p + 5, 0, 32) != NULL;
    return is_greeting ? MYSQL : NOTHING;
}

static int looks_of_client(const uint8_t *p, size_t n)
{
    int is_query = n > 9 && p[3] == 0 && p[4] == 3 && qt_get_le24(p) + 4 == n &&
                   ((p[5] | 32) >= 'a' ? (p[5] | 32) <= 'z' : p[5] == '/' || (p[5] == 0 && p[6] == 1));
    return is_query ? MYSQL : NOTHING;
}

static int find(const struct qt_other_ports *o, uint16_t port)
{
    int i = 0;
    while (i < o->n && o->ports[i].port != port)
        i++;
    return i;
}

/* Counts a segment for its port. If the table is full, a port that looks like MySQL replaces a port that does not look
 * like MySQL. */
static void add(struct qt_other_ports *o, uint16_t port, int looks)
{
    int i = find(o, port);
    if (i == o->n && i < QT_OTHER_PORTS)
        o->n++;
    else if (i == QT_OTHER_PORTS && looks != NOTHING)
        for (i = 0; i < QT_OTHER_PORTS && o->ports[i].looks != NOTHING;)
            i++;
    if (i == QT_OTHER_PORTS)
        return;
    if (o->ports[i].port != port) {
        o->ports[i].port = port;
        o->ports[i].looks = NOTHING;
        o->ports[i].segments = 0;
    }
    o->ports[i].segments++;
    if (looks != NOTHING)
        o->ports[i].looks = (uint8_t)looks;
}

void qt_other_ports_take(struct qt_other_ports *o, const struct qt_segment *s)
{
    int server = looks_of_server(s->payload, s->len), client = looks_of_client(s->payload, s->len);
    o->segments++;
    if (server != NOTHING)
        add(o, s->from.port, server);
    else if (client != NOTHING)
        add(o, s->to.port, client);
    else /* the server usually has the lower port number */
        add(o, s->from.port < s->to.port ? s->from.port : s->to.port, NOTHING);
}

static void describe(const struct qt_other_ports *o, struct qt_json *json, const char *name, int looks)
{
    char text[QT_OTHER_PORTS * 6 + 1] = "";
    size_t n = 0;
    for (int i = 0; i < o->n; i++)
        if (o->ports[i].looks == looks)
            n += (size_t)snprintf(text + n, sizeof text - n, n > 0 ? " %d" : "%d", (int)o->ports[i].port);
    qt_json_text(json, name, text, n);
}

void qt_other_ports_describe(const struct qt_other_ports *o, struct qt_json *json)
{
    qt_json_int(json, "other_tcp", (int64_t)o->segments);
    describe(o, json, "other_ports", NOTHING);
    describe(o, json, "mysql_ports", MYSQL);
    describe(o, json, "x_ports", X_PROTOCOL);
}
