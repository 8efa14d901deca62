/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz_reader.h"

static struct qt_reader *open_file(const char *const *paths, struct qt_error *error)
{
    struct qt_log_options options = {0};
    return qt_server_audit_open(paths, 1, &options, 64, error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return read_as(data, size, open_file); }
