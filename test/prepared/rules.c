/* rules.c: without namespaces a job that waits has its rules already: what is put elsewhere before its launch is judged by where it is then. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host.h"

/* Beside the secrets: a tree that may be written, another one, and a denied place. Directories that have just changed are not relied on, so
 * some time passes. */
static abatis_sandbox *open_with_trees(void)
{
        char data[sizeof(secrets) + 16];
        abatis_sandbox *box;

        expect(!system("mkdir -p $PLACES.x/proj/data $PLACES.x/other && echo of-data >$PLACES.x/proj/data/f && "
                       "echo of-other >$PLACES.x/other/f"),
               "the control");
        usleep(50000);
        snprintf(data, sizeof(data), "%s.x/proj/data", secrets);
        box = open_box(1, "filesystem.write", data);
        expect(await_keepers(getpid(), 2), "nobody waits");
        usleep(20000);
        return box;
}

static void close_with_trees(abatis_sandbox *box)
{
        abatis_sandbox_free(box);
        expect(!system("rm -rf $PLACES.x $PLACES/other $PLACES/proj"), "the control");
}

/* The spare is begun while another tree has the name; then that goes where all is denied. */
static void test_names_change_hands(void)
{
        abatis_sandbox *box;
        abatis_job *job;
        char byte = '\n';
        int gate[2];

        begin("a_tree_that_had_the_name_when_a_job_was_begun_is_not_what_it_may_write");
        expect(!pipe2(gate, O_CLOEXEC), "no pipe");
        box = open_with_trees();
        job = start_job(box, "read x", gate[0]);
        expect(!system("mv $PLACES.x/proj/data $PLACES.x/was && mv $PLACES.x/other $PLACES.x/proj/data"),
               "the control");
        usleep(50000);
        expect(write(gate[1], &byte, 1) == 1 && end_job(job) == 0, "the first: %s", text);
        expect(await_keepers(getpid(), 2), "no other was begun");
        usleep(50000);
        expect(!system("mv $PLACES.x/proj/data $PLACES/other && mv $PLACES.x/was $PLACES.x/proj/data"),
               "the control");
        run(box, "cat $PLACES/other/f; echo hacked >>$PLACES/other/f; cat $PLACES.x/proj/data/f; "
                 "echo fine >$PLACES.x/proj/data/g && cat $PLACES.x/proj/data/g");
        expect(!strstr(text, "of-other") && strstr(text, "of-data\nfine\n"), "it has: %s", text);
        expect(!system("! grep -q hacked $PLACES/other/f"), "it was written");
        close(gate[0]);
        close(gate[1]);
        close_with_trees(box);
        end();
}

static void test_links_appear(void)
{
        abatis_sandbox *box;

        begin("a_link_that_came_into_the_way_since_a_job_was_begun_is_not_followed");
        box = open_with_trees();
        expect(!system("mv $PLACES.x/proj $PLACES/proj && ln -s $PLACES/proj $PLACES.x/proj"), "the control");
        run(box, "cat $PLACES/proj/data/f; echo hacked >>$PLACES/proj/data/f");
        expect(!strstr(text, "of-data"), "it has: %s", text);
        expect(!system("! grep -q hacked $PLACES/proj/data/f"), "it was written");
        close_with_trees(box);
        end();
}

/* As those who tidy up in /tmp do. */
static void test_directory_is_removed(void)
{
        abatis_sandbox *box;

        begin("a_job_whose_directory_was_removed_while_it_waited_has_another");
        usleep(50000);
        box = open_box(1, NULL, NULL);
        expect(await_keepers(getpid(), 2), "nobody waits");
        usleep(20000);
        expect(!system("find /tmp -maxdepth 1 -user $(id -u) -name 'abatis-*' -type d -empty -exec rmdir {} +"),
               "the control");
        expect(run(box, "touch $TMPDIR/x && echo fine") == 0 && !strcmp(text, "fine\n"), "%s", text);
        abatis_sandbox_free(box);
        end();
}

void test_rules_made_ahead(void)
{
        setenv("PLACES", secrets, 1); /* a name that is passed on */
        test_names_change_hands();
        test_links_appear();
        test_directory_is_removed();
}
