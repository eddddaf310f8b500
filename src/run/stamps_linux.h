/* stamps_linux.h: whether Landlock's rules, made before the launch, still fit what is there.
 *
 * A rule belongs to a file or a directory, not to its name, and where rights go to the entries of a directory, a newcomer has none. So
 * rules that were made ahead are too old once a path leads elsewhere, or one of those directories has changed. */
#ifndef RUN_STAMPS_LINUX_H
#define RUN_STAMPS_LINUX_H

#include "run/resources_linux.h"

/* Of a job whose command has made its rules and written down what for. Its own directory must be there, too. */
bool stamps_are_current(const struct child_job *job, const struct resources *resources);

#endif
