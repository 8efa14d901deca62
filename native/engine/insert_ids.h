/* SPDX-License-Identifier: Apache-2.0 */
/* A text of several statements, each of which is to get its own insert id. */
#ifndef QT_ENGINE_INSERT_IDS_H
#define QT_ENGINE_INSERT_IDS_H

#include <stddef.h>

/* Bytes that a text can grow by: `ids` is a tape's insert_ids. */
size_t qt_insert_ids_room(const char *ids, size_t ids_len);
/* Copies the text with `SET insert_id=N;` before each statement that `ids` names; returns the new length. The text
 * stays as it is where `ids` names anything but an INSERT or REPLACE. `to` has room for len + qt_insert_ids_room
 * bytes. */
size_t qt_insert_ids_copy(char *to, const char *sql, size_t len, const char *ids, size_t ids_len);

#endif
