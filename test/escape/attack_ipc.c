/* Attempts to reach the shared memory, queues and semaphores of somebody outside. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <unistd.h>

static int reveal_segment(int id)
{
        if (id < 0)
                return refused("shmget");
        const char *bytes = shmat(id, NULL, SHM_RDONLY);
        if ((intptr_t)bytes == -1)
                return refused("shmat");
        return reveal_bytes(bytes, 64);
}

/* KEY */
static int ipc_shm_key(char **argument)
{
        return reveal_segment(shmget((key_t)strtoul(argument[0], NULL, 0), 0, 0));
}

/* ID: no key is needed when the number is known. */
static int ipc_shm_id(char **argument)
{
        return reveal_segment(number_of(argument[0]));
}

static int ipc_msg(char **argument)
{
        struct {
                long type;
                char text[64];
        } message = { .type = 1, .text = "escaped" };
        int id = msgget((key_t)strtoul(argument[0], NULL, 0), 0);
        return id < 0 ? refused("msgget") : outcome_of(msgsnd(id, &message, 8, IPC_NOWAIT), "msgsnd");
}

static int ipc_sem(char **argument)
{
        struct sembuf operation = { .sem_num = 0, .sem_op = 1 };
        int id = semget((key_t)strtoul(argument[0], NULL, 0), 1, 0);
        return id < 0 ? refused("semget") : outcome_of(semop(id, &operation, 1), "semop");
}

static int ipc_posix_shm(char **argument)
{
        int fd = shm_open(argument[0], O_RDONLY, 0);
        return fd < 0 ? refused("shm_open") : reveal_fd(fd);
}

static int ipc_posix_shm_write(char **argument)
{
        int fd = shm_open(argument[0], O_RDWR, 0);
        return fd < 0 ? refused("shm_open") : outcome_of(ftruncate(fd, 1), "ftruncate");
}

static int ipc_mqueue(char **argument)
{
        mqd_t queue = mq_open(argument[0], O_WRONLY | O_NONBLOCK);
        return queue == (mqd_t)-1 ? refused("mq_open")
                                  : outcome_of(mq_send(queue, "escaped", 8, 0), "mq_send");
}

static int ipc_mqueue_unlink(char **argument)
{
        return outcome_of(mq_unlink(argument[0]), "mq_unlink");
}

const struct attempt ipc_attempts[] = {
        { "ipc_shm_key", 1, ipc_shm_key },
        { "ipc_shm_id", 1, ipc_shm_id },
        { "ipc_msg", 1, ipc_msg },
        { "ipc_sem", 1, ipc_sem },
        { "ipc_posix_shm", 1, ipc_posix_shm },
        { "ipc_posix_shm_write", 1, ipc_posix_shm_write },
        { "ipc_mqueue", 1, ipc_mqueue },
        { "ipc_mqueue_unlink", 1, ipc_mqueue_unlink },
        { NULL, 0, NULL },
};
