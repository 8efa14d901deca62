/* SPDX-License-Identifier: Apache-2.0 */
/* Checksums of result rows as they were on the wire (base/checksum.h), so that they compare with a capture's of packets. */
#include "verify.h"

#include <mysql.h>
#include <stdlib.h>
#include <string.h>

#define PACKET_MAX ((size_t)0xFFFFFF)
#define LENGTH_ROOM 9 /* a length-encoded integer, at most */

/* A value's length as the protocol writes it; returns how many bytes. */
static size_t put_length(char *to, uint64_t n)
{
    int bytes = n < 251 ? 1 : n < 65536 ? 2 : n < 16777216 ? 3 : 8;
    size_t at = 0;
    if (bytes > 1)
        to[at++] = (char)(bytes == 2 ? 0xFC : bytes == 3 ? 0xFD : 0xFE);
    for (int i = 0; i < bytes; i++)
        to[at++] = (char)(n >> 8 * i & 0xFF);
    return at;
}

/* Rows of 16 MiB and more came in several packets. */
static void sum_payload(struct qt_checksum *sum, const char *p, size_t n)
{
    for (; n >= PACKET_MAX; p += PACKET_MAX, n -= PACKET_MAX)
        qt_checksum_part(sum, p, PACKET_MAX, 1);
    qt_checksum_part(sum, p, n, 0);
}

void qt_link_sum_row(struct qt_link *link, char **row, const unsigned long *lengths, unsigned columns, struct qt_checksum *sum)
{
    size_t need = 0, at = 0;

    for (unsigned i = 0; i < columns; i++)
        need += LENGTH_ROOM + (row[i] != NULL ? lengths[i] : 0);
    if (need > link->row_room) {
        char *larger = realloc(link->row, need);
        if (larger == NULL)
            return; /* the sum will differ, which is better than to end the session */
        link->row = larger;
        link->row_room = need;
    }
    for (unsigned i = 0; i < columns; i++) {
        if (row[i] == NULL) {
            link->row[at++] = (char)0xFB;
            continue;
        }
        at += put_length(link->row + at, lengths[i]);
        memcpy(link->row + at, row[i], lengths[i]);
        at += lengths[i];
    }
    sum_payload(sum, link->row, at);
}

/* The library binds each row that it fetched by a function of its table of methods: ours takes the row's bytes instead. */
static _Thread_local struct qt_checksum *summing;

static int take_row(MYSQL_STMT *stmt, unsigned char *row, unsigned long length)
{
    (void)stmt;
    if (summing != NULL)
        sum_payload(summing, (const char *)row, length);
    return 0;
}

void qt_link_sum_binary(struct qt_link *link)
{
    link->methods = malloc(sizeof *link->methods);
    if (link->methods == NULL)
        return;
    *link->methods = *link->mysql->methods;
    link->methods->db_stmt_fetch_to_bind = take_row;
    link->mysql->methods = link->methods;
}

void qt_link_sum_into(struct qt_checksum *sum, unsigned columns)
{
    summing = sum;
    if (sum != NULL)
        qt_checksum_result(sum, columns);
}
