/* order.h: what a client wants to have run, in whatever language it was asked for. */
#ifndef SERVER_ORDER_H
#define SERVER_ORDER_H

#include <jansson.h>
#include <stdbool.h>

#include "abatis.h"

struct order {
        json_t *root;          /* owned: what it was made of, whose strings some of the others are */
        abatis_policy *policy; /* owned */
        abatis_skill *skill;   /* owned: whose strings those of argv are, where it is one; or NULL */
        const char **argv;     /* owned, its strings are borrowed; NULL-terminated */
        char **environment;    /* owned one by one; NULL: our own */
        char *cwd;             /* owned; NULL: the library chooses */
        char *decoded;         /* owned: what `input` may be borrowed from */
        const char *input;     /* borrowed; NULL: nothing is read */
        size_t input_length;
        const char *context; /* borrowed, or NULL */
        bool is_best_effort;
        bool is_merged;   /* stderr is part of stdout */
        bool is_streamed; /* output goes out as it comes, and is not kept */
};

void order_done(struct order *order);
/* The command of its skill, whose policy is made, in its argv and cwd. */
int order_take_skill(struct order *order, const char *const *arguments, abatis_error *err);

#endif
