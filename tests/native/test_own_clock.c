/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that reset the session's `timestamp` to the server's clock. The last assignment decides. */
#include "sql/own_clock.h"

#include <string.h>

#include "check.h"

static int gives_back(const char *sql)
{
    /* bytes after the text must not be read */
    char text[200];
    size_t n = strlen(sql);
    memcpy(text, sql, n);
    strcpy(text + n, "=0");
    return qt_gives_clock_back((struct qt_span){text, n});
}

static void set_timestamp_default_restores_the_server_clock(void)
{
    static const char *const YES[] = {"SET timestamp=DEFAULT",
                                      "set TimeStamp = default;",
                                      "SET @@timestamp := 0",
                                      "SET SESSION `timestamp` \t\r\n = \t\r\n default",
                                      "SET timestamp=0",
                                      "SET timestamp=0,x=1",
                                      "SET timestamp=5, timestamp=DEFAULT",
                                      "SET timestamp=0 /* as before */",
                                      "SET timestamp_x=3, timestamp=0"};
    static const char *const NO[] = {"SET timestamp=1",
                                     "SET timestamp=10",
                                     "SET timestamp=00",
                                     "SET timestamp=defaults",
                                     "SET timestamp=defaul",
                                     "SET timestamp=DEFAULT, timestamp=5",
                                     "SET timestamp",
                                     "SET timestamp ",
                                     "SET timestamp:",
                                     "SET timestamp : = 0",
                                     "SELECT timestamp x = 0",
                                     "SET timestam=0",
                                     "SET time=0",
                                     "SET timestamp=",
                                     "SET timestamp= ",
                                     ""};
    for (size_t i = 0; i < sizeof YES / sizeof *YES; i++)
        CHECK_TEXT(gives_back(YES[i]) ? YES[i] : "no", YES[i]);
    for (size_t i = 0; i < sizeof NO / sizeof *NO; i++)
        CHECK_TEXT(gives_back(NO[i]) ? "yes" : NO[i], NO[i]);
}

int main(void)
{
    RUN(set_timestamp_default_restores_the_server_clock);
    return 0;
}
