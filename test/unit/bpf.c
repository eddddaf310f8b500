/* bpf.c: a classic BPF machine as seccomp uses it. */
#include "bpf.h"

#include <string.h>

#include "scratch.h"

static uint32_t load(const struct seccomp_data *data, uint32_t offset)
{
        uint32_t word;

        /* The kernel takes aligned words inside the struct and nothing else. */
        assert_true(offset % 4 == 0 && offset + 4 <= sizeof(*data));
        memcpy(&word, (const char *)data + offset, sizeof(word));
        return word;
}

static uint32_t calculate(uint16_t operation, uint32_t left, uint32_t right)
{
        switch (operation) {
        case BPF_ADD:
                return left + right;
        case BPF_SUB:
                return left - right;
        case BPF_AND:
                return left & right;
        case BPF_OR:
                return left | right;
        case BPF_XOR:
                return left ^ right;
        case BPF_LSH:
                return left << (right & 31);
        case BPF_RSH:
                return left >> (right & 31);
        }
        fail_msg("arithmetic 0x%x is not known here", operation);
        return 0;
}

static int compare(uint16_t operation, uint32_t left, uint32_t right)
{
        switch (operation) {
        case BPF_JEQ:
                return left == right;
        case BPF_JGT:
                return left > right;
        case BPF_JGE:
                return left >= right;
        case BPF_JSET:
                return (left & right) != 0;
        }
        fail_msg("comparison 0x%x is not known here", operation);
        return 0;
}

uint32_t bpf_run(const struct sock_filter *code, size_t length, const struct seccomp_data *data,
                 unsigned *steps)
{
        uint32_t accumulator = 0, index = 0;
        unsigned count = 0;

        for (size_t at = 0;; at++) {
                const struct sock_filter *instruction = &code[at];
                uint32_t operand = instruction->k;

                /* Jumps go forward only, so the walk ends; past the end means that a return is missing. */
                if (at >= length)
                        fail_msg("the program runs past its end at %zu", at);
                count++;
                if (BPF_CLASS(instruction->code) == BPF_ALU || BPF_CLASS(instruction->code) == BPF_JMP)
                        operand = BPF_SRC(instruction->code) == BPF_X ? index : instruction->k;
                switch (BPF_CLASS(instruction->code)) {
                case BPF_LD:
                        assert_int_equal(instruction->code, BPF_LD | BPF_W | BPF_ABS);
                        accumulator = load(data, instruction->k);
                        break;
                case BPF_ALU:
                        accumulator = calculate(BPF_OP(instruction->code), accumulator, operand);
                        break;
                case BPF_JMP:
                        if (BPF_OP(instruction->code) == BPF_JA)
                                at += instruction->k;
                        else
                                at += compare(BPF_OP(instruction->code), accumulator, operand)
                                              ? instruction->jt
                                              : instruction->jf;
                        break;
                case BPF_MISC:
                        if (BPF_MISCOP(instruction->code) == BPF_TAX)
                                index = accumulator;
                        else
                                accumulator = index;
                        break;
                case BPF_RET:
                        if (steps)
                                *steps = count;
                        return BPF_RVAL(instruction->code) == BPF_A ? accumulator : instruction->k;
                default:
                        fail_msg("instruction 0x%x at %zu is not known here", instruction->code, at);
                }
        }
}
