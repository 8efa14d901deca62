/* SPDX-License-Identifier: Apache-2.0 */
/* Root privileges are dropped in one of three ways: change to a named user, change to the caller of sudo, or remove
 * capabilities. The test needs root. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "check.h"
#include "packets/live.h"

enum { NOBODY = 65534, WRONG = 100, FAILED, CHANGED };

static unsigned effective(void)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {{0, 0, 0}, {0, 0, 0}};
    return syscall(SYS_capget, &header, data) == 0 ? data[0].effective : ~0u;
}

static int is_nobody(uid_t id)
{
    gid_t group = 0;
    return getuid() == id && geteuid() == id && getgid() == id && getegid() == id && setuid(0) != 0 &&
           getgroups(1, &group) == 1 && group == id;
}

/* Drops privileges in a child process and returns the exit code of the child. */
static int drop(const char *user, const char *uid, const char *gid, int (*right)(void))
{
    pid_t child = fork();
    if (child == 0) {
        struct qt_error error = {0};
        unsetenv("SUDO_UID"), unsetenv("SUDO_GID");
        if (uid != NULL)
            setenv("SUDO_UID", uid, 1);
        if (gid != NULL)
            setenv("SUDO_GID", gid, 1);
        int code = qt_privileges_drop(user, &error);
        _exit(code == QT_EINVALID ? WRONG : code != QT_OK ? FAILED : right() ? 0 : CHANGED);
    }
    int status = 0;
    CHECK_INT(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int nobody(void) { return is_nobody(NOBODY); }
static int caller(void) { return is_nobody(4321); }
static int bare_root(void) { return getuid() == 0 && effective() == 1u << CAP_DAC_OVERRIDE; }
static int is_1234(void) { return getuid() == 1234; }

static int as_another(void)
{
    pid_t child = fork();
    if (child == 0) {
        struct qt_error error = {0};
        if (setresuid(1234, 1234, 1234) != 0)
            _exit(FAILED);
        _exit(qt_privileges_drop("nobody", &error) == QT_OK && is_1234() ? 0 : CHANGED);
    }
    int status = 0;
    CHECK_INT(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(void)
{
    if (geteuid() != 0)
        return 0;
    CHECK_INT(drop("nobody", NULL, NULL, nobody), 0);
    CHECK_INT(drop("nobody", "4321", "4321", nobody), 0);
    CHECK_INT(drop("no-such-user", "4321", "4321", nobody), WRONG);
    CHECK_INT(drop(NULL, "4321", "4321", caller), 0);
    CHECK_INT(drop(NULL, "4321", NULL, bare_root), 0);
    CHECK_INT(drop(NULL, NULL, "4321", bare_root), 0);
    CHECK_INT(drop(NULL, "0", "4321", bare_root), 0);
    CHECK_INT(drop(NULL, NULL, NULL, bare_root), 0);
    CHECK_INT(as_another(), 0);
    return 0;
}
