/* SPDX-License-Identifier: Apache-2.0 */
/* Names that logs write: of commands, of accounts. */
#ifndef QT_NAMES_H
#define QT_NAMES_H

#include <stdint.h>

#include "base/span.h"

int qt_span_is(struct qt_span, const char *text);
/* The tape's name of a command that a server's log writes as `Init DB`, `Close stmt`, ...; "other" where it has
 * none. */
const char *qt_find_command(struct qt_span name);
/* Replication, event scheduler, service accounts: not clients. */
int qt_is_system_user(struct qt_span user);
/* To tell accounts apart. */
uint64_t qt_hash_spans(struct qt_span a, struct qt_span b);

#endif
