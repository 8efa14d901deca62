/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded into a client that is linked with OpenSSL, appends its TLS secrets to the file of SSLKEYLOGFILE. */
#include <dlfcn.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>

static void note(const SSL *ssl, const char *line)
{
    FILE *file = fopen(getenv("SSLKEYLOGFILE"), "a");
    (void)ssl;
    if (file == NULL)
        return;
    fprintf(file, "%s\n", line);
    fclose(file);
}

SSL_CTX *SSL_CTX_new(const SSL_METHOD *method)
{
    SSL_CTX *(*next)(const SSL_METHOD *) = (SSL_CTX * (*)(const SSL_METHOD *))(uintptr_t)dlsym(RTLD_NEXT,
                                                                                               "SSL_CTX_new");
    SSL_CTX *made = next(method);
    if (made != NULL)
        SSL_CTX_set_keylog_callback(made, note);
    return made;
}
