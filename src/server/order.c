/* order.c: what a client wants to have run, in whatever language it was asked for. */
#include "server/order.h"

#include <stdlib.h>

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
