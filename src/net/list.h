/* list.h: things in a row, each of which can leave it without knowing which row it is. */
#ifndef NET_LIST_H
#define NET_LIST_H

#include <stdbool.h>

/* The first member of whatever stands in a row, and the row's own head. */
struct link {
        struct link *previous, *next;
};

static inline void list_init(struct link *head)
{
        head->previous = head->next = head;
}

static inline bool list_is_empty(const struct link *head)
{
        return head->next == head;
}

static inline void list_append(struct link *head, struct link *link)
{
        link->previous = head->previous;
        link->next = head;
        head->previous->next = link;
        head->previous = link;
}

static inline void list_remove(struct link *link)
{
        link->previous->next = link->next;
        link->next->previous = link->previous;
}

/* All of them, in their order, to a head that is new. */
static inline void list_move(struct link *from, struct link *to)
{
        list_init(to);
        if (list_is_empty(from))
                return;
        *to = *from;
        to->next->previous = to->previous->next = to;
        list_init(from);
}

#endif
