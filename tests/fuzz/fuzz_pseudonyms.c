/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: replaces any bytes in place with pseudonyms. The bytes are a value, a statement, a message and
 * parameters. The code must not read or write outside the buffer. */
#include <stdlib.h>
#include <string.h>

#include "pseudonyms/message.h"
#include "pseudonyms/params.h"
#include "pseudonyms/sql.h"
#include "pseudonyms/value.h"
#include "querytape.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t KEY[16] = {1};
    static struct qt_pseudonyms *s;
    int (*const kinds[])(struct qt_pseudonyms *, char *, size_t) = {qt_pseudonyms_value, qt_pseudonyms_statement,
                                                                    qt_pseudonyms_message, qt_pseudonyms_params};
    if (s == NULL)
        s = qt_pseudonyms_new(KEY);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char *copy = malloc(size > 0 ? size : 1);
        memcpy(copy, data, size);
        kinds[i](s, copy, size);
        free(copy);
    }
    return 0;
}
