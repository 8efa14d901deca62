/* SPDX-License-Identifier: Apache-2.0 */
/* Writing and reading numbers of the MySQL protocol. */
#include "base/bytes.h"
#include "base/reading.h"
#include "check.h"

static void fixed_length_integers_are_read_and_written(void)
{
    uint8_t p[8];
    qt_put_le(p, UINT64_C(0x0102030405060708), 8);
    CHECK(p[0] == 8 && p[7] == 1);
    CHECK(qt_get_le(p, 8) == UINT64_C(0x0102030405060708));
    CHECK_INT(qt_get_le(p, 2), 0x0708);
    CHECK_INT(qt_get_le24(p), 0x060708);
}

/* The encoded length grows at each limit, and the number that is read equals the written number. */
static void length_encoded_integers_are_read_and_written(void)
{
    static const struct {
        uint64_t value;
        size_t bytes;
    } CASES[] = {{0, 1}, {250, 1}, {251, 3}, {0xFFFF, 3}, {0x10000, 4}, {0xFFFFFF, 4}, {0x1000000, 9}, {UINT64_MAX, 9}};
    uint8_t p[QT_LENENC_ROOM];
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        CHECK_INT(qt_put_lenenc(p, CASES[i].value), CASES[i].bytes);
        struct qt_reading r = qt_reading(p, CASES[i].bytes);
        CHECK(qt_take_lenenc(&r) == CASES[i].value && !r.bad && qt_left(&r) == 0);
    }
}

int main(void)
{
    RUN(fixed_length_integers_are_read_and_written);
    RUN(length_encoded_integers_are_read_and_written);
    return 0;
}
