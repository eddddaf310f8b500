/* bpf.h: a classic BPF machine as seccomp uses it: absolute loads from struct seccomp_data, jumps, and returns. */
#ifndef UNIT_BPF_H
#define UNIT_BPF_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>

/* What the program returns for this system call; *steps (may be NULL) counts the instructions it took. Ends the test
 * when the program leaves its bounds or uses an instruction that the kernel's seccomp does not take. */
uint32_t bpf_run(const struct sock_filter *code, size_t length, const struct seccomp_data *data,
                 unsigned *steps);

#endif
