/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/collation.h"

#include <mysql.h>
#include <string.h>

void qt_collation_keep(struct qt_connection *c, const struct qt_login *login)
{
    MY_CHARSET_INFO own;
    mysql_get_character_set_info(c->mysql, &own);
    c->sent = own.number;
    int fits = login->names != NULL && strlen(login->names) < sizeof c->names;
    c->collation = login->collation;
    strcpy(c->names, fits ? login->names : "");
}

void qt_collation_choose(struct qt_connection *c, const char *names)
{
    char name[64];
    size_t len = names != NULL ? strcspn(names, " ") : 0;
    if (len == 0 || len >= sizeof name)
        return;
    memcpy(name, names, len);
    name[len] = '\0';
    if (mariadb_get_charset_by_name(name) != NULL)
        mysql_options(c->mysql, MYSQL_SET_CHARSET_NAME, name);
}
