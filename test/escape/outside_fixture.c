/* The victims: long-lived processes outside the sandbox which log everything that reaches them. */
#include "outside.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

static int victim_log = -1;
static volatile sig_atomic_t asked_to_end;

static void note_signal(int number)
{
        log_line(victim_log, number == SIGUSR1 ? "signal SIGUSR1\n" : "signal\n");
}

static void ask_to_end(int number)
{
        (void)number;
        asked_to_end = 1;
}

static void end_on_term(void)
{
        struct sigaction action = { .sa_handler = ask_to_end };
        sigaction(SIGTERM, &action, NULL);
}

/* LOG READY: logs each signal; its environment, its cwd and its descriptor 5 are prepared by the runner. */
int play_victim(char **argument)
{
        char text[32];
        victim_log = open_log(argument[0]);
        for (int number = 1; number < NSIG; number++)
                if (number != SIGTERM && number != SIGCHLD)
                        signal(number, note_signal);
        end_with_parent();
        end_on_term();
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
        snprintf(text, sizeof(text), "%d\n", (int)getpid());
        if (publish(argument[1], text) != 0)
                return fail("publish");
        while (!asked_to_end)
                pause();
        return 0;
}

/* PID: what somebody could have changed about a process. */
int show_process(char **argument)
{
        pid_t pid = (pid_t)strtol(argument[0], NULL, 10);
        struct rlimit core = { 0, 0 };
        cpu_set_t cpus;
        CPU_ZERO(&cpus);
        prlimit(pid, RLIMIT_CORE, NULL, &core);
        sched_getaffinity(pid, sizeof(cpus), &cpus);
        printf("alive=%d nice=%d policy=%d cpus=%d core=%llu ioprio=%ld\n", kill(pid, 0),
               getpriority(PRIO_PROCESS, (id_t)pid), sched_getscheduler(pid), CPU_COUNT(&cpus),
               (unsigned long long)core.rlim_cur, syscall(SYS_ioprio_get, 1, pid));
        return 0;
}

static int listen_unix(const char *name, int type)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        socklen_t length =
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name) + (name[0] == '@' ? 0 : 1));
        int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
        snprintf(address.sun_path, sizeof(address.sun_path), "%s", name);
        if (name[0] == '@')
                address.sun_path[0] = '\0';
        if (bind(fd, (struct sockaddr *)&address, length) != 0 ||
            (type == SOCK_STREAM && listen(fd, 16) != 0))
                return -1;
        return fd;
}

static int listen_inet(int family, int type, int *port)
{
        struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_addr = in6addr_loopback };
        struct sockaddr_in four = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        struct sockaddr *address = family == AF_INET ? (struct sockaddr *)&four : (struct sockaddr *)&six;
        socklen_t length = family == AF_INET ? sizeof(four) : sizeof(six);
        int fd = socket(family, type | SOCK_CLOEXEC, 0);
        *port = 0;
        if (fd < 0 || bind(fd, address, length) != 0 || (type == SOCK_STREAM && listen(fd, 16) != 0) ||
            getsockname(fd, address, &length) != 0)
                return -1;
        *port = ntohs(family == AF_INET ? four.sin_port : six.sin6_port);
        return fd;
}

/* A connection alone is an escape already: it is logged before anything is read. */
static void serve(int fd, int is_stream, const char *name, int log)
{
        char bytes[64], text[96];
        if (is_stream) {
                int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
                if (peer >= 0)
                        close(peer);
        } else if (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) < 0) {
                return;
        }
        snprintf(text, sizeof(text), "reached %s\n", name);
        log_line(log, text);
}

/* DIRECTORY LOG READY ABSTRACT: a listener of each kind that a command inside could aim at. */
int play_servers(char **argument)
{
        static const char *const names[] = { "stream.sock", "dgram.sock", "@stream", "@dgram",
                                             "tcp4",        "udp4",       "tcp6",    "udp6" };
        struct pollfd polled[8];
        char path[108], text[512];
        int port[4], log = open_log(argument[1]);
        end_with_parent();
        end_on_term();
        for (int i = 0; i < 4; i++) {
                if (i < 2)
                        snprintf(path, sizeof(path), "%s/%s", argument[0], names[i]);
                else
                        snprintf(path, sizeof(path), "@%s-%s", argument[3], names[i] + 1);
                polled[i].fd = listen_unix(path, i % 2 ? SOCK_DGRAM : SOCK_STREAM);
                if (polled[i].fd < 0)
                        return fail(path);
        }
        for (int i = 0; i < 4; i++)
                polled[4 + i].fd =
                        listen_inet(i < 2 ? AF_INET : AF_INET6, i % 2 ? SOCK_DGRAM : SOCK_STREAM, &port[i]);
        snprintf(text, sizeof(text), "TCP4=%d\nUDP4=%d\nTCP6=%d\nUDP6=%d\n", port[0], port[1], port[2],
                 port[3]);
        if (publish(argument[2], text) != 0)
                return fail("publish");
        for (int i = 0; i < 8; i++)
                polled[i].events = POLLIN;
        while (!asked_to_end) {
                if (poll(polled, 8, -1) <= 0)
                        continue;
                for (int i = 0; i < 8; i++)
                        if (polled[i].revents)
                                serve(polled[i].fd, i % 2 == 0, names[i], log);
        }
        return 0;
}

struct objects {
        key_t key;
        int segment, queue, semaphore, posix;
        char name[64];
        mqd_t messages;
};

static mqd_t open_messages(const char *name)
{
        struct mq_attr attributes = { .mq_maxmsg = 4, .mq_msgsize = 64 };
        return mq_open(name, O_RDWR | O_CREAT | O_NONBLOCK, 0600, &attributes);
}

static int make_objects(struct objects *objects)
{
        objects->key = (key_t)(0x4e000000 | getpid());
        snprintf(objects->name, sizeof(objects->name), "/escape-%d", (int)getpid());
        objects->segment = shmget(objects->key, 4096, IPC_CREAT | IPC_EXCL | 0600);
        objects->queue = msgget(objects->key, IPC_CREAT | IPC_EXCL | 0600);
        objects->semaphore = semget(objects->key, 1, IPC_CREAT | IPC_EXCL | 0600);
        objects->posix = shm_open(objects->name, O_RDWR | O_CREAT | O_EXCL, 0600);
        objects->messages = open_messages(objects->name);
        if (objects->segment < 0 || objects->queue < 0 || objects->semaphore < 0 || objects->posix < 0)
                return -1;
        char *bytes = shmat(objects->segment, NULL, 0);
        if ((intptr_t)bytes == -1)
                return -1;
        memcpy(bytes, SECRET, sizeof(SECRET));
        shmdt(bytes);
        semctl(objects->semaphore, 0, SETVAL, 0);
        return pwrite(objects->posix, SECRET, sizeof(SECRET), 0) == (ssize_t)sizeof(SECRET) ? 0 : -1;
}

static void remove_objects(const struct objects *objects)
{
        shmctl(objects->segment, IPC_RMID, NULL);
        msgctl(objects->queue, IPC_RMID, NULL);
        semctl(objects->semaphore, 0, IPC_RMID);
        shm_unlink(objects->name);
        mq_unlink(objects->name);
}

/* Notes what changed and puts it back, so that the next attempt starts from the same state. */
static void watch_objects(struct objects *objects, int log)
{
        char bytes[128];
        struct stat status;
        if (msgrcv(objects->queue, bytes, sizeof(bytes) - sizeof(long), 0, IPC_NOWAIT) >= 0)
                log_line(log, "message in the queue\n");
        if (semctl(objects->semaphore, 0, GETVAL) > 0) {
                log_line(log, "semaphore raised\n");
                semctl(objects->semaphore, 0, SETVAL, 0);
        }
        if (fstat(objects->posix, &status) == 0 && status.st_size != (off_t)sizeof(SECRET)) {
                log_line(log, "shared memory cut\n");
                if (pwrite(objects->posix, SECRET, sizeof(SECRET), 0) < 0)
                        log_line(log, "and not restored\n");
        }
        if (objects->messages == (mqd_t)-1)
                return;
        if (mq_receive(objects->messages, bytes, sizeof(bytes), NULL) >= 0)
                log_line(log, "message in the POSIX queue\n");
        mqd_t again = mq_open(objects->name, O_RDONLY);
        if (again == (mqd_t)-1) {
                log_line(log, "POSIX queue removed\n");
                mq_close(objects->messages);
                objects->messages = open_messages(objects->name);
        } else {
                mq_close(again);
        }
}

/* LOG READY */
int play_ipc(char **argument)
{
        struct objects objects;
        char text[256];
        int log = open_log(argument[0]);
        end_with_parent();
        end_on_term();
        if (make_objects(&objects) != 0) {
                remove_objects(&objects);
                return fail("make the objects");
        }
        snprintf(text, sizeof(text), "IPC_KEY=%d\nIPC_ID=%d\nIPC_NAME=%s\n", (int)objects.key,
                 objects.segment, objects.name);
        if (publish(argument[1], text) != 0)
                asked_to_end = 1;
        while (!asked_to_end) {
                watch_objects(&objects, log);
                usleep(20 * 1000);
        }
        remove_objects(&objects);
        return 0;
}

/* LOG READY: somebody else's terminal; what is written on it goes to the log. */
int play_terminal(char **argument)
{
        char bytes[256];
        int log = open_log(argument[0]), master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
        end_with_parent();
        end_on_term();
        if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0)
                return fail("open a terminal");
        const char *name = ptsname(master);
        int slave = name ? open(name, O_RDWR | O_NOCTTY | O_CLOEXEC) : -1; /* keeps the terminal alive */
        if (slave < 0 || publish(argument[1], name) != 0)
                return fail("open the terminal's other end");
        while (!asked_to_end) {
                ssize_t length = read(master, bytes, sizeof(bytes));
                if (length > 0 && write(log, bytes, (size_t)length) < 0)
                        return fail("log");
        }
        return 0;
}
