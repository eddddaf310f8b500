/* verify.c: abatis-verify: whether a signature of some bytes is that of an Ed25519 key. A program of its own, so that abatis and its library
 * need no OpenSSL.
 *
 *   abatis-verify KEY.pem SIGNATURE <BYTES       the signature is 64 bytes as base64; 0: it is, 1: it is not, 2: that cannot be said
 */
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { GOOD, BAD, CANNOT };
enum { SIGNATURE_SIZE = 64, BYTES_MAX = 1024 * 1024 };

static int complain(const char *what)
{
        fprintf(stderr, "abatis-verify: %s\n", what);
        return CANNOT;
}

/* A public key is not encrypted; who is asked for a password would wait for ever. */
static int refuse_password(char *out, int size, int is_written, void *user)
{
        (void)out;
        (void)size;
        (void)is_written;
        (void)user;
        return -1;
}

static EVP_PKEY *read_key(const char *path)
{
        FILE *file = fopen(path, "re");
        EVP_PKEY *key = file ? PEM_read_PUBKEY(file, NULL, refuse_password, NULL) : NULL;

        if (file)
                fclose(file);
        if (key && EVP_PKEY_id(key) == EVP_PKEY_ED25519)
                return key;
        EVP_PKEY_free(key);
        return NULL;
}

/* The length, or -1: it cannot be read, or is too long. */
static long read_bytes(unsigned char *out)
{
        size_t length = fread(out, 1, BYTES_MAX + 1, stdin);

        return ferror(stdin) || length > BYTES_MAX ? -1 : (long)length;
}

static int verify(EVP_PKEY *key, const struct text *signature, const unsigned char *bytes, size_t length)
{
        EVP_MD_CTX *context = EVP_MD_CTX_new();
        int is_ready = context ? EVP_DigestVerifyInit(context, NULL, NULL, NULL, key) : 0;
        int answer = is_ready == 1 ? EVP_DigestVerify(context, (const unsigned char *)signature->data,
                                                      signature->length, bytes, length)
                                   : -1;

        EVP_MD_CTX_free(context);
        if (is_ready != 1)
                return complain("OpenSSL cannot verify");
        return answer == 1 ? GOOD : BAD;
}

int main(int argc, char **argv)
{
        static unsigned char bytes[BYTES_MAX + 1];
        OWN_TEXT struct text signature = { 0 };
        EVP_PKEY *key;
        long length;
        int result;

        if (argc != 3)
                return complain("usage: abatis-verify KEY.pem SIGNATURE <BYTES");
        /* Not what a configuration file would load. */
        if (!OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL))
                return complain("OpenSSL does not start");
        key = read_key(argv[1]);
        if (!key)
                return complain("this is not the PEM file of an Ed25519 public key");
        length = read_bytes(bytes);
        if (length < 0)
                result = complain("cannot read the bytes, or they are more than 1 MiB");
        else if (!text_add_decoded(&signature, argv[2], strlen(argv[2])) ||
                 signature.length != SIGNATURE_SIZE)
                result = complain("a signature is 64 bytes as base64");
        else
                result = verify(key, &signature, bytes, (size_t)length);
        EVP_PKEY_free(key);
        return result;
}
