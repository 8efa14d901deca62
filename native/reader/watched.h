/* SPDX-License-Identifier: Apache-2.0 */
/* A stream that is counted while somebody reads it: see struct qt_watch of querytape.h. */
#ifndef QT_WATCHED_H
#define QT_WATCHED_H

#include "base/arrow_abi.h"
#include "querytape.h"

#endif
