/* fuzz_yaml.c: whatever is read as YAML is refused with a place, or becomes a tree that is within bounds. */
#include "tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        check_document(DOCUMENT_YAML, data, size);
        return 0;
}
