/* SPDX-License-Identifier: Apache-2.0 */
/* Checksums of result rows as they were on the wire (base/checksum.h), so that they compare with a capture's of
 * packets. */
#include "engine/verify.h"

#include <mysql.h>
#include <stdlib.h>
#include <string.h>

#include "base/little_endian.h"

#define MAX_PACKET ((size_t)0xFFFFFF)

/* Rows of 16 MiB and more came in several packets. */
static void add_payload(struct qt_checksum *sum, const char *p, size_t n)
{
    for (; n >= MAX_PACKET; p += MAX_PACKET, n -= MAX_PACKET)
        qt_checksum_part(sum, p, MAX_PACKET, 1);
    qt_checksum_part(sum, p, n, 0);
}

void qt_verify_row(struct qt_connection *c, char **row, const unsigned long *lengths, unsigned columns,
                   struct qt_checksum *sum)
{
    size_t need = 0, at = 0;

    for (unsigned i = 0; i < columns; i++)
        need += QT_LENENC_ROOM + (row[i] != NULL ? lengths[i] : 0);
    if (need > c->row_room) {
        char *larger = realloc(c->row, need);
        if (larger == NULL)
            return; /* the checksum will differ, which is better than to end the session */
        c->row = larger;
        c->row_room = need;
    }
    for (unsigned i = 0; i < columns; i++) {
        if (row[i] == NULL) {
            c->row[at++] = (char)0xFB;
            continue;
        }
        at += qt_put_lenenc(c->row + at, lengths[i]);
        memcpy(c->row + at, row[i], lengths[i]);
        at += lengths[i];
    }
    add_payload(sum, c->row, at);
}

/* The library binds each row that it fetched by a function of its table of methods: ours takes the row's bytes
 * instead. */
static _Thread_local struct qt_checksum *summing;

static int take_row(MYSQL_STMT *stmt, unsigned char *row, unsigned long length)
{
    (void)stmt;
    if (summing != NULL)
        add_payload(summing, (const char *)row, length);
    return 0;
}

void qt_verify_binary_rows(struct qt_connection *c)
{
    c->methods = malloc(sizeof *c->methods);
    if (c->methods == NULL)
        return;
    *c->methods = *c->mysql->methods;
    c->methods->db_stmt_fetch_to_bind = take_row;
    c->mysql->methods = c->methods;
}

void qt_verify_into(struct qt_checksum *sum, unsigned columns)
{
    summing = sum;
    if (sum != NULL)
        qt_checksum_result(sum, columns);
}
