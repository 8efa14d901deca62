/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

struct peer {
    struct fake_server *server;
    int fd, number, status, trapped, spoiled;
    unsigned char seq;
    int files;       /* number of files that the prepared statement requests */
    char out[32768]; /* bytes not yet sent */
    size_t out_len;
};

int64_t fake_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int read_all(int fd, unsigned char *to, size_t n)
{
    while (n > 0) {
        ssize_t got = recv(fd, to, n, 0);
        if (got <= 0)
            return 0;
        to += got;
        n -= (size_t)got;
    }
    return 1;
}

/* Returns one packet, which the caller frees, or NULL at the end of the connection. */
static char *read_packet(struct peer *p, size_t *len)
{
    unsigned char head[4];
    char *body;

    if (!read_all(p->fd, head, 4))
        return NULL;
    *len = head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16;
    p->seq = (unsigned char)(head[3] + 1);
    body = calloc(1, *len + 1);
    CHECK(body != NULL);
    if (read_all(p->fd, (unsigned char *)body, *len))
        return body;
    free(body);
    return NULL;
}

static void send_whole(struct peer *p)
{
    if (p->out_len > 0)
        send(p->fd, p->out, p->out_len, MSG_NOSIGNAL);
    p->out_len = 0;
}

static void write_packet(struct peer *p, const void *bytes, size_t len)
{
    unsigned char head[] = {(unsigned char)len, (unsigned char)(len >> 8), 0, p->seq++};
    CHECK(p->out_len + sizeof head + len <= sizeof p->out);
    memcpy(p->out + p->out_len, head, sizeof head);
    memcpy(p->out + p->out_len + sizeof head, bytes, len);
    p->out_len += sizeof head + len;
    if (!p->server->whole)
        send_whole(p);
}

static void write_ok(struct peer *p, int affected, int warnings, int status)
{
    unsigned char ok[] = {0, (unsigned char)affected, 0, (unsigned char)(status | p->status),
                          0, (unsigned char)warnings, 0};
    write_packet(p, ok, sizeof ok);
}

static void write_error(struct peer *p, int code, const char *text)
{
    char out[256] = {(char)0xff, (char)code, (char)(code >> 8)};
    int len = snprintf(out + 3, sizeof out - 3, "#42000%s", text);
    write_packet(p, out, (size_t)len + 3);
}

static void write_rows(struct peer *p, int rows, int status)
{
    static const char COLUMN[] = "\3def\0\0\0\1c\0\x0c\x21\0\x0a\0\0\0\xfd\0\0\0\0\0";
    unsigned char eof[] = {0xfe, 0, 0, (unsigned char)(status | p->status), 0};
    write_packet(p, "\1", 1);
    write_packet(p, COLUMN, sizeof COLUMN - 1);
    write_packet(p, eof, sizeof eof);
    for (int i = 0; i < rows; i++)
        write_packet(p, i % 2 == 0 ? "\3one" : "\3two", 4);
    if (status >= 0)
        write_packet(p, eof, sizeof eof);
}

static void write_result(struct peer *p, int status) { write_rows(p, 2, status); }

static void greet(struct peer *p)
{
    static const char TAIL[] = "\0"
                               "12345678"
                               "\0"
                               "\x0d\xa2"
                               "\x21"
                               "\2\0"
                               "\x0a\0"
                               "\x15"
                               "\0\0\0\0\0\0\0\0\0\0"
                               "123456789012"
                               "\0"
                               "mysql_native_password";
    char out[128] = "\x0a"
                    "5.7.0-fake";
    size_t at = strlen(out) + 1;

    memset(out + at, 0, 4);
    out[at] = (char)p->number;
    out[at + 1] = (char)(p->number >> 8);
    at += 4;
    memcpy(out + at, TAIL + 1, sizeof TAIL - 1);
    p->seq = 0;
    write_packet(p, out, at + sizeof TAIL - 1);
}

static void note(struct peer *p, const char *packet, size_t len)
{
    struct fake_server *s = p->server;
    struct fake_entry *e;

    pthread_mutex_lock(&s->lock);
    if (s->n == s->space) {
        s->space = s->space == 0 ? 64 : s->space * 2;
        s->entry = realloc(s->entry, s->space * sizeof *s->entry);
        CHECK(s->entry != NULL);
    }
    e = &s->entry[s->n++];
    e->connection = p->number;
    e->command = (unsigned char)packet[0];
    e->at_ns = fake_now();
    e->len = len - 1;
    e->bytes = calloc(1, len);
    CHECK(e->bytes != NULL);
    memcpy(e->bytes, packet + 1, len - 1);
    pthread_mutex_unlock(&s->lock);
}

/* Requests n files, with one result for each. Returns 0 if the connection must be closed. */
static int ask_for_files(struct peer *p, int n)
{
    for (int i = 0; i < n; i++) {
        char *packet, kept[256] = {(char)0xfb};
        size_t len = 1;
        write_packet(p, "\xfbname", 5);
        send_whole(p);
        while (len > 0) {
            if ((packet = read_packet(p, &len)) == NULL)
                return 0;
            CHECK(len < sizeof kept);
            memcpy(kept + 1, packet, len);
            note(p, kept, len + 1);
            free(packet);
        }
        write_ok(p, 1, 0, i + 1 < n ? 8 : 0);
    }
    return 1;
}

/* Waits 5 ms. Returns 0 if the client has disconnected. */
static int waits(struct peer *p)
{
    struct pollfd f = {.fd = p->fd, .events = POLLIN};
    return poll(&f, 1, 5) == 0;
}

static int kills_of(struct peer *p)
{
    char text[32];
    snprintf(text, sizeof text, "KILL QUERY %d", p->number);
    return fake_count(p->server, 3, text);
}

/* Replies when the test allows it or a KILL arrives. Returns 0 if the connection must be closed. */
static int answer_later(struct peer *p, const char *sql)
{
    int is_hold = strncmp(sql, "HOLD ", 5) == 0, before = kills_of(p);
    while (is_hold ? p->server->let_go < atoi(sql + 5) : kills_of(p) == before)
        if (!waits(p))
            return 0;
    if (is_hold)
        write_ok(p, 0, 0, 0);
    else
        write_error(p, 1317, "interrupted");
    return 1;
}

/* Returns 0 if the connection must be closed. */
static int answer_query(struct peer *p, const char *sql)
{
    if (strncmp(sql, "SELECT", 6) == 0) {
        write_result(p, 0);
    } else if (strncmp(sql, "SLEEP ", 6) == 0) {
        struct timespec t = {.tv_sec = atoi(sql + 6) / 1000, .tv_nsec = atoi(sql + 6) % 1000 * 1000000L};
        nanosleep(&t, NULL);
        write_ok(p, 0, 0, 0);
    } else if (strcmp(sql, "ERROR") == 0) {
        write_error(p, 1064, "no such words \xff");
    } else if (strcmp(sql, "DROP") == 0) {
        p->server->refuses |= p->server->leaves;
        return 0;
    } else if (strncmp(sql, "HOLD ", 5) == 0 || strcmp(sql, "UNTIL KILL") == 0) {
        return answer_later(p, sql);
    } else if (strcmp(sql, "HANG") == 0) {
        struct pollfd f = {.fd = p->fd, .events = POLLIN};
        poll(&f, 1, -1);
        return 0;
    } else if (strncmp(sql, "ROWS ", 5) == 0) {
        write_rows(p, atoi(sql + 5), 0);
    } else if (strcmp(sql, "BROKEN") == 0) {
        write_rows(p, 3, -1);
        write_error(p, 1317, "interrupted");
    } else if (strcmp(sql, "CHANGED") == 0) {
        write_packet(p, "\0\1\0\2\x40\1\0\0\0", 9);
    } else if (strcmp(sql, "WARN") == 0) {
        write_ok(p, 3, 2, 0);
    } else if (strncmp(sql, "FILES ", 6) == 0) {
        return ask_for_files(p, atoi(sql + 6));
    } else if (strcmp(sql, "CALL") == 0) {
        write_result(p, 8);
        write_result(p, 8);
        write_ok(p, 0, 0, 0);
    } else if (p->trapped && strcmp(sql, "COMMIT") == 0) {
        return 0;
    } else if (p->spoiled && strcmp(sql, "COMMIT") == 0) {
        p->spoiled = 0;
        p->status = 2;
        write_error(p, 1064, "not committed");
    } else {
        p->trapped = strcmp(sql, "TRAP") == 0;
        p->spoiled = strcmp(sql, "SPOIL") == 0;
        p->status = strcmp(sql, "BEGIN") == 0 || p->trapped || p->spoiled ? 1
                    : strcmp(sql, "COMMIT") == 0                          ? 2
                    : strncmp(sql, "SET autocommit=", 15) == 0            ? (sql[15] == '1') * 2
                                                                          : p->status;
        write_ok(p, 1, 0, 0);
    }
    return 1;
}

/* Every prepared statement has the id 7 and as many parameters as `?` characters. */
static void answer_prepare(struct peer *p, const char *sql)
{
    static const char COLUMN[] = "\3def\0\0\0\1?\0\x0c\x21\0\x0a\0\0\0\xfd\0\0\0\0\0";
    unsigned char ok[12] = {0, 7}, eof[] = {0xfe, 0, 0, 2, 0};
    if (strcmp(sql, "ERROR") == 0) {
        write_error(p, 1064, "no such words");
        return;
    }
    if (strcmp(sql, "BEGIN") == 0) {
        write_error(p, 1295, "not in the prepared statement protocol");
        return;
    }
    p->files = strncmp(sql, "FILES ", 6) == 0 ? atoi(sql + 6) : 0;
    for (const char *c = sql; *c != 0; c++)
        ok[7] += *c == '?';
    write_packet(p, ok, sizeof ok);
    for (int i = 0; i < ok[7]; i++)
        write_packet(p, COLUMN, sizeof COLUMN - 1);
    if (ok[7] > 0)
        write_packet(p, eof, sizeof eof);
}

static int answer(struct peer *p, const char *packet)
{
    if (packet[0] == p->server->drops)
        return 0;
    if (packet[0] == p->server->fails) {
        write_error(p, 1064, "not here");
        return 1;
    }
    switch (packet[0]) {
    case 0x16:
        answer_prepare(p, packet + 1);
        return 1;
    case 0x17:
        if (p->files > 0)
            return ask_for_files(p, p->files);
        write_ok(p, 0, 0, 0);
        return 1;
    case 0x18: /* long data and close have no reply */
    case 0x19:
        return 1;
    case 1:
        return 0;
    case 3:
        return answer_query(p, packet + 1);
    case 2:
        if (strcmp(packet + 1, "missing") == 0) {
            write_error(p, 1049, "Unknown database 'missing'");
            return 1;
        }
        /* fall through */
    default:
        write_ok(p, 0, 0, 0);
        return 1;
    }
}

static void serve(struct peer *p)
{
    size_t len;
    char *packet;
    int on = 1;

    if (p->server->silent) {
        struct pollfd f = {.fd = p->fd, .events = POLLIN};
        poll(&f, 1, -1);
        return;
    }
    greet(p);
    send_whole(p);
    if ((packet = read_packet(p, &len)) == NULL)
        return;
    free(packet);
    if (p->server->refuses)
        write_error(p, 1045, "Access denied");
    else
        write_ok(p, 0, 0, 0);
    send_whole(p);
    while (on && (packet = read_packet(p, &len)) != NULL) {
        note(p, packet, len);
        on = answer(p, packet);
        send_whole(p);
        free(packet);
    }
}

static void *peer_run(void *arg)
{
    struct peer *p = arg;
    struct fake_server *s = p->server;

    serve(p);
    pthread_mutex_lock(&s->lock);
    s->open_fds[p->number % 4096] = -1;
    close(p->fd);
    s->alive--;
    pthread_cond_broadcast(&s->idle);
    pthread_mutex_unlock(&s->lock);
    free(p);
    return NULL;
}

static void *listener_run(void *arg)
{
    struct fake_server *s = arg;
    int fd, yes = 1;

    while ((fd = accept(s->listen_fd, NULL, NULL)) >= 0) {
        struct peer *p = calloc(1, sizeof *p);
        pthread_t thread;
        CHECK(p != NULL);
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        pthread_mutex_lock(&s->lock);
        *p = (struct peer){.server = s, .fd = fd, .number = ++s->connections, .status = 2};
        s->open_fds[p->number % 4096] = fd;
        s->alive++;
        pthread_mutex_unlock(&s->lock);
        CHECK_INT(pthread_create(&thread, NULL, peer_run, p), 0);
        pthread_detach(thread);
    }
    return NULL;
}

void fake_start(struct fake_server *s)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;

    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->idle, NULL);
    memset(s->open_fds, -1, sizeof s->open_fds);
    s->listen_fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK_INT(bind(s->listen_fd, (struct sockaddr *)&at, sizeof at), 0);
    CHECK_INT(listen(s->listen_fd, 1024), 0);
    CHECK_INT(getsockname(s->listen_fd, (struct sockaddr *)&at, &len), 0);
    s->port = ntohs(at.sin_port);
    CHECK_INT(pthread_create(&s->thread, NULL, listener_run, s), 0);
}

void fake_settle(struct fake_server *s)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 20;
    pthread_mutex_lock(&s->lock);
    while (s->alive > 0 && pthread_cond_timedwait(&s->idle, &s->lock, &until) == 0)
        ;
    pthread_mutex_unlock(&s->lock);
}

void fake_stop(struct fake_server *s)
{
    shutdown(s->listen_fd, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->listen_fd);
    pthread_mutex_lock(&s->lock);
    for (int i = 0; i < 4096; i++)
        if (s->open_fds[i] >= 0)
            shutdown(s->open_fds[i], SHUT_RDWR);
    while (s->alive > 0)
        pthread_cond_wait(&s->idle, &s->lock);
    pthread_mutex_unlock(&s->lock);
    for (size_t i = 0; i < s->n; i++)
        free(s->entry[i].bytes);
    free(s->entry);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->idle);
}

int fake_count(struct fake_server *s, int command, const char *text)
{
    int n = 0;
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->n; i++)
        n += s->entry[i].command == command && (text == NULL || strcmp(s->entry[i].bytes, text) == 0);
    pthread_mutex_unlock(&s->lock);
    return n;
}
