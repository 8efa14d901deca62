/* SPDX-License-Identifier: Apache-2.0 */
/* What keeps a session's reads away from the read target: temporary tables and locks of its other connection. */
#include "check.h"
#include "engine/read_split.h"
#include "engine/state.h"

static struct qt_address reader;

/* What is pinned after a command, where this was pinned before it. */
static int32_t pinned_after(int command, int64_t actions, int32_t before)
{
    static struct qt_engine e;
    struct qt_session s = {.engine = &e, .pinned = before};
    struct qt_planned_event ev = {.command = command, .actions = actions};
    e.options.read_target = &reader;
    qt_mirror_event(&s, &ev);
    return s.pinned;
}

enum { TABLES = QT_PINNED_BY_TABLES, LOCKS = QT_PINNED_BY_LOCKS, BOTH = TABLES | LOCKS };

static void what_pins(void)
{
    CHECK_INT(pinned_after(QT_COMMAND_QUERY, 0, 0), 0);
    CHECK_INT(pinned_after(QT_COMMAND_QUERY, QT_ACTION_TEMPORARY_TABLE, 0), TABLES);
    CHECK_INT(pinned_after(QT_COMMAND_EXECUTE, QT_ACTION_TEMPORARY_TABLE, LOCKS), BOTH);
    CHECK_INT(pinned_after(QT_COMMAND_QUERY, QT_ACTION_LOCK_TABLES, 0), LOCKS);
    CHECK_INT(pinned_after(QT_COMMAND_QUERY, QT_ACTION_LOCK_TABLES, TABLES), BOTH);
    CHECK_INT(pinned_after(QT_COMMAND_QUERY, 0, BOTH), BOTH);
}

static void what_releases(void)
{
    CHECK_INT(pinned_after(QT_COMMAND_QUERY, QT_ACTION_UNLOCK_TABLES, BOTH), TABLES);
    CHECK_INT(pinned_after(QT_COMMAND_QUERY, QT_ACTION_BEGIN, BOTH), TABLES);
    CHECK_INT(pinned_after(QT_COMMAND_QUERY, QT_ACTION_COMMIT, BOTH), BOTH);
    CHECK_INT(pinned_after(QT_COMMAND_QUERY, QT_ACTION_UNLOCK_TABLES | QT_ACTION_LOCK_TABLES, LOCKS), LOCKS);
    CHECK_INT(pinned_after(QT_COMMAND_RESET_CONNECTION, 0, BOTH), 0);
    CHECK_INT(pinned_after(QT_COMMAND_CHANGE_USER, 0, BOTH), 0);
    CHECK_INT(pinned_after(QT_COMMAND_PING, 0, BOTH), BOTH);
}

/* Without a read target nothing is looked at, and so nothing of a session whose connection is gone. */
static void where_nothing_is_split(void)
{
    static struct qt_engine e;
    struct qt_session s = {.engine = &e};
    struct qt_planned_event ev = {.command = QT_COMMAND_QUERY, .actions = QT_ACTION_TEMPORARY_TABLE};
    qt_mirror_event(&s, &ev);
    CHECK_INT(s.pinned, 0);
    e.options.read_target = &reader;
    s.broken = QT_CONNECTION_LOST;
    qt_mirror_event(&s, &ev);
    CHECK_INT(s.pinned, 0);
}

int main(void)
{
    RUN(what_pins);
    RUN(what_releases);
    RUN(where_nothing_is_split);
    return 0;
}
