/* SPDX-License-Identifier: Apache-2.0 */
/* Library for LD_PRELOAD in OpenSSL clients. It appends their TLS secrets to the file named in SSLKEYLOGFILE.
 *
 * QT_NEW_KEYS_AT=4 requests new keys before the fourth write: a renegotiation, or a key update in TLS 1.3.
 * QT_NEW_KEYS_SECRET=1 keeps these new keys out of the key log. QT_SUITES sets the cipher suites of TLS 1.3. */
#include <dlfcn.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>

static int renewed;

static void note(const SSL *ssl, const char *line)
{
    FILE *file = renewed && getenv("QT_NEW_KEYS_SECRET") ? NULL : fopen(getenv("SSLKEYLOGFILE"), "a");
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
    if (made != NULL && getenv("QT_SUITES") != NULL)
        SSL_CTX_set_ciphersuites(made, getenv("QT_SUITES"));
    return made;
}

int SSL_write(SSL *ssl, const void *bytes, int n)
{
    static int calls;
    int (*next)(SSL *, const void *, int) = (int (*)(SSL *, const void *, int))(uintptr_t)dlsym(RTLD_NEXT, "SSL_write");
    const char *at = getenv("QT_NEW_KEYS_AT");
    if (at != NULL && ++calls == atoi(at)) {
        renewed = 1;
        int done = SSL_version(ssl) == TLS1_3_VERSION ? SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED)
                                                      : SSL_renegotiate(ssl);
        if (done != 1 || SSL_do_handshake(ssl) != 1)
            return -1;
    }
    return next(ssl, bytes, n);
}
