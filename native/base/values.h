/* SPDX-License-Identifier: Apache-2.0 */
/* Values of the binary protocol, as EXECUTE sends parameters ("Binary Protocol Value" in MySQL's protocol manual). */
#ifndef QT_VALUES_H
#define QT_VALUES_H

#include "base/reading.h"

/* Passes over one value that is not NULL; `type` is the protocol's. What is not there sets `bad`. */
void qt_skip_value(struct qt_reading *, unsigned type);

#endif
