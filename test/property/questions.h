/* questions.h: what is asked in a round: which paths, which access, and what the engine answers. */
#ifndef QUESTIONS_H
#define QUESTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "abatis.h"
#include "scene.h"

/* What an answer is about: the host's own file, or something that the command has instead of it. */
enum place { PLACE_HOST, PLACE_PRIVATE, PLACE_DEVICE };

struct question {
        abatis_access access;
        char *path;         /* owned */
        const char *helper; /* static, or NULL: what must be executable too */
        bool is_gentle;     /* outside, nothing may be made there */
        bool is_at_top;     /* right below a directory that the command has to itself */
        /* the answer */
        int is_allowed;
        bool has_error; /* there was none */
        enum place place;
        char *rule; /* owned */
};

struct questions {
        struct question *items; /* owned */
        size_t count, capacity;
};

void questions_make(struct questions *questions, struct scene *scene);
void questions_ask(struct questions *questions, abatis_policy *policy);
void questions_done(struct questions *questions);

#endif
