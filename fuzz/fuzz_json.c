/* fuzz_json.c: whatever is read as JSON is refused with a place, or becomes a tree that is within bounds. */
#include "tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        check_document(DOCUMENT_JSON, data, size);
        return 0;
}
