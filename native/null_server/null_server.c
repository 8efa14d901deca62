/* SPDX-License-Identifier: Apache-2.0 */
/* A server that answers every command at once: OK, or a prepared statement for PREPARE. It is used to measure the
 * replay itself. Several worker threads listen on the same socket, each with its own epoll.
 *
 *   epoll ─► listener: accept, greet                                         ─► list of peers
 *         ─► peer: read, then answer at once, or add to the list of late answers with its time
 *         ─► eventfd: the server stops
 *   between two waits: send the late answers that are due
 *
 * The server only keeps the parts of a packet that the answer needs. A connection therefore takes a few hundred
 * bytes. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "null_server/null_protocol.h"
#include "querytape_engine.h"

enum { EVENTS = 256, READ_BYTES = 65536, BACKLOG = 4096 };

struct peer {
    struct peer *next, *before; /* neighbours in the worker's list of peers */
    struct peer *later;         /* next in the list of delayed answers, oldest first */
    int fd;
    struct qt_null_peer protocol;
    int64_t due_ns;
    uint32_t waiting; /* bytes of `answer` that are due later */
    uint8_t answer[32];
};

struct worker {
    struct qt_null_server *server;
    pthread_t thread;
    int epoll, started;
    struct peer *peers, *first_late, *last_late;
    _Atomic uint64_t answers;
};

struct qt_null_server {
    int listener, stop_event, port;
    int64_t delay_ns;
    _Atomic int stop;
    _Atomic uint32_t connections;
    int n_workers;
    struct worker worker[];
};

static void drop_peer(struct worker *w, struct peer *p)
{
    if (p->before != NULL)
        p->before->next = p->next;
    else
        w->peers = p->next;
    if (p->next != NULL)
        p->next->before = p->before;
    close(p->fd);
    free(p);
}

/* Sends an answer. Answers are small and the client waits for them. A client whose socket cannot take an answer at once
 * is dropped. */
static int send_answer(struct worker *w, struct peer *p, const uint8_t *bytes, size_t n)
{
    atomic_fetch_add_explicit(&w->answers, 1, memory_order_relaxed);
    return send(p->fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)n ? 0 : -1;
}

static void accept_one(struct worker *w)
{
    struct qt_null_server *s = w->server;
    uint8_t greeting[QT_NULL_ROOM];
    struct epoll_event ev = {.events = EPOLLIN};
    int fd = accept4(s->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), yes = 1;
    struct peer *p;

    if (fd < 0)
        return;
    p = calloc(1, sizeof *p);
    if (p == NULL) {
        close(fd);
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    p->fd = fd;
    p->next = w->peers;
    if (w->peers != NULL)
        w->peers->before = p;
    w->peers = p;
    ev.data.ptr = p;
    size_t n = qt_null_make_greeting(atomic_fetch_add(&s->connections, 1) + 1, greeting);
    if (send(fd, greeting, n, MSG_NOSIGNAL) != (ssize_t)n || epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &ev) != 0)
        drop_peer(w, p);
}

/* Queues an answer. All answers have the same delay, so the queue is in the order of their arrival. If an answer is
 * already queued, the next command is answered at once. */
static int answer_later(struct worker *w, struct peer *p, const uint8_t *bytes, size_t n)
{
    if (p->waiting > 0 || n > sizeof p->answer)
        return send_answer(w, p, bytes, n);
    memcpy(p->answer, bytes, n);
    p->waiting = (uint32_t)n;
    p->due_ns = qt_now() + w->server->delay_ns;
    p->later = NULL;
    if (w->last_late != NULL)
        w->last_late->later = p;
    else
        w->first_late = p;
    w->last_late = p;
    return 0;
}

static void remove_late(struct worker *w, struct peer *gone)
{
    struct peer *before = NULL;
    for (struct peer *p = w->first_late; p != NULL; before = p, p = p->later)
        if (p == gone) {
            if (before != NULL)
                before->later = p->later;
            else
                w->first_late = p->later;
            if (w->last_late == p)
                w->last_late = before;
            return;
        }
}

static void read_peer(struct worker *w, struct peer *p, uint8_t *buffer)
{
    uint8_t out[QT_NULL_ROOM];
    ssize_t got = recv(p->fd, buffer, READ_BYTES, 0);
    size_t at = 0, used;
    int failed = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);

    while (!failed && got > 0 && at < (size_t)got && p->protocol.state != QT_NULL_ENDED) {
        int was_login = p->protocol.state == QT_NULL_LOGIN;
        size_t n = qt_null_take(&p->protocol, buffer + at, (size_t)got - at, &used, out);
        at += used;
        if (n > 0)
            failed = (w->server->delay_ns > 0 && !was_login && p->protocol.pending == 0 ? answer_later : send_answer)(
                         w, p, out, n) != 0;
        while (!failed && p->protocol.pending > 0) {
            n = qt_null_make_definitions(&p->protocol, out);
            failed = send(p->fd, out, n, MSG_NOSIGNAL) != (ssize_t)n;
        }
    }
    if (failed || p->protocol.state == QT_NULL_ENDED) {
        if (p->waiting > 0)
            remove_late(w, p);
        drop_peer(w, p);
    }
}

/* Sends the answers that are due. Returns how long to sleep in milliseconds; -1 = until the next event. */
static int send_late_answers(struct worker *w)
{
    int64_t now = qt_now();
    while (w->first_late != NULL && w->first_late->due_ns <= now) {
        struct peer *p = w->first_late;
        w->first_late = p->later;
        if (w->first_late == NULL)
            w->last_late = NULL;
        size_t n = p->waiting;
        p->waiting = 0;
        if (send_answer(w, p, p->answer, n) != 0)
            drop_peer(w, p);
    }
    if (w->first_late == NULL)
        return -1;
    return (int)((w->first_late->due_ns - now + 999999) / 1000000);
}

static void *serve(void *arg)
{
    struct worker *w = arg;
    struct epoll_event events[EVENTS];
    uint8_t *buffer = malloc(READ_BYTES);

    while (buffer != NULL && !atomic_load(&w->server->stop)) {
        int n = epoll_wait(w->epoll, events, EVENTS, send_late_answers(w));
        for (int i = 0; i < n; i++) {
            if (events[i].data.ptr == NULL)
                accept_one(w);
            else if (events[i].data.ptr != w->server)
                read_peer(w, events[i].data.ptr, buffer);
        }
    }
    while (w->peers != NULL)
        drop_peer(w, w->peers);
    free(buffer);
    return NULL;
}

static int listen_on(struct qt_null_server *s, const char *socket_path, struct qt_error *err)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    socklen_t len = sizeof in;
    int failed;

    if (socket_path != NULL && strlen(socket_path) >= sizeof un.sun_path)
        return qt_fail(err, QT_EINVALID, "%s: the path is too long for a Unix socket", socket_path);
    s->listener = socket(socket_path != NULL ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (socket_path != NULL) {
        memcpy(un.sun_path, socket_path, strlen(socket_path));
        failed = s->listener < 0 || bind(s->listener, (struct sockaddr *)&un, sizeof un) != 0;
    } else {
        failed = s->listener < 0 || bind(s->listener, (struct sockaddr *)&in, sizeof in) != 0;
    }
    if (failed || listen(s->listener, BACKLOG) != 0)
        return qt_fail(err, QT_EIO, "the null server cannot listen: %s", strerror(errno));
    if (socket_path == NULL && getsockname(s->listener, (struct sockaddr *)&in, &len) == 0)
        s->port = ntohs(in.sin_port);
    return QT_OK;
}

static int start_worker(struct qt_null_server *s, struct worker *w, struct qt_error *err)
{
    struct epoll_event accepts = {.events = EPOLLIN | EPOLLEXCLUSIVE, .data.ptr = NULL};
    struct epoll_event ends = {.events = EPOLLIN, .data.ptr = s};
    int error;

    w->server = s;
    w->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (w->epoll < 0 || epoll_ctl(w->epoll, EPOLL_CTL_ADD, s->listener, &accepts) != 0 ||
        epoll_ctl(w->epoll, EPOLL_CTL_ADD, s->stop_event, &ends) != 0)
        return qt_fail(err, QT_EIO, "the null server cannot wait for clients: %s", strerror(errno));
    error = pthread_create(&w->thread, NULL, serve, w);
    if (error != 0)
        return qt_fail(err, QT_EIO, "cannot start a thread for the null server: %s", strerror(error));
    w->started = 1;
    return QT_OK;
}

struct qt_null_server *qt_null_start(const char *socket_path, int32_t threads, int64_t delay_ns, struct qt_error *err)
{
    struct qt_null_server *s;

    if (threads < 1 || threads > 256 || delay_ns < 0) {
        qt_fail(err, QT_EINVALID, "expected 1 to 256 threads and a delay of at least 0 ns");
        return NULL;
    }
    s = calloc(1, sizeof *s + (size_t)threads * sizeof(struct worker));
    if (s == NULL) {
        qt_fail(err, QT_ENOMEM, "out of memory for a null server");
        return NULL;
    }
    s->delay_ns = delay_ns;
    s->n_workers = threads;
    s->listener = -1;
    s->stop_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    for (int i = 0; i < threads; i++)
        s->worker[i].epoll = -1;
    if (listen_on(s, socket_path, err) != QT_OK) {
        qt_null_stop(s);
        return NULL;
    }
    for (int i = 0; i < threads; i++)
        if (start_worker(s, &s->worker[i], err) != QT_OK) {
            qt_null_stop(s);
            return NULL;
        }
    return s;
}

int32_t qt_null_port(const struct qt_null_server *s) { return s->port; }

uint64_t qt_null_answers(struct qt_null_server *s)
{
    uint64_t sum = 0;
    for (int i = 0; i < s->n_workers; i++)
        sum += atomic_load_explicit(&s->worker[i].answers, memory_order_relaxed);
    return sum;
}

void qt_null_stop(struct qt_null_server *s)
{
    uint64_t one = 1;
    if (s == NULL)
        return;
    atomic_store(&s->stop, 1);
    if (s->stop_event >= 0 && write(s->stop_event, &one, sizeof one) < 0)
        one = 0; /* the counter is full, so all workers are already awake */
    for (int i = 0; i < s->n_workers; i++) {
        if (s->worker[i].started)
            pthread_join(s->worker[i].thread, NULL);
        if (s->worker[i].epoll >= 0)
            close(s->worker[i].epoll);
    }
    if (s->listener >= 0)
        close(s->listener);
    if (s->stop_event >= 0)
        close(s->stop_event);
    free(s);
}
