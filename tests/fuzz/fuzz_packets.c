/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz_reader.h"

static struct qt_reader *open_file(const char *const *paths, struct qt_error *error)
{
    static const int32_t ports[] = {3306, 33306};
    struct qt_packets_options options = {.ports = ports, .n_ports = 2};
    return qt_packets_open(paths, 1, &options, error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return read_as(data, size, open_file); }
