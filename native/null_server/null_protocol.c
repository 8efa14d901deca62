/* SPDX-License-Identifier: Apache-2.0 */
/* Source of the answers: dev.mysql.com/doc/dev/mysql-server/latest/PAGE_PROTOCOL.html, "Connection Phase" and "Command
 * Phase". */
#include "null_server/null_protocol.h"

#include <string.h>

#include "base/bytes.h"

#define MAX_PACKET 0xFFFFFFu

#define MAX_PARAMS 65535u

enum {
    COM_QUIT = 1,
    COM_STMT_PREPARE = 0x16,
    COM_STMT_SEND_LONG_DATA = 0x18,
    COM_STMT_CLOSE = 0x19,
    COM_STMT_FETCH = 0x1C
};

static size_t put_packet(uint8_t *out, size_t at, uint8_t *seq, const void *payload, size_t n)
{
    qt_put_le(out + at, n, 3);
    out[at + 3] = (*seq)++;
    memcpy(out + at + 4, payload, n);
    return at + 4 + n;
}

size_t qt_null_make_greeting(uint32_t id, uint8_t *out)
{
    /* Capabilities: long password, connect with db, protocol 4.1, transactions, secure connection, multi results,
     * plugin auth. */
    static const uint8_t TAIL[] = "12345678"
                                  "\0"
                                  "\x09\xa2"
                                  "\x21"
                                  "\2\0"
                                  "\x0b\0"
                                  "\x15"
                                  "\0\0\0\0\0\0\0\0\0\0"
                                  "123456789012"
                                  "\0"
                                  "mysql_native_password";
    uint8_t payload[128] = "\x0a"
                           "8.0.0-querytape-null",
            seq = 0;
    size_t n = strlen((const char *)payload) + 1;

    qt_put_le(payload + n, id, 4);
    n += 4;
    memcpy(payload + n, TAIL, sizeof TAIL);
    return put_packet(out, 0, &seq, payload, n + sizeof TAIL);
}

static size_t make_answer(struct qt_null_peer *p, uint8_t *out)
{
    size_t at;
    static const uint8_t OK[] = {0, 0, 0, 2, 0, 0, 0}, LAST[] = {0xFE, 0, 0, 0x82, 0};
    uint8_t prepared[12] = {0}, seq = (uint8_t)(p->seq + 1);

    if (p->state == QT_NULL_LOGIN) {
        p->state = QT_NULL_COMMANDS;
        return put_packet(out, 0, &seq, OK, sizeof OK);
    }
    switch (p->command) {
    case COM_QUIT:
        p->state = QT_NULL_ENDED;
        return 0;
    case COM_STMT_SEND_LONG_DATA:
    case COM_STMT_CLOSE:
        return 0;
    case COM_STMT_FETCH:
        return put_packet(out, 0, &seq, LAST, sizeof LAST);
    case COM_STMT_PREPARE:
        p->statements++;
        qt_put_le(prepared + 1, p->statements, 4);
        p->marks = p->marks < MAX_PARAMS ? p->marks : MAX_PARAMS;
        qt_put_le(prepared + 7, p->marks, 2);
        p->pending = p->marks > 0 ? p->marks + 1 : 0; /* the definitions and the packet after them */
        p->marks = 0;
        at = put_packet(out, 0, &seq, prepared, sizeof prepared);
        p->seq = seq;
        return at;
    default:
        return put_packet(out, 0, &seq, OK, sizeof OK);
    }
}

size_t qt_null_make_definitions(struct qt_null_peer *p, uint8_t *out)
{
    static const uint8_t COLUMN[] = "\3def\0\0\0\1?\0\x0c\x21\0\x0a\0\0\0\xfd\0\0\0\0", END[] = {0xFE, 0, 0, 2, 0};
    size_t at = 0;
    while (p->pending > 0 && at + 4 + sizeof COLUMN <= QT_NULL_ROOM) {
        p->pending--;
        at = p->pending > 0 ? put_packet(out, at, &p->seq, COLUMN, sizeof COLUMN)
                            : put_packet(out, at, &p->seq, END, sizeof END);
    }
    return at;
}

size_t qt_null_take(struct qt_null_peer *p, const uint8_t *in, size_t n, size_t *used, uint8_t *out)
{
    size_t at = 0;

    *used = 0;
    while (at < n && p->state != QT_NULL_ENDED) {
        if (p->n_head < 4) {
            p->head[p->n_head++] = in[at++];
            if (p->n_head < 4)
                continue;
            p->left = (uint32_t)qt_get_le24(p->head);
            p->seq = p->head[3];
            p->seen = 0;
            p->command = p->goes_on ? p->command : 0;
        }
        uint32_t take = (uint32_t)(n - at < p->left ? n - at : p->left);
        if (p->seen == 0 && take > 0 && !p->goes_on)
            p->command = in[at];
        if (p->command == COM_STMT_PREPARE)
            for (uint32_t i = 0; i < take; i++)
                p->marks += in[at + i] == '?';
        at += take;
        p->seen += take;
        p->left -= take;
        if (p->left > 0)
            continue;
        p->n_head = 0;
        p->goes_on = p->seen == MAX_PACKET;
        if (p->goes_on)
            continue;
        *used = at;
        return make_answer(p, out);
    }
    *used = at;
    return 0;
}
