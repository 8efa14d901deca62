/* SPDX-License-Identifier: Apache-2.0 */
/* CALL statements with constant values for parameters that need variables. */
#include "engine/call_variables.h"

#include <stdio.h>
#include <string.h>

#include "check.h"

static void literal_arguments_of_call_become_variables(void)
{
    static const char *const CASES[][2] = {
        {"CALL pay(7,NULL)", "SET @querytape_1=7,@querytape_2=NULL|CALL pay(@querytape_1,@querytape_2)"},
        {"call `sh`.pay ( @a , -1.5e3, f(1, (2)) ) ;", "SET @querytape_2=-1.5e3,@querytape_3=f(1, (2))|"
                                                       "call `sh`.pay ( @a , @querytape_2, @querytape_3 ) ;"},
        {"/* 1 */ CALL p('a, ) b', _utf8mb4'\xc3\xa9', \"it's\")",
         "SET @querytape_1='a, ) b',@querytape_2=_utf8mb4'\xc3\xa9',@querytape_3=\"it's\"|"
         "/* 1 */ CALL p(@querytape_1, @querytape_2, @querytape_3)"},
        {"CALL p('it\\'s', 2)", "SET @querytape_1='it\\'s',@querytape_2=2|CALL p(@querytape_1, @querytape_2)"},
        {"CALL p(@a + 1, @b)", "SET @querytape_1=@a + 1|CALL p(@querytape_1, @b)"},
        {"CALL p('\\', 2, 'x')", "no"}, /* the literal is not closed */
        {"CALL p('\\', ', 2)", "SET @querytape_1='\\', ',@querytape_2=2|CALL p(@querytape_1, @querytape_2)"},
        {"CALL p('\\'', 1, '\\'')", "no"},
        {"CALL p(@a, @b)", "no"},
        {"CALL p()", "no"},
        {"CALL p", "no"},
        {"CALL p(1", "no"},
        {"CALL p(1); SELECT 1", "no"},
        {"CALL p(1 /*!, 2 */)", "no"},
        {"SELECT p(1)", "no"},
        {"", "no"},
    };
    struct qt_bytes set = {.len = 0}, call = {.len = 0};
    char found[400];

    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        int code = qt_call_with_variables(&set, &call, CASES[i][0], strlen(CASES[i][0]));
        CHECK(code >= 0);
        snprintf(found, sizeof found, "%.*s|%.*s", (int)set.len, set.p, (int)call.len, call.p);
        CHECK_TEXT(code == 0 ? found : "no", CASES[i][1]);
    }
    qt_bytes_free(&set);
    qt_bytes_free(&call);
}

int main(void)
{
    RUN(literal_arguments_of_call_become_variables);
    return 0;
}
