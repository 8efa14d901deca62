/* SPDX-License-Identifier: Apache-2.0 */
/* Build JSON objects in limited space, and find the end of JSON objects. */
#include <string.h>

#include "base/json.h"
#include "check.h"

/* Quotes, backslashes, control characters and bytes above 127 are escaped. */
static void special_characters_are_escaped(void)
{
    char out[128];
    struct qt_json j;
    qt_json_begin(&j, out, sizeof out);
    qt_json_text(&j, "a", "x\"\\\n\xe9", 5);
    qt_json_text(&j, "b", NULL, 0);
    qt_json_int(&j, "c", -7);
    qt_json_end(&j);
    CHECK_TEXT(out, "{\"a\": \"x\\u0022\\u005c\\u000a\\u00e9\", \"b\": null, \"c\": -7}");
}

/* Members that do not fit are left out. The object stays well-formed. */
static void oversized_members_are_left_out(void)
{
    char out[16];
    struct qt_json j;
    qt_json_begin(&j, out, sizeof out);
    qt_json_text(&j, "long", "0123456789", 10);
    qt_json_end(&j);
    CHECK_TEXT(out, "{}");
}

/* Finds the end of JSON objects that arrive in pieces of any size. */

struct a_case {
    const char *text;
    int found;
    size_t used;
};

static const struct a_case CASES[] = {
    {"{}", 1, 2},
    {"{} ", 1, 2},
    {"{\"a\":{\"b\":[1,-2.5e+3,true,null,\"}\"]}\n , \"c\" :\t{ } }{", 1, 51},
    {"{\"a\\\"}\\\\\":1}", 1, 12},
    {"{\"a\":[[],[{}]]}x", 1, 15},
    {"{\"a\":1", 0, 6},
    {"{\"a", 0, 3},
    {"{\"a\\", 0, 4},
    {"{{", -1, 2},
    {"{\"a\"{", -1, 5},
    {"{\"a\":1 2}", -1, 8},
    {"{\"a\":1,}", -1, 8},
    {"{\"a\":1]", -1, 7},
    {"{\"a\":[1}", -1, 8},
    {"{\"a\":[1:", -1, 8},
    {"{\"a\nb\":1}", -1, 4},
    {"{\"a\\\nb\":1}", -1, 5},
    {"{,", -1, 2},
    {"}", -1, 1},
};

/* Scans the first `cut` bytes, then the rest. */
static void scan_in_two(const struct a_case *c, size_t cut)
{
    struct qt_json_scan s;
    size_t used, more = 0;
    qt_json_scan_begin(&s);
    int found = qt_json_scan(&s, c->text, cut, &used);
    if (found == 0)
        found = qt_json_scan(&s, c->text + used, strlen(c->text) - used, &more);
    CHECK(found == c->found);
    CHECK(used + more == c->used);
}

static void deep(int depth, int expected)
{
    struct qt_json_scan s;
    size_t used;
    int found = 0;
    qt_json_scan_begin(&s);
    for (int i = 0; i < depth && found == 0; i++)
        found = qt_json_scan(&s, i == 0 ? "{\"a\":" : "[", i == 0 ? 5 : 1, &used);
    for (int i = depth; i > 0 && found == 0; i--)
        found = qt_json_scan(&s, i == 1 ? "}" : "]", 1, &used);
    CHECK(found == expected);
}

static void objects_can_be_scanned_in_two_pieces(void)
{
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        for (size_t cut = 0; cut <= strlen(CASES[i].text); cut++)
            scan_in_two(&CASES[i], cut);
}

static void nesting_depth_is_limited(void)
{
    deep(QT_JSON_DEPTH, 1);
    deep(QT_JSON_DEPTH + 1, -1);
}

int main(void)
{
    RUN(special_characters_are_escaped);
    RUN(oversized_members_are_left_out);
    RUN(objects_can_be_scanned_in_two_pieces);
    RUN(nesting_depth_is_limited);
    return 0;
}
