/* engine_words.h: the command lines of the engines. Each adds to argv, which is empty. */
#ifndef SKILL_ENGINE_WORDS_H
#define SKILL_ENGINE_WORDS_H

#include "skill/engine.h"

int words_native(const struct engine_order *order, struct strings *argv, abatis_error *err);
int words_wazero(const struct engine_order *order, struct strings *argv, abatis_error *err);
int words_wazero_interpreter(const struct engine_order *order, struct strings *argv, abatis_error *err);
int words_wazero_compile(const struct engine_order *order, struct strings *argv, abatis_error *err);
int words_wasmtime(const struct engine_order *order, struct strings *argv, abatis_error *err);
int words_wasmtime_compile(const struct engine_order *order, struct strings *argv, abatis_error *err);
int words_iwasm(const struct engine_order *order, struct strings *argv, abatis_error *err);
int words_wasmedge(const struct engine_order *order, struct strings *argv, abatis_error *err);
int words_node(const struct engine_order *order, struct strings *argv, abatis_error *err);

#endif
