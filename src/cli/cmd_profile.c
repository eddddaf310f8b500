/* cmd_profile.c: abatis profile: lists, shows and judges profiles. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static const char help[] =
        "Usage: abatis profile list                     the shipped profiles and yours\n"
        "       abatis profile show NAME                the file itself\n"
        "       abatis profile lint NAME [FLAGS]        what is wrong with the policy it makes here\n"
        "FLAGS are those of 'abatis policy lint'.\n"
        "'abatis run --profile NAME' uses one; yours lie in ~/.config/abatis/profiles/NAME.yaml.\n";

static int list(void)
{
        abatis_error err;
        char *text;
        int r;

        if (abatis_profile_list(&text, &err) < 0)
                return fail(&err);
        r = print_document(text);
        free(text);
        return r;
}

static int show(const char *name)
{
        abatis_error err;
        char *text;
        int r;

        if (!name)
                return complain("usage: abatis profile show NAME");
        if (abatis_profile_text(name, &text, &err) < 0)
                return fail(&err);
        r = print_document(text);
        free(text);
        return r;
}

/* As `policy lint` with this profile. */
static int lint(char **argv)
{
        char word[] = "lint", flag[] = "--profile", **words;
        size_t count = 0;
        int r;

        if (!*argv || **argv == '-')
                return complain("usage: abatis profile lint NAME [FLAGS]");
        while (argv[count])
                count++;
        words = calloc(count + 3, sizeof(*words));
        if (!words)
                return complain("out of memory");
        words[0] = word;
        words[1] = flag;
        memcpy(words + 2, argv, count * sizeof(*words));
        r = cmd_policy(words);
        free(words);
        return r;
}

int cmd_profile(char **argv)
{
        const char *word = *argv ? *argv++ : "";

        if (!strcmp(word, "--help")) {
                printf("%s", help);
                return 0;
        }
        if (!strcmp(word, "list") && !*argv)
                return list();
        if (!strcmp(word, "show") && (!*argv || !argv[1]))
                return show(*argv);
        if (!strcmp(word, "lint"))
                return lint(argv);
        return complain("usage: abatis profile list | show NAME | lint NAME [FLAGS]");
}
