/* SPDX-License-Identifier: Apache-2.0 */
/* MySQL's and MariaDB's manuals, "Supported Character Sets and Collations". MariaDB adds 1024 to a collation's number
 * where it pads nothing. */
#include "sql/charsets.h"

#include <stdlib.h>
#include <string.h>

#include "querytape.h"
#include "sql/names.h"
#include "sql/readings.h"

#define IN_EVERY_SERVER 248 /* collations below have one meaning */

static const struct {
    const char *name;
    uint8_t charset;
} CHARSETS[] = {{"gbk", QT_GBK},          {"gb18030", QT_GBK},     {"big5", QT_BIG5},       {"sjis", QT_SJIS},
                {"cp932", QT_SJIS},       {"utf8mb4", QT_NARROW},  {"utf8mb3", QT_NARROW},  {"utf8", QT_NARROW},
                {"latin1", QT_BLANK_A0},  {"binary", QT_NARROW},   {"ascii", QT_NARROW},    {"latin2", QT_BLANK_A0},
                {"latin5", QT_BLANK_A0},  {"latin7", QT_BLANK_A0}, {"cp1250", QT_BLANK_A0}, {"cp1251", QT_NARROW},
                {"cp1256", QT_NARROW},    {"cp1257", QT_NARROW},   {"cp850", QT_NARROW},    {"cp852", QT_BLANK_FF},
                {"cp866", QT_BLANK_FF},   {"greek", QT_BLANK_A0},  {"hebrew", QT_BLANK_A0}, {"koi8r", QT_NARROW},
                {"koi8u", QT_NARROW},     {"euckr", QT_NARROW},    {"gb2312", QT_NARROW},   {"ujis", QT_NARROW},
                {"eucjpms", QT_NARROW},   {"tis620", QT_NARROW},   {"dec8", QT_BLANK_A0},   {"hp8", QT_NARROW},
                {"macroman", QT_NARROW},  {"macce", QT_NARROW},    {"swe7", QT_NARROW},     {"armscii8", QT_BLANK_A0},
                {"geostd8", QT_BLANK_A0}, {"keybcs2", QT_BLANK_FF}};

int qt_charset_of_name(const struct qt_token *t)
{
    for (size_t i = 0; i < sizeof CHARSETS / sizeof *CHARSETS; i++)
        if (qt_name_is(t, CHARSETS[i].name))
            return CHARSETS[i].charset;
    return -1;
}

int qt_charset_of_collation(int64_t collation)
{
    static const uint16_t wide[][2] = {{1, QT_BIG5},  {84, QT_BIG5}, {13, QT_SJIS}, {88, QT_SJIS},
                                       {95, QT_SJIS}, {96, QT_SJIS}, {28, QT_GBK},  {87, QT_GBK},
                                       {248, QT_GBK}, {249, QT_GBK}, {250, QT_GBK}};
    static const uint8_t blank_a0[] = {3,  69, 5,  8,  15, 31, 47, 48, 49, 94, 2,  9,  21, 27, 77, 16, 71,
                                       25, 70, 26, 34, 44, 66, 99, 30, 78, 32, 64, 20, 41, 42, 79, 92, 93};
    static const uint8_t blank_ff[] = {36, 68, 37, 73, 40, 81};
    int64_t plain = collation / 1024 == 1 ? collation % 1024 : collation; /* MariaDB's without padding */
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        if (plain == wide[i][0])
            return wide[i][1];
    if (plain > 0 && plain < 256 && memchr(blank_a0, (int)plain, sizeof blank_a0) != NULL)
        return QT_BLANK_A0;
    if (plain > 0 && plain < 256 && memchr(blank_ff, (int)plain, sizeof blank_ff) != NULL)
        return QT_BLANK_FF;
    return collation > 0 && collation < IN_EVERY_SERVER ? QT_NARROW : -1;
}

void qt_session_mode_login(struct qt_session_mode *m, int64_t collation, const char *server_version)
{
    int charset = qt_charset_of_collation(collation);
    int is_new = server_version != NULL && atoi(server_version) >= 8 && strstr(server_version, "MariaDB") == NULL;
    /* a server that does not know the number takes its own default */
    int known = collation > 0 && collation < (is_new ? 400 : IN_EVERY_SERVER);
    m->known = known ? m->known | QT_KNOWS_CHARSET : m->known & (uint8_t)~QT_KNOWS_CHARSET;
    m->charset = (uint8_t)(charset > 0 ? charset : QT_NARROW);
}
