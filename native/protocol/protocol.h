/* SPDX-License-Identifier: Apache-2.0 */
/* Constants of the MySQL client/server protocol, with the names of MySQL's and MariaDB's documentation. */
#ifndef QT_PROTOCOL_H
#define QT_PROTOCOL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    COM_SLEEP = 0x00,
    COM_QUIT = 0x01,
    COM_INIT_DB = 0x02,
    COM_QUERY = 0x03,
    COM_FIELD_LIST = 0x04,
    COM_REFRESH = 0x07,
    COM_SHUTDOWN = 0x08,
    COM_STATISTICS = 0x09,
    COM_PROCESS_INFO = 0x0a,
    COM_PROCESS_KILL = 0x0c,
    COM_DEBUG = 0x0d,
    COM_PING = 0x0e,
    COM_CHANGE_USER = 0x11,
    COM_BINLOG_DUMP = 0x12,
    COM_REGISTER_SLAVE = 0x15,
    COM_STMT_PREPARE = 0x16,
    COM_STMT_EXECUTE = 0x17,
    COM_STMT_SEND_LONG_DATA = 0x18,
    COM_STMT_CLOSE = 0x19,
    COM_STMT_RESET = 0x1a,
    COM_SET_OPTION = 0x1b,
    COM_STMT_FETCH = 0x1c,
    COM_BINLOG_DUMP_GTID = 0x1e,
    COM_RESET_CONNECTION = 0x1f,
    COM_LAST = 0x21,
    COM_STMT_BULK_EXECUTE = 0xfa
};

#define CLIENT_CONNECT_WITH_DB UINT64_C(0x8)
#define CLIENT_COMPRESS UINT64_C(0x20)
#define CLIENT_PROTOCOL_41 UINT64_C(0x200)
#define CLIENT_SSL UINT64_C(0x800)
#define CLIENT_SECURE_CONNECTION UINT64_C(0x8000)
#define CLIENT_PLUGIN_AUTH UINT64_C(0x80000)
#define CLIENT_CONNECT_ATTRS UINT64_C(0x100000)
#define CLIENT_PLUGIN_AUTH_LENENC UINT64_C(0x200000)
#define CLIENT_FOUND_ROWS UINT64_C(2)
#define CLIENT_SESSION_TRACK UINT64_C(0x800000)
#define CLIENT_DEPRECATE_EOF UINT64_C(0x1000000)
#define CLIENT_OPTIONAL_METADATA UINT64_C(0x2000000)
#define CLIENT_ZSTD UINT64_C(0x4000000)
#define CLIENT_QUERY_ATTRIBUTES UINT64_C(0x8000000)
#define CLIENT_LONG_PASSWORD UINT64_C(0x1) /* if not set, the upper 32 bits are MariaDB's capabilities */
#define MARIADB_CACHE_METADATA (UINT64_C(1) << 36)

enum {
    SERVER_MORE_RESULTS_EXISTS = 0x0008,
    SERVER_STATUS_NO_BACKSLASH_ESCAPES = 0x0200,
    SERVER_STATUS_CURSOR_EXISTS = 0x0040,
    SERVER_STATUS_LAST_ROW_SENT = 0x0080,
    SERVER_SESSION_STATE_CHANGED = 0x4000
};

enum { SESSION_TRACK_SCHEMA = 1 };

enum { REPLY_OK = 0x00, REPLY_MORE_DATA = 0x01, REPLY_INFILE = 0xFB, REPLY_EOF = 0xFE, REPLY_ERR = 0xFF };

enum { MAX_PACKET = 0xFFFFFF, ER_PROGRESS = 0xFFFF };

enum { EXECUTE_HAS_COUNT = 0x08, BULK_SEND_TYPES = 128, TYPE_UNSIGNED = 0x8000 };

/* The X Protocol (port 33060) is detected but not decoded. Its frames resemble MySQL packets: 4 bytes of little-endian
 * length, then a message type ("X Protocol", Mysqlx.ClientMessages and ServerMessages). */

enum { QT_X_PORT = 33060 };

/* Returns whether this is the first frame of a server since 8.0.14: a notice of type 5 (hello). */
static inline int qt_x_is_hello(const uint8_t *p, size_t n)
{
    return n >= 9 && memcmp(p, "\5\0\0\0\13\10\5\32\0", 9) == 0;
}

/* Returns whether a connection may begin with this X Protocol frame. `type` is the byte after the length. `seq` is the
 * upper byte of the length. In the MySQL protocol, a server begins with a greeting (10) or an error (255). A MySQL
 * client begins with sequence 1. */
static inline int qt_x_may_begin(int is_client, uint8_t seq, uint8_t type)
{
    if (seq != 0)
        return 0;
    return is_client ? type >= 1 && type <= 4 : type <= 4 || type == 11;
}

#endif
