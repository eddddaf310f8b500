/* order.c: what a client wants to have run, in whatever language it was asked for. */
#define _GNU_SOURCE
#include "server/order.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

void order_done(struct order *order)
{
        for (char **variable = order->environment; variable && *variable; variable++)
                free(*variable);
        free(order->environment);
        free(order->argv);
        free(order->cwd);
        free(order->decoded);
        abatis_policy_free(order->policy);
        abatis_skill_free(order->skill);
        json_decref(order->root);
}

int order_take_skill(struct order *order, const char *const *arguments, abatis_error *err)
{
        const char *const *argv = NULL;
        size_t count = 0;
        int r = abatis_skill_command(order->skill, order->policy, arguments, NULL, &argv, err);

        if (r < 0)
                return r;
        while (argv[count])
                count++;
        order->argv = calloc(count + 1, sizeof(*order->argv));
        order->cwd = strdup("/");
        if (!order->argv || !order->cwd)
                return error_memory(err);
        memcpy(order->argv, argv, count * sizeof(*order->argv));
        return 0;
}
