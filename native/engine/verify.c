/* SPDX-License-Identifier: Apache-2.0 */
/* Checksums of result rows in wire format (base/checksum.h). They are comparable with the checksums of a packet
 * capture. */
#include "engine/verify.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/reading.h"

#define MAX_PACKET ((size_t)0xFFFFFF)

/* Adds a row. Rows of 16 MiB and more arrive in several packets. */
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
            return; /* a wrong checksum is better than ending the session */
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

/* The checksum for the rows of this thread. The library passes each fetched row to a method in its table of methods. A
 * function of this file replaces this method and takes the bytes of the row. */
static _Thread_local struct qt_checksum *summing;

static __attribute__((unused)) int take_row(MYSQL_STMT *stmt, unsigned char *row, unsigned long length)
{
    (void)stmt;
    if (summing != NULL)
        add_payload(summing, (const char *)row, length);
    return 0;
}

static void skip_value(struct qt_reading *r, enum enum_field_types type)
{
    switch (type) {
    case MYSQL_TYPE_NULL:
        break;
    case MYSQL_TYPE_TINY:
        qt_take(r, 1);
        break;
    case MYSQL_TYPE_SHORT:
    case MYSQL_TYPE_YEAR:
        qt_take(r, 2);
        break;
    case MYSQL_TYPE_INT24:
    case MYSQL_TYPE_LONG:
    case MYSQL_TYPE_FLOAT:
        qt_take(r, 4);
        break;
    case MYSQL_TYPE_LONGLONG:
    case MYSQL_TYPE_DOUBLE:
        qt_take(r, 8);
        break;
    default: /* texts; also times: their length byte is below 0xFB */
        qt_take_string(r);
    }
}

size_t qt_binary_row_length(const void *row, size_t room, const MYSQL_FIELD *fields, unsigned columns)
{
    struct qt_reading r = qt_reading(row, room);

    qt_take(&r, 1);
    const uint8_t *nulls = qt_take(&r, (columns + 9) / 8);
    for (unsigned i = 0, bit = 2; i < columns && !r.bad; i++, bit++) {
        if ((nulls[bit / 8] >> bit % 8 & 1) == 0)
            skip_value(&r, fields[i].type);
    }
    return r.bad ? 0 : (size_t)(r.p - (const uint8_t *)row);
}

/* Libraries before 3.3.20 do not pass the length of a row. */
static __attribute__((unused)) int take_row_of_any_length(MYSQL_STMT *stmt, unsigned char *row)
{
    size_t room = (size_t)(stmt->mysql->net.buff_end - row);
    return take_row(stmt, row, qt_binary_row_length(row, room, stmt->fields, stmt->field_count));
}

void qt_verify_binary_rows(struct qt_connection *c)
{
    c->methods = malloc(sizeof *c->methods);
    if (c->methods == NULL)
        return;
    *c->methods = *c->mysql->methods;
    c->methods->db_stmt_fetch_to_bind = _Generic(c->methods->db_stmt_fetch_to_bind,
        int (*)(MYSQL_STMT *, unsigned char *): take_row_of_any_length,
        default: take_row);
    c->mysql->methods = c->methods;
}

void qt_verify_into(struct qt_checksum *sum, unsigned columns)
{
    summing = sum;
    if (sum != NULL)
        qt_checksum_result(sum, columns);
}
