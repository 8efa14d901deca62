/* SPDX-License-Identifier: Apache-2.0 */
/*   COM_QUERY         count of parameters, 1, [NULL bitmap, 1, count × (type, name), values] · the statement
 *   COM_STMT_EXECUTE  id, flags | 8, iterations, count, NULL bitmap, 1, count × (type, name), values
 */
#include "engine/query_attributes.h"

#include <mysql.h>

#include "base/reading.h"

#define CLIENT_QUERY_ATTRIBUTES (1UL << 27)
#define PARAMETER_COUNT_AVAILABLE 8
#define LARGE ((size_t)1 << 20)

void qt_query_attributes_ask(struct qt_connection *c, int64_t client_flags)
{
    if ((unsigned long)client_flags & CLIENT_QUERY_ATTRIBUTES)
        c->mysql->options.client_flag |= CLIENT_QUERY_ATTRIBUTES;
}

void qt_query_attributes_agree(struct qt_connection *c)
{
    unsigned long theirs = 0;
    mariadb_get_infov(c->mysql, MARIADB_CONNECTION_SERVER_CAPABILITIES, &theirs);
    c->named = (c->mysql->options.client_flag & theirs & CLIENT_QUERY_ATTRIBUTES) != 0;
}

int qt_query_attributes_send(struct qt_connection *c, struct qt_span attributes, const char *sql, size_t len)
{
    if (attributes.len == 0)
        attributes = (struct qt_span){"\0\1", 2};
    c->framed.len = 0;
    if (qt_bytes_add(&c->framed, attributes.p, attributes.len) != 0 || qt_bytes_add(&c->framed, sql, len) != 0)
        return 1;
    int failed = mysql_send_query(c->mysql, c->framed.p, (unsigned long)c->framed.len);
    if (c->framed.len > LARGE)
        qt_bytes_free(&c->framed);
    return failed;
}

int qt_query_attributes_name(struct qt_reading r, uint64_t n, const uint8_t *absent, int has_names,
                             struct qt_bytes *out)
{
    const uint8_t *head = qt_take(&r, 5), *nulls = qt_take(&r, (n + 7) / 8);
    qt_take(&r, 1);
    const uint8_t *types = qt_take(&r, n * 2), *values = r.p;
    struct qt_reading names = r;
    if (r.bad)
        return 1;
    for (uint64_t i = 0; has_names && i < n; i++)
        if (!(nulls[i / 8] >> i % 8 & 1) && !(absent != NULL && absent[i / 8] >> i % 8 & 1))
            qt_skip_value(&names, types[i * 2]);
    size_t size = has_names ? (size_t)(names.p - values) : qt_left(&r);
    char flags = (char)(head[0] | PARAMETER_COUNT_AVAILABLE);
    int bad = names.bad | qt_bytes_add(out, "\0\0\0\0", 4) | qt_bytes_add(out, &flags, 1) |
              qt_bytes_add(out, head + 1, 4) | qt_bytes_add_lenenc(out, n) | qt_bytes_add(out, nulls, (n + 7) / 8) |
              qt_bytes_add(out, "\1", 1);
    for (uint64_t i = 0; i < n && !bad; i++) {
        struct qt_span name = {NULL, 0};
        if (has_names)
            name = qt_take_string(&names);
        bad = names.bad | qt_bytes_add(out, types + i * 2, 2) | qt_bytes_add_lenenc(out, name.len);
        if (!bad && name.len > 0)
            bad = qt_bytes_add(out, name.p, name.len);
    }
    return (bad | (size > 0 ? qt_bytes_add(out, values, size) : 0)) != 0;
}
