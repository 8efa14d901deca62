/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the INSERTs in a text of several statements, and the texts that cannot be split reliably. */
#include "sql/split.h"

#include <stdio.h>
#include <string.h>

#include "check.h"

/* Returns "statements: place@offset ...". */
static const char *split_so(struct qt_session_mode mode, const char *sql, char *out, size_t room)
{
    struct qt_split s = {.room = 0};
    CHECK_INT(qt_split_text(&s, mode, sql, strlen(sql)), 0);
    size_t n = (size_t)snprintf(out, room, "%d:", (int)s.statements);
    for (size_t i = 0; s.statements >= 0 && i < s.n_inserts; i++)
        n += (size_t)snprintf(out + n, room - n, " %zu@%zu", s.inserts[2 * i], s.inserts[2 * i + 1]);
    if (s.statements > 0 && s.comment_behind)
        snprintf(out + n, room - n, " and a comment");
    qt_split_free(&s);
    return out;
}

static const char *split(const char *sql, char *out, size_t room)
{
    return split_so((struct qt_session_mode){0}, sql, out, room);
}

static void texts_are_split_into_statements(void)
{
    static const char *const CASES[][2] = {
        {"INSERT INTO a VALUES (1); INSERT INTO b VALUES (2)", "2: 0@0 1@26"},
        {" insert a;;\n; /* ; */ replace b;", "2: 0@1 1@22"},
        {"SELECT 'x; insert'; INSERT a -- ; insert\n; UPDATE t", "3: 1@20"},
        {"INSERT a VALUES ('it\\'s; INSERT'); INSERT b", "2: 0@0 1@35"},
        {"INSERT a VALUES (\"x; y\"); INSERT b", "2: 0@0 1@26"},
        {"BEGIN; INSERT a; COMMIT", "3: 1@7"},
        {"BEGIN WORK; INSERT a", "2: 1@12"},
        {"BEGIN NOT ATOMIC INSERT a; INSERT b; END", "-1:"},
        {"INSERT a; CALL p()", "-1:"},
        {"CREATE PROCEDURE p() BEGIN INSERT a; END; INSERT b", "-1:"},
        {"UPDATE t; INSERT a SELECT ROW_COUNT()", "-1:"},
        {"INSERT a; /*!50000 INSERT b; */ INSERT c", "-1:"},
        {"INSERT a VALUES ('\\'); INSERT b VALUES ('; INSERT c')", "-1:"}, /* another sql_mode splits differently */
        {"INSERT a VALUES ('never closed; INSERT b", "-1:"},
        {"SET STATEMENT a=1 FOR INSERT b; SET x=1; set statement a=1, c=2 for select 1; INSERT d", "4: 0@0 3@78"},
        {"INSERT a; SET STATEMENT a=1 FOR CALL p()", "-1:"},
        {"INSERT a; INSERT b; -- end", "2: 0@0 1@10 and a comment"},
        {"INSERT a; /* end; */ ", "1: 0@0 and a comment"},
        {"INSERT a; \n", "1: 0@0"},
        {"INSERT a -- end", "1: 0@0"},
        {"", "0:"},
    };
    char out[200];
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        CHECK_TEXT(split(CASES[i][0], out, sizeof out), CASES[i][1]);
}

/* If the known session settings leave only one way to split, the text is split like on the server. */
static void session_settings_decide_the_split(void)
{
    static const struct {
        struct qt_session_mode mode;
        const char *sql, *split;
    } CASES[] = {
        {{1, 0, 7}, "INSERT a VALUES ('\\'); INSERT b VALUES ('; INSERT c')", "2: 0@0 1@23"},
        {{0, 0, 7}, "INSERT a VALUES ('\\'); INSERT b VALUES ('; INSERT c')", "-1:"}, /* the last quote is not closed */
        {{0, 0, 7}, "INSERT a VALUES ('\\'); INSERT b -- ');\n; INSERT c", "2: 0@0 1@41"},
        {{1, 0, 7}, "INSERT a VALUES ('\\'); INSERT b -- ');\n; INSERT c", "3: 0@0 1@23 2@41"},
        {{1, 0, 1}, "INSERT a VALUES ('\\'); INSERT b", "2: 0@0 1@23"},
        {{1, 0, 0}, "INSERT a VALUES ('\\'); INSERT b", "2: 0@0 1@23"}, /* no other reading closes its quotes */
        {{2, 0, 7}, "INSERT \"a;b\" VALUES (1); INSERT \"\\\" VALUES (2)", "2: 0@0 1@25"},
        {{0, 1, 7}, "INSERT a VALUES ('\xd5\\'); INSERT b", "2: 0@0 1@24"}, /* one character in gbk */
        {{0, 0, 7}, "INSERT a VALUES ('\xd5\\'); INSERT b -- ');\n; INSERT c", "2: 0@0 1@42"},
        {{0, 0, 0}, "INSERT a VALUES ('\xd5\\'); INSERT b -- ');\n; INSERT c", "-1:"},
        {{0, 0, 0}, "INSERT a VALUES ('\xd5\\x'); INSERT b", "2: 0@0 1@25"}, /* all readings agree */
    };
    char out[200];
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        CHECK_TEXT(split_so(CASES[i].mode, CASES[i].sql, out, sizeof out), CASES[i].split);
}

static void texts_with_several_statements_are_detected(void)
{
    static const struct {
        const char *sql;
        int several;
    } CASES[] = {
        {"INSERT a; INSERT b", 1},
        {"INSERT a;", 0},
        {"INSERT a;;\n; -- INSERT b\n", 0},
        {"INSERT a VALUES ('; INSERT b')", 0},
        {"INSERT a VALUES ('\\'); INSERT b --')", 0}, /* would be 1 under NO_BACKSLASH_ESCAPES */
        {"INSERT a VALUES ('\\'); INSERT b", 1},      /* valid only under NO_BACKSLASH_ESCAPES */
        {"CALL p(); SELECT 1", 1},
        {"BEGIN; INSERT a", 1},
        {"BEGIN NOT ATOMIC INSERT a; INSERT b; END", 0},
        {"/* x */ CREATE PROCEDURE p() BEGIN INSERT a; END", 0},
        {"CREATE PROCEDURE p() BEGIN INSERT a; END; INSERT b", 0}, /* looks like the body of a procedure */
        {"INSERT a; CREATE PROCEDURE p() BEGIN INSERT a; END", 1},
        {"IF 1 THEN SELECT 1; END IF", 0},
        {"INSERT a; 'never closed", 0},
        {"", 0},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        CHECK_INT(qt_holds_several(CASES[i].sql, strlen(CASES[i].sql)), CASES[i].several);
}

int main(void)
{
    RUN(texts_are_split_into_statements);
    RUN(session_settings_decide_the_split);
    RUN(texts_with_several_statements_are_detected);
    return 0;
}
