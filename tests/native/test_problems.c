/* SPDX-License-Identifier: Apache-2.0 */
/* Problems of a reader. A limited number of each kind is kept, and all are counted. Quoted input is made safe for
 * terminals. */
#include "reader/problems.h"

#include "base/arrow_abi.h"
#include "check.h"

static char details[3][256]; /* the first and last problem of the batch, and one problem of the requested kind */

static uint64_t take(struct qt_problems *p, const char *kind)
{
    struct ArrowArrayStream stream;
    struct ArrowArray batch = {.release = NULL};
    struct qt_error error;
    uint64_t of_kind = 0;
    CHECK_INT(qt_problems_take(p, &stream, &error), QT_OK);
    CHECK_INT(stream.get_next(&stream, &batch), 0);
    for (int64_t row = 0; batch.release != NULL && row < batch.length; row++) {
        const int32_t *kinds = batch.children[3]->buffers[1], *texts = batch.children[4]->buffers[1];
        const char *name = (const char *)batch.children[3]->buffers[2] + kinds[row];
        const char *text = (const char *)batch.children[4]->buffers[2] + texts[row];
        int is = (size_t)(kinds[row + 1] - kinds[row]) == strlen(kind) && memcmp(name, kind, strlen(kind)) == 0;
        of_kind += (uint64_t)is;
        for (int i = 0; i < 3; i++)
            if ((i == 0 && row == 0) || (i == 1 && row == batch.length - 1) || (i == 2 && is))
                snprintf(details[i], sizeof details[i], "%.*s", (int)(texts[row + 1] - texts[row]), text);
    }
    if (batch.release != NULL)
        batch.release(&batch);
    qt_stream_release(&stream);
    return of_kind;
}

static void number_of_kept_problems_is_limited_per_kind(void)
{
    struct qt_problems p;
    CHECK_INT(qt_problems_init(&p), 0);
    for (int i = 0; i < QT_PROBLEMS_KEPT + 5; i++) {
        qt_problems_add(&p, 0, i, 0, "first", "expected a", "x", 1);
        if (i % 2 == 0)
            qt_problems_add(&p, 0, i, 0, "second", "expected b", "y", 1);
    }
    CHECK_INT(p.total, QT_PROBLEMS_KEPT + 5 + (QT_PROBLEMS_KEPT + 6) / 2);
    CHECK_INT(take(&p, "first"), QT_PROBLEMS_KEPT);
    CHECK_INT(take(&p, "first"), 0); /* problems are returned only once */
    for (int i = 0; i < QT_PROBLEMS_KEPT / 2 + 2; i++)
        qt_problems_add(&p, 0, i, 0, "second", "expected b", "y", 1);
    qt_problems_add(&p, 0, 0, 0, "first", "expected a", "x", 1);
    CHECK_INT(take(&p, "more_problems"), 1); /* reported once per kind; the report of kind "first" was taken above */
    CHECK_TEXT(details[2], "only the first 10,000 problems of this kind are listed: \"second\"");
    qt_problems_free(&p);
}

static void problems_of_all_kinds_are_counted(void)
{
    static char names[QT_PROBLEM_KINDS + 4][16]; /* a letter and any int */
    struct qt_problems p;
    CHECK_INT(qt_problems_init(&p), 0);
    for (int i = 0; i < QT_PROBLEM_KINDS + 4; i++) {
        snprintf(names[i], sizeof names[i], "k%d", i);
        for (int n = 0; n < 3; n++)
            qt_problems_add(&p, i, 0, 0, names[i], "a", NULL, 0);
    }
    CHECK_INT(p.total, 3 * (QT_PROBLEM_KINDS + 4));
    for (int i = 0; i < QT_PROBLEM_KINDS - 1; i++) {
        CHECK_TEXT(p.kinds[i].kind, names[i]);
        CHECK_INT(p.kinds[i].n, 3);
    }
    CHECK_INT(p.kinds[QT_PROBLEM_KINDS - 1].n, 3 * 5); /* kinds beyond the limit share the last place */
    qt_problems_free(&p);
}

/* Bytes that are unsafe for a terminal become question marks. Long texts are shortened to their beginning. */
static void unsafe_bytes_become_question_marks(void)
{
    char text[100], wanted[160];
    struct qt_problems p;
    for (int byte = 0; byte < 256; byte++) {
        CHECK_INT(qt_problems_init(&p), 0);
        text[0] = (char)byte;
        qt_problems_add(&p, 0, 0, 0, "k", "expected a", text, 1);
        take(&p, "k");
        snprintf(wanted, sizeof wanted, "expected a, found \"%c\"", byte >= 0x20 && byte < 0x7f ? byte : '?');
        CHECK_TEXT(details[0], wanted);
        qt_problems_free(&p);
    }
    memset(text, 'z', sizeof text);
    for (size_t n = 78; n < 83; n++) {
        CHECK_INT(qt_problems_init(&p), 0);
        qt_problems_add(&p, 0, 0, 0, "k", "expected a", text, n);
        qt_problems_add(&p, 0, 0, 0, "k", "only said", NULL, 0);
        take(&p, "k");
        snprintf(wanted, sizeof wanted, "expected a, found \"%.*s%s", n < 80 ? (int)n : 80, text,
                 n > 80 ? "\"..." : "\"");
        CHECK_TEXT(details[0], wanted);
        CHECK_TEXT(details[1], "only said");
        qt_problems_free(&p);
    }
}

int main(void)
{
    RUN(number_of_kept_problems_is_limited_per_kind);
    RUN(problems_of_all_kinds_are_counted);
    RUN(unsafe_bytes_become_question_marks);
    return 0;
}
