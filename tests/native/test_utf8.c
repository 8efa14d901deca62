/* SPDX-License-Identifier: Apache-2.0 */
/* What is UTF-8 and what is not, and texts of unknown origin made UTF-8. */
#include "base/utf8.h"
#include "check.h"

static int sequence(const char *text, size_t len) { return (int)qt_utf8_sequence((const unsigned char *)text, len); }

/* Unicode's table of well-formed sequences: its borders, and what is just outside. */
static void sequences_are_measured(void)
{
    CHECK_INT(sequence("a", 1), 1);
    CHECK_INT(sequence("\xc2\x80", 2), 2);
    CHECK_INT(sequence("\xe0\xa0\x80", 3), 3);
    CHECK_INT(sequence("\xf4\x8f\xbf\xbf", 4), 4);
    CHECK_INT(sequence("\xc1\xbf", 2), 0);
    CHECK_INT(sequence("\xe0\x9f\xbf", 3), 0);
    CHECK_INT(sequence("\xed\xa0\x80", 3), 0);
    CHECK_INT(sequence("\xf4\x90\x80\x80", 4), 0);
    CHECK_INT(sequence("\xc2", 1), 0);
    CHECK_INT(sequence("\x80", 1), 0);
}

/* Each bad byte becomes one '?', all else stays, at the end as well. */
static void texts_are_repaired_in_place(void)
{
    char text[] = "a\xff\xc3\xa9 \xed\xa0\x80z\xe2\x82", empty[] = "";
    qt_utf8_repair(text);
    CHECK_TEXT(text, "a?\xc3\xa9 ???z??");
    qt_utf8_repair(empty);
    CHECK_TEXT(empty, "");
}

/* In a column a bad byte becomes U+FFFD. */
static void columns_take_any_text(void)
{
    static const struct qt_column_spec SPECS[] = {{"text", 'u', 0}};
    struct qt_columns cols;
    CHECK_INT(qt_columns_init(&cols, SPECS, 1), QT_OK);
    qt_col_any_text(&cols.col[0], "a\xff", 2);
    CHECK_INT(cols.col[0].used, 4);
    CHECK(memcmp(cols.col[0].data, "a\xef\xbf\xbd", 4) == 0);
    qt_columns_free(&cols);
}

int main(void)
{
    RUN(sequences_are_measured);
    RUN(texts_are_repaired_in_place);
    RUN(columns_take_any_text);
    return 0;
}
