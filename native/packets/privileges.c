/* SPDX-License-Identifier: Apache-2.0 */
/* Drops root: to another account where one is known, else to root without its capabilities. */
#include "packets/privileges.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"

static int become(uid_t uid, gid_t gid, struct qt_error *error)
{
    if (setgroups(1, &gid) != 0 || setresgid(gid, gid, gid) != 0 || setresuid(uid, uid, uid) != 0)
        return qt_fail(error, QT_EIO, "root's privileges can't be dropped: %s", strerror(errno));
    return QT_OK;
}

static int without_capabilities(struct qt_error *error)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {{0, 0, 0}, {0, 0, 0}};
    data[0].effective = data[0].permitted = 1u << CAP_DAC_OVERRIDE;
    if (syscall(SYS_capset, &header, data) != 0)
        return qt_fail(error, QT_EIO, "capabilities can't be dropped: %s", strerror(errno));
    return QT_OK;
}

int qt_privileges_drop(const char *user, struct qt_error *error)
{
    if (geteuid() != 0)
        return QT_OK;
    if (user != NULL) {
        char room[4096];
        struct passwd found, *is = NULL;
        if (getpwnam_r(user, &found, room, sizeof room, &is) != 0 || is == NULL)
            return qt_fail(error, QT_EINVALID, "--user %s: this machine knows no such user", user);
        return become(found.pw_uid, found.pw_gid, error);
    }
    const char *uid = getenv("SUDO_UID"), *gid = getenv("SUDO_GID");
    if (uid != NULL && gid != NULL && atoi(uid) > 0)
        return become((uid_t)atoi(uid), (gid_t)atoi(gid), error);
    return without_capabilities(error);
}
