/* SPDX-License-Identifier: Apache-2.0 */
/* A stream that is counted while somebody reads it: see struct qt_watch of querytape.h. */
#ifndef QT_READER_COUNTED_STREAM_H
#define QT_READER_COUNTED_STREAM_H

#include "base/arrow_abi.h"
#include "querytape.h"

#endif
