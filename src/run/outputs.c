/* outputs.c: moves both outputs of a job on, and at its end what is left of them. */
#include "run/outputs.h"

/* Every process that could write is gone, so what is in the pipes now is all there will be (in a shared session: all that is wanted).
 * A reader that is slow gets it, but nobody waits for the reader of a command that was killed. */
static bool settle_stream(const struct outputs *outputs, int index)
{
        struct stream *stream = &outputs->streams[index];

        if (outputs->drain)
                outputs->drain(outputs->job, stream);
        else
                stream_advance(stream, true);
        if (stream->state == STREAM_READS || outputs->was_killed)
                stream_drop(stream);
        return stream->state == STREAM_CLOSED;
}

void outputs_settle(const struct outputs *outputs)
{
        settle_stream(outputs, 0);
        settle_stream(outputs, 1);
}

int outputs_advance(const struct outputs *outputs, bool *are_done, abatis_error *err)
{
        *are_done = true;
        for (int i = 0; i < 2; i++) {
                int r;

                if (outputs->is_over)
                        *are_done &= settle_stream(outputs, i);
                else if (outputs->streams[i].state != STREAM_CLOSED)
                        stream_advance(&outputs->streams[i], false);
                r = outputs->watch(outputs->job, i, err);
                if (r < 0)
                        return r;
        }
        return 0;
}
