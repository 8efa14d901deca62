/* SPDX-License-Identifier: Apache-2.0 */
#define OPEN_LOG qt_proxysql_open
#include "fuzz_reader.h"
