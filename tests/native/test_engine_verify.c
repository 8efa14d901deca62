/* SPDX-License-Identifier: Apache-2.0 */
/* Checksums of results. */
#include "check.h"
#include "replay_run.h"

/* The same rows have the same sum, as base/checksum.h makes it; statements without rows have none. */
static void results_are_summed(void)
{
    struct qt_checksum want = {0};
    char text[QT_CHECKSUM_ROOM];
    struct replay r;

    qt_checksum_result(&want, 1);
    qt_checksum_row(&want, "\3one", 4);
    qt_checksum_row(&want, "\3two", 4);
    qt_checksum_text(&want, "text", text);
    replay_init(&r);
    r.options.verify = 1;
    replay_session(&r, 1, -5, 2, NULL);
    replay_event(&r, 1, 1, 1, "SELECT 1");
    replay_event(&r, 1, 2, 2, "a");
    replay_run(&r);
    CHECK_TEXT(replay_find(&r, 1, 1)->checksum, text);
    CHECK_TEXT(replay_find(&r, 1, 2)->checksum, "");
    replay_free(&r);
}

int main(void)
{
    RUN(results_are_summed);
    return 0;
}
