/* SPDX-License-Identifier: Apache-2.0 */
/* Path of a segment:
 *
 *   segment -> find the connection (hash of both ends) -> SYN, FIN, RST -> tcp_reassembly.c -> its decoder */
#include "packets/tcp.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "packets/tcp_reassembly.h"
#include "protocol/decoder.h"

struct qt_tcp *qt_tcp_new(const struct qt_tcp_options *options, const struct qt_decoder_sink *sink)
{
    struct qt_tcp *t = calloc(1, sizeof *t);
    if (t == NULL)
        return NULL;
    t->options = *options;
    t->sink = *sink;
    t->buckets = 4096;
    t->table = calloc(t->buckets, sizeof(struct qt_tcp_connection *));
    t->ports = calloc((size_t)options->n_ports + 1, sizeof *t->ports);
    if (t->table == NULL || t->ports == NULL) {
        qt_tcp_free(t);
        return NULL;
    }
    memcpy(t->ports, options->ports, (size_t)options->n_ports * sizeof *t->ports);
    return t;
}

int qt_tcp_is_server(const struct qt_tcp *t, uint16_t port)
{
    for (int i = 0; i < t->options.n_ports; i++)
        if (t->ports[i] == port)
            return 1;
    return 0;
}

static uint64_t hash_of(const struct qt_endpoint *client, const struct qt_endpoint *server)
{
    uint8_t key[36];
    memcpy(key, client->ip, 16);
    memcpy(key + 16, server->ip, 16);
    memcpy(key + 32, &client->port, 2);
    memcpy(key + 34, &server->port, 2);
    return XXH3_64bits(key, sizeof key);
}

static int same(const struct qt_endpoint *a, const struct qt_endpoint *b)
{
    return a->port == b->port && memcmp(a->ip, b->ip, 16) == 0;
}

static struct qt_tcp_connection *find(const struct qt_tcp *t, uint64_t hash, const struct qt_endpoint *client,
                                      const struct qt_endpoint *server)
{
    struct qt_tcp_connection *c = t->table[hash & (t->buckets - 1)];
    while (c != NULL && !(c->hash == hash && same(&c->client, client) && same(&c->server, server)))
        c = c->same_hash;
    return c;
}

static void unlink_age(struct qt_tcp *t, struct qt_tcp_connection *c)
{
    *(c->older != NULL ? &c->older->newer : &t->oldest) = c->newer;
    *(c->newer != NULL ? &c->newer->older : &t->newest) = c->older;
}

static void link_newest(struct qt_tcp *t, struct qt_tcp_connection *c)
{
    c->older = t->newest;
    c->newer = NULL;
    *(t->newest != NULL ? &t->newest->newer : &t->oldest) = c;
    t->newest = c;
}

/* Ends the decoder of a connection and frees its held segments. The entry stays, so late segments still find the ended
 * connection. A decoder that still lacks TLS secrets is parked instead. */
static int finish(struct qt_tcp *t, struct qt_tcp_connection *c)
{
    int code = c->decoder != NULL ? qt_tcp_reassembly_flush(t, c) : QT_OK;
    qt_tcp_reassembly_drop(t, c);
    if (c->decoder != NULL && code == QT_OK && qt_decoder_awaits_secrets(c->decoder)) {
        t->counts.open_now--;
        return qt_tcp_park(t, c);
    }
    if (c->decoder != NULL) {
        if (code == QT_OK)
            code = qt_decoder_end(c->decoder);
        qt_decoder_free(c->decoder);
        t->counts.open_now--;
    }
    c->decoder = NULL;
    return code;
}

static void discard(struct qt_tcp *t, struct qt_tcp_connection *c)
{
    struct qt_tcp_connection **at = &t->table[c->hash & (t->buckets - 1)];
    while (*at != c)
        at = &(*at)->same_hash;
    *at = c->same_hash;
    unlink_age(t, c);
    t->n--;
    free(c);
}

static int grow(struct qt_tcp *t)
{
    if (t->n < t->buckets)
        return 0;
    struct qt_tcp_connection **table = calloc(t->buckets * 2, sizeof(struct qt_tcp_connection *));
    if (table == NULL)
        return -1;
    t->buckets *= 2;
    for (struct qt_tcp_connection *c = t->oldest; c != NULL; c = c->newer) {
        c->same_hash = table[c->hash & (t->buckets - 1)];
        table[c->hash & (t->buckets - 1)] = c;
    }
    free(t->table);
    t->table = table;
    return 0;
}

static struct qt_decoder *new_decoder(struct qt_tcp *t, struct qt_tcp_connection *c, int midway)
{
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
    char host[INET6_ADDRSTRLEN] = "";
    int is4 = memcmp(c->client.ip, mapped, 12) == 0;
    inet_ntop(is4 ? AF_INET : AF_INET6, c->client.ip + (is4 ? 12 : 0), host, sizeof host);
    struct qt_decoder_options options = {&c->owner,       midway,           t->options.largest_kept,
                                         t->options.keys, t->options.types, {host, strlen(host)},
                                         c->client.port,  c->server.port};
    return qt_decoder_new(&options, &t->sink);
}

static struct qt_tcp_connection *begin(struct qt_tcp *t, uint64_t hash, const struct qt_endpoint *client,
                                       const struct qt_endpoint *server)
{
    struct qt_tcp_connection *c = grow(t) == 0 ? calloc(1, sizeof *c) : NULL;
    if (c == NULL)
        return NULL;
    c->hash = hash;
    c->client = *client;
    c->server = *server;
    c->same_hash = t->table[hash & (t->buckets - 1)];
    t->table[hash & (t->buckets - 1)] = c;
    link_newest(t, c);
    t->n++;
    return c;
}

/* Creates the decoder of a connection, or of a later connection with the same addresses. */
static int open_decoder(struct qt_tcp *t, struct qt_tcp_connection *c, int midway)
{
    c->owner = (struct qt_tcp_owner){0};
    memset(c->way, 0, sizeof c->way);
    c->decoder = new_decoder(t, c, midway);
    if (c->decoder == NULL)
        return QT_ENOMEM;
    t->counts.connections++;
    t->counts.midway += (uint64_t)(midway != 0);
    t->counts.open_now++;
    return QT_OK;
}

static int evict(struct qt_tcp *t, const struct qt_tcp_connection *but)
{
    int code = QT_OK;
    while (code == QT_OK && t->n > t->options.max_connections && t->oldest != but) {
        struct qt_tcp_connection *c = t->oldest;
        if (c->decoder != NULL) {
            t->counts.evicted++;
            code = finish(t, c);
        }
        discard(t, c);
    }
    return code;
}

/* Handles a SYN: the start of a new connection, or a copy of an earlier SYN. */
static int on_syn(struct qt_tcp *t, struct qt_tcp_connection *c, enum qt_way way, const struct qt_segment *s)
{
    struct qt_tcp_way *w = &c->way[way];
    int code = QT_OK;
    if (way == QT_WAY_CLIENT && !(c->decoder != NULL && w->known && w->next == s->seq + 1)) {
        if (c->decoder != NULL && w->known) /* a SYN with a different number starts a new connection */
            code = finish(t, c);
        if (code == QT_OK && c->decoder == NULL)
            code = open_decoder(t, c, 0);
        w = &c->way[way];
    }
    if (code == QT_OK && c->decoder != NULL && !w->known) {
        w->known = 1;
        w->next = s->seq + 1;
    }
    return code;
}

static int on_end(struct qt_tcp *t, struct qt_tcp_connection *c, enum qt_way way, const struct qt_segment *s)
{
    if (s->flags & QT_TCP_RST)
        return finish(t, c);
    if (s->flags & QT_TCP_FIN) {
        c->way[way].has_fin = 1;
        c->way[way].fin = s->seq + (uint32_t)s->sent_len;
    }
    for (int i = 0; i < 2; i++)
        if (!c->way[i].has_fin || (c->way[i].known && (int32_t)(c->way[i].fin - c->way[i].next) > 0))
            return QT_OK; /* one side is still open, or bytes before its FIN are missing */
    return finish(t, c);
}

int qt_tcp_take(struct qt_tcp *t, const struct qt_segment *s, int64_t when_ns, int64_t packet)
{
    int to_server = qt_tcp_is_server(t, s->to.port), from_server = qt_tcp_is_server(t, s->from.port);
    if (!to_server && !from_server)
        return QT_OK;
    if (to_server && from_server) /* both ports are server ports: the side that sent the SYN is the client */
        to_server = s->flags & QT_TCP_SYN ? !(s->flags & QT_TCP_ACK)
                                          : find(t, hash_of(&s->to, &s->from), &s->to, &s->from) == NULL;
    enum qt_way way = to_server ? QT_WAY_CLIENT : QT_WAY_SERVER;
    const struct qt_endpoint *client = to_server ? &s->from : &s->to, *server = to_server ? &s->to : &s->from;
    uint64_t hash = hash_of(client, server);
    struct qt_tcp_connection *c = find(t, hash, client, server);
    int code = QT_OK;
    if (c == NULL) {
        if (s->sent_len == 0 && !(s->flags & QT_TCP_SYN))
            return QT_OK; /* a segment of an unknown connection without payload */
        c = begin(t, hash, client, server);
        if (c == NULL || (code = open_decoder(t, c, !(s->flags & QT_TCP_SYN))) != QT_OK)
            return QT_ENOMEM;
        code = evict(t, c);
    } else if (c != t->newest) {
        unlink_age(t, c);
        link_newest(t, c);
    }
    if (code == QT_OK && s->flags & QT_TCP_SYN)
        code = on_syn(t, c, way, s);
    if (code != QT_OK || c->decoder == NULL)
        return code;
    if (s->flags & QT_TCP_ACK) {
        c->way[!way].acked = 1;
        c->way[!way].acked_to = s->ack;
    }
    if (!(s->flags & QT_TCP_SYN))
        code = qt_tcp_reassembly_take(t, c, way, s, when_ns, packet);
    int ending = s->flags & (QT_TCP_FIN | QT_TCP_RST) || (c->way[0].has_fin && c->way[1].has_fin);
    return code == QT_OK && ending ? on_end(t, c, way, s) : code;
}

int qt_tcp_check_secrets(struct qt_tcp *t, int64_t now_ns)
{
    int code = qt_tcp_parked_check_secrets(t, now_ns);
    for (struct qt_tcp_connection *c = t->oldest; c != NULL && code == QT_OK; c = c->newer)
        if (c->decoder != NULL)
            code = qt_decoder_check_secrets(c->decoder);
    return code;
}

int qt_tcp_end(struct qt_tcp *t)
{
    int code = QT_OK;
    for (struct qt_tcp_connection *c = t->oldest; c != NULL && code == QT_OK; c = c->newer)
        code = finish(t, c);
    return code == QT_OK ? qt_tcp_parked_end(t) : code;
}

void qt_tcp_count(const struct qt_tcp *t, struct qt_tcp_counts *out) { *out = t->counts; }

void qt_tcp_free(struct qt_tcp *t)
{
    if (t == NULL)
        return;
    qt_tcp_parked_free(t);
    while (t->oldest != NULL) {
        struct qt_tcp_connection *c = t->oldest;
        qt_tcp_reassembly_drop(t, c);
        qt_decoder_free(c->decoder);
        discard(t, c);
    }
    free(t->table);
    free(t->ports);
    free(t);
}

/* Connections that wait for their TLS secrets. The key log limits their memory. The constant MOST limits their
 * number. */

enum { MOST = 1 << 14 };
#define LONGEST_NS (60 * INT64_C(1000000000))

static int end_one(struct qt_tcp *t, struct qt_tcp_parked **at)
{
    struct qt_tcp_parked *p = *at;
    *at = p->next;
    if (p->next == NULL)
        t->parked_last = at;
    t->n_parked--;
    int code = qt_decoder_end(p->decoder);
    qt_decoder_free(p->decoder);
    free(p);
    return code;
}

int qt_tcp_park(struct qt_tcp *t, struct qt_tcp_connection *c)
{
    struct qt_tcp_parked *p = calloc(1, sizeof *p);
    if (p == NULL)
        return QT_ENOMEM;
    p->decoder = c->decoder;
    p->owner = c->owner;
    c->decoder = NULL;
    qt_decoder_set_connection(p->decoder, &p->owner);
    if (t->parked == NULL)
        t->parked_last = &t->parked;
    *t->parked_last = p;
    t->parked_last = &p->next;
    t->n_parked++;
    return t->n_parked > MOST ? end_one(t, &t->parked) : QT_OK;
}

int qt_tcp_parked_check_secrets(struct qt_tcp *t, int64_t now_ns)
{
    int code = QT_OK;
    for (struct qt_tcp_parked **at = &t->parked; *at != NULL && code == QT_OK;) {
        struct qt_tcp_parked *p = *at;
        p->since_ns = p->since_ns != 0 ? p->since_ns : now_ns;
        code = qt_decoder_check_secrets(p->decoder);
        if (code == QT_OK && (!qt_decoder_awaits_secrets(p->decoder) || now_ns - p->since_ns > LONGEST_NS))
            code = end_one(t, at);
        else
            at = &p->next;
    }
    return code;
}

int qt_tcp_parked_end(struct qt_tcp *t)
{
    int code = QT_OK;
    while (t->parked != NULL && code == QT_OK)
        code = end_one(t, &t->parked);
    return code;
}

void qt_tcp_parked_free(struct qt_tcp *t)
{
    while (t->parked != NULL) {
        struct qt_tcp_parked *p = t->parked;
        t->parked = p->next;
        qt_decoder_free(p->decoder);
        free(p);
    }
}
