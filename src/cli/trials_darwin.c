/* trials_darwin.c: doctor --test, of which there is none on macOS yet. */
#include "cli/cli.h"
#include "cli/trials.h"

static const char elsewhere[] =
        "doctor --test is for Linux yet; here, test/seatbelt/facts.sh of the sources does it";

int trials_run(json_t *report)
{
        (void)report;
        return complain("%s", elsewhere);
}

int cmd_doctor_inside(char **argv)
{
        (void)argv;
        return complain("%s", elsewhere);
}
