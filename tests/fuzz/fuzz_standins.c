/* SPDX-License-Identifier: Apache-2.0 */
/* Stand-ins for any bytes, as a value, statement, message and parameters: in place, nothing read or written beyond. */
#include <stdlib.h>
#include <string.h>

#include "querytape.h"
#include "standins.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t KEY[16] = {1};
    static struct qt_standins *s;
    int (*const kinds[])(struct qt_standins *, char *, size_t) = {qt_standins_value, qt_standins_statement, qt_standins_message,
                                                                 qt_standins_params};
    if (s == NULL)
        s = qt_standins_new(KEY);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char *copy = malloc(size > 0 ? size : 1);
        memcpy(copy, data, size);
        kinds[i](s, copy, size);
        free(copy);
    }
    return 0;
}
