/* skill_windows.c: no engine for WebAssembly: nothing holds a skill on Windows. */
#include "abatis.h"
#include "base/error.h"
#include "base/text.h"

int abatis_skill_engines(abatis_format format, char **out, abatis_error *err)
{
        OWN_TEXT struct text text = { 0 };

        text_add(&text, format == ABATIS_JSON ? "[]" : "");
        return text_take(&text, out, err);
}
