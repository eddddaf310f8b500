/* connection.h: what the relay tells, as the public header has it. */
#ifndef PLAN_CONNECTION_H
#define PLAN_CONNECTION_H

#include "abatis.h"
#include "plan/relay.h"

void connection_describe(const struct relay_event *event, abatis_connection *out);
/* As much of it as out->size says. */
void connection_give(const struct relay_event *event, abatis_connection *out);

#endif
