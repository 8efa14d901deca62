/* SPDX-License-Identifier: Apache-2.0 */
/* Most answers arrive complete in one read: an OK, or columns and a few rows. Such an answer is counted in the read
 * buffer. The library handles any other answer from its first byte:
 *
 *   recv, up to half a second ──► a whole answer of OKs and rows? ──yes──► counted here
 *                                            │ no: longer, an error, a file asked for, changed session state, the end
 *                                            └─► connection.c, through the library, whose reads get these bytes first
 *
 * The library reads its socket through a table of functions, in which this file replaces the read function. */
#include "engine/direct_answer.h"

#include <errno.h>
#include <mysql.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <ma_pvio.h> /* must follow mysql.h */

#include "base/clock.h"
#include "base/reading.h"
#include "engine/connection.h"

enum { INBOX_BYTES = 8192, PACKET_HEAD = 4, EOF_BYTES = 5, LONGEST_EOF = 8 };
enum { BYTE_OK = 0x00, BYTE_FILE = 0xFB, BYTE_EOF = 0xFE, BYTE_ERROR = 0xFF };

#define DEPRECATE_EOF (1UL << 24) /* CLIENT_DEPRECATE_EOF: result rows then end with an OK packet */
#define STATE_CHANGED 0x4000      /* SERVER_SESSION_STATE_CHANGED: the library must read the changes */

struct with_methods {
    struct qt_direct direct;
    struct st_ma_pvio_methods methods;
};

/* Replaces the library's read function. Returns the bytes that were already read, then reads the socket. */
static ssize_t read_socket(MARIADB_PVIO *pvio, uchar *to, size_t room)
{
    struct qt_connection *c = pvio->mysql->options.local_infile_userdata; /* set by local_files.c */
    struct qt_direct *d = c->direct;
    size_t n = d->left.len < room ? d->left.len : room;

    if (d->error != 0) {
        errno = d->error;
        d->error = 0;
        return -1;
    }
    if (n == 0)
        return d->library->read(pvio, to, room);
    memcpy(to, d->left.p, n);
    d->left.p += n;
    d->left.len -= n;
    return (ssize_t)n;
}

void qt_direct_allow(struct qt_connection *c)
{
    struct timeval wait = {.tv_usec = QT_DIRECT_WAIT_MS * 1000};
    MARIADB_PVIO *pvio = c->mysql->net.pvio;
    struct with_methods *d;

    if (pvio == NULL || pvio->ctls != NULL || c->mysql->net.compress || (c->mysql->client_flag & DEPRECATE_EOF) ||
        setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait) != 0)
        return;
    d = calloc(1, sizeof *d);
    if (d == NULL)
        return;
    d->direct.library = pvio->methods;
    d->methods = *pvio->methods;
    d->methods.read = read_socket;
    pvio->methods = &d->methods;
    c->direct = &d->direct;
}

/* Returns the payload of the next packet. p is NULL if the packet is incomplete or empty, because no answer begins with
 * an empty packet. */
static struct qt_span next_packet(struct qt_reading *r)
{
    const uint8_t *head = qt_take(r, PACKET_HEAD);
    size_t n = head != NULL ? qt_get_le24(head) : 0;
    return (struct qt_span){n > 0 ? (const char *)qt_take(r, n) : NULL, n};
}

static int first_byte(struct qt_span packet) { return (uint8_t)packet.p[0]; }

static int is_eof(struct qt_span packet) { return first_byte(packet) == BYTE_EOF && packet.len <= LONGEST_EOF; }

/* take_ok and take_rows return the server status after the packets, or -1 if the library must read the answer. */
static int take_ok(struct qt_span packet, struct qt_answer *a)
{
    struct qt_reading r = qt_reading(packet.p + 1, packet.len - 1);
    uint64_t affected = qt_take_lenenc(&r);
    qt_take_lenenc(&r); /* skip the insert id */
    int status = (int)qt_take_int(&r, 2);

    a->affected += (int64_t)affected;
    a->warnings = (int64_t)qt_take_int(&r, 2);
    return r.bad || (status & STATE_CHANGED) ? -1 : status;
}

static int take_rows(struct qt_connection *c, struct qt_reading *r, struct qt_span head, struct qt_answer *a)
{
    struct qt_reading count = qt_reading(head.p, head.len);
    uint64_t columns = qt_take_lenenc(&count);
    struct qt_span packet;

    if (qt_left(&count) > 0 && qt_take_int(&count, 1) != 1) /* MariaDB's flag "definitions follow" */
        return -1;
    if (count.bad || qt_left(&count) > 0)
        return -1;
    for (uint64_t i = 0; i < columns; i++)
        if ((packet = next_packet(r)).p == NULL)
            return -1;
    packet = next_packet(r);
    if (packet.p == NULL || !is_eof(packet))
        return -1;
    if (c->verify)
        qt_checksum_result(&a->sum, columns);
    while ((packet = next_packet(r)).p != NULL && !is_eof(packet)) {
        if (first_byte(packet) == BYTE_ERROR)
            return -1;
        a->rows++;
        if (c->verify)
            qt_checksum_row(&a->sum, packet.p, packet.len);
    }
    if (packet.p == NULL || packet.len < EOF_BYTES)
        return -1;
    a->warnings = (int64_t)qt_get_le(packet.p + 1, 2);
    return (int)qt_get_le(packet.p + 3, 2);
}

static int take_answer(struct qt_connection *c, const char *bytes, size_t n, struct qt_answer *a)
{
    struct qt_reading r = qt_reading(bytes, n);
    struct qt_answer found = {.bytes = (int64_t)n};
    int status;

    do {
        struct qt_span packet = next_packet(&r);
        if (packet.p == NULL || first_byte(packet) == BYTE_FILE || first_byte(packet) == BYTE_ERROR)
            return 0;
        status = first_byte(packet) == BYTE_OK ? take_ok(packet, &found) : take_rows(c, &r, packet, &found);
    } while (status >= 0 && (status & SERVER_MORE_RESULTS_EXIST));
    if (status < 0 || qt_left(&r) > 0)
        return 0;
    found.first_ns = found.done_ns = a->first_ns;
    *a = found;
    c->mysql->server_status = (unsigned)status;
    free(c->error);
    c->error = NULL;
    return 1;
}

int qt_direct_receive(struct qt_connection *c, struct qt_answer *a)
{
    char inbox[INBOX_BYTES];
    ssize_t n;

    do
        n = recv(c->fd, inbox, sizeof inbox, 0);
    while (n < 0 && errno == EINTR);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return 0;
    c->direct->error = n < 0 ? errno : 0;
    a->first_ns = qt_now();
    if (n > 0 && take_answer(c, inbox, (size_t)n, a))
        return 1;
    c->direct->left = (struct qt_span){inbox, n > 0 ? (size_t)n : 0};
    qt_connection_receive(c, a);
    c->direct->left.len = 0;
    c->direct->error = 0;
    return 1;
}
