/* SPDX-License-Identifier: Apache-2.0 */
#include "protocol/resync.h"

#include <string.h>

#include "base/bytes.h"
#include "protocol/protocol.h"

static int is_command(uint8_t byte) { return byte <= COM_LAST || byte == COM_STMT_BULK_EXECUTE; }

/* Returns whether the command may have this length. Many commands have a fixed or minimum length. */
static int has_length(uint8_t command, size_t len)
{
    switch (command) {
    case COM_QUERY: /* an empty query is not accepted, because the X Protocol's CLOSE looks the same */
        return len > 1;
    case COM_QUIT:
    case COM_STATISTICS:
    case COM_PROCESS_INFO:
    case COM_DEBUG:
    case COM_PING:
    case COM_RESET_CONNECTION:
        return len == 1;
    case COM_PROCESS_KILL:
        return len == 5;
    case COM_SET_OPTION:
        return len == 3;
    case COM_STMT_EXECUTE:
    case COM_STMT_FETCH:
        return len >= 9;
    case COM_STMT_SEND_LONG_DATA:
    case COM_STMT_BULK_EXECUTE:
        return len >= 7;
    case COM_STMT_CLOSE:
    case COM_STMT_RESET:
        return len >= 5;
    default:
        return 1;
    }
}

int qt_begins_command(const uint8_t *p, size_t n)
{
    if (n < 5 || p[3] != 0 || !is_command(p[4]) || p[4] == COM_SLEEP)
        return 0;
    size_t len = qt_get_le24(p);
    if (len == 0 || !has_length(p[4], len))
        return 0;
    int text = p[4] == COM_QUERY || p[4] == COM_STMT_PREPARE || p[4] == COM_INIT_DB;
    if (text && len > 1 && n > 5 && p[5] < 0x20 && p[5] != '\t' && p[5] != '\n' && p[5] != '\r' && p[5] != 0)
        return 0;
    if (len + 4 == n)
        return 1;
    if (len + 4 > n) /* continues in the next segment: only possible for long commands */
        return text || p[4] == COM_STMT_EXECUTE || p[4] == COM_STMT_SEND_LONG_DATA || p[4] == COM_STMT_BULK_EXECUTE;
    return n - len - 4 >= 5 ? qt_begins_command(p + len + 4, n - len - 4) : 0; /* pipelined commands */
}

int qt_begins_frame(const uint8_t *p, size_t n)
{
    if (n < 12 || p[3] != 0 || qt_get_le24(p) + 7 != n)
        return 0;
    if (qt_get_le24(p + 4) == 0)
        return qt_begins_command(p + 7, n - 7) ? 3 : 0;
    if (p[7] == 0x78)
        return 1;
    return memcmp(p + 7, "\x28\xb5\x2f\xfd", 4) == 0 ? 2 : 0;
}
