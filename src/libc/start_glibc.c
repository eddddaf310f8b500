/* start_glibc.c: keeps glibc's static start-up code from looking for a library path that a static program never uses.
 *
 * Before main, a static glibc program calls _dl_get_origin(), which reads /proc/self/exe so that dlopen could expand
 * $ORIGIN. abatis never calls dlopen. The lookup instantiates this process in /proc: 40 of the 250 microseconds that
 * a launch has. Linked only into the static executable; with any other libc nothing calls it. */

const char *_dl_get_origin(void);

const char *_dl_get_origin(void)
{
        return (const char *)-1; /* glibc's own answer for "unknown" */
}
