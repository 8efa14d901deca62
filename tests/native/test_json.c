/* SPDX-License-Identifier: Apache-2.0 */
/* JSON objects in little room. */
#include "base/json.h"
#include "check.h"

/* Quotes, backslashes, control characters and bytes above 127 are escaped. */
static void texts_are_escaped(void)
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

/* What does not fit is left out; the object stays well-formed. */
static void members_that_do_not_fit_are_left_out(void)
{
    char out[16];
    struct qt_json j;
    qt_json_begin(&j, out, sizeof out);
    qt_json_text(&j, "long", "0123456789", 10);
    qt_json_end(&j);
    CHECK_TEXT(out, "{}");
}

int main(void)
{
    RUN(texts_are_escaped);
    RUN(members_that_do_not_fit_are_left_out);
    return 0;
}
