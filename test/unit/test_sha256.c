/* test_sha256.c: the vectors of FIPS 180-4 and NIST, every length round the ends of blocks, and that a processor's own
 * instructions say what plain C says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"
#include "base/sha256_block.h"
#include "base/system.h"
#include "scratch.h"

typedef void add_blocks(uint32_t state[8], const unsigned char *blocks, size_t count);

static unsigned random_below(unsigned end)
{
        static unsigned random = 4343;

        random = random * 1103515245 + 12345;
        return (random >> 16) % end;
}

/* With this way alone, in calls of up to `most` blocks; padded and printed here, without sha256.c. */
static void hash_with(add_blocks *add, unsigned most, const void *bytes, size_t length,
                      char out[SHA256_TEXT_SIZE])
{
        size_t count = (length + 9 + SHA256_BLOCK - 1) / SHA256_BLOCK;
        unsigned char *padded = calloc(count, SHA256_BLOCK);
        struct sha256 hash;

        assert_non_null(padded);
        memcpy(padded, bytes, length);
        padded[length] = 0x80;
        for (size_t i = 0; i < 8; i++)
                padded[count * SHA256_BLOCK - 1 - i] = (unsigned char)((uint64_t)length * 8 >> 8 * i);
        sha256_init(&hash);
        for (size_t done = 0, now; done < count; done += now) {
                now = 1 + random_below(most);
                if (now > count - done)
                        now = count - done;
                add(hash.state, padded + done * SHA256_BLOCK, now);
        }
        for (int i = 0; i < 8; i++)
                snprintf(out + 8 * i, 9, "%08x", hash.state[i]);
        free(padded);
}

static void assert_hash(const void *bytes, size_t length, const char *wanted)
{
        char hash[SHA256_TEXT_SIZE];

        sha256_text(bytes, length, hash);
        assert_string_equal(hash, wanted);
        hash_with(sha256_blocks_plain, 30000, bytes, length, hash);
        assert_string_equal(hash, wanted);
        if (!system_has_sha256())
                return;
        hash_with(sha256_blocks_instructions, 30000, bytes, length, hash);
        assert_string_equal(hash, wanted);
}

static void published_vectors_are_met(void **state)
{
        static const struct {
                const char *text, *hash;
        } vectors[] = {
                { "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
                { "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
                { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
                { "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnop"
                  "qrstnopqrstu",
                  "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(vectors) / sizeof(*vectors); i++)
                assert_hash(vectors[i].text, strlen(vectors[i].text), vectors[i].hash);
        assert_hash("\xbd", 1, "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b");
        assert_hash("\xc9\x8c\x8e\x55", 4,
                    "7abc22c0ae5af26ce93dbb94433a0e0b2e119d014f8e7f65bd56c61ccccd9504");
}

/* The hash of all lengths' hashes, each of so many bytes 'a'; from Python's hashlib. */
static void every_length_round_the_ends_of_blocks_is_right(void **state)
{
        char bytes[300], all[sizeof(bytes) * (SHA256_TEXT_SIZE - 1) + 1];

        (void)state;
        memset(bytes, 'a', sizeof(bytes));
        for (size_t length = 0; length < sizeof(bytes); length++)
                sha256_text(bytes, length, all + length * (SHA256_TEXT_SIZE - 1));
        assert_hash(all, sizeof(all) - 1, "dd21bb91165542678c760dec417a174580c2006e5105a25e373c77dd466cdf00");
}

static void a_million_bytes_are_right(void **state)
{
        char *bytes = malloc(1000000);

        (void)state;
        assert_non_null(bytes);
        memset(bytes, 'a', 1000000);
        assert_hash(bytes, 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
        memset(bytes, 0, 1000000);
        assert_hash(bytes, 1000000, "d29751f2649b32ff572b5e0a9f541ea660a50f94ff0beedfb0b692b924cc8025");
        free(bytes);
}

/* Every way of cutting a text in three, round the ends of two blocks. */
static void pieces_make_the_hash_of_the_whole(void **state)
{
        unsigned char bytes[200];

        (void)state;
        for (size_t i = 0; i < sizeof(bytes); i++)
                bytes[i] = (unsigned char)(i * 7);
        for (size_t length = 0; length < sizeof(bytes); length += 3) {
                char whole[SHA256_TEXT_SIZE], pieces[SHA256_TEXT_SIZE];

                sha256_text(bytes, length, whole);
                for (size_t first = 0; first <= length; first += 5)
                        for (size_t second = first; second <= length; second += 7) {
                                struct sha256 hash;

                                sha256_init(&hash);
                                sha256_add(&hash, bytes, first);
                                sha256_add(&hash, bytes + first, second - first);
                                sha256_add(&hash, bytes + second, length - second);
                                sha256_finish(&hash, pieces);
                                assert_string_equal(pieces, whole);
                        }
        }
}

static void add_in_pieces(const unsigned char *bytes, size_t length, char out[SHA256_TEXT_SIZE])
{
        struct sha256 hash;

        sha256_init(&hash);
        for (size_t done = 0, now; done < length; done += now) {
                now = random_below(random_below(2) ? 1000 : 70);
                if (now > length - done)
                        now = length - done;
                sha256_add(&hash, bytes + done, now);
        }
        sha256_finish(&hash, out);
}

/* Each text also starts at a random address: neither way may need an aligned one. */
static void instructions_and_plain_c_agree_on_random_texts(void **state)
{
        static unsigned char bytes[4096 + 64];

        (void)state;
        if (!system_has_sha256())
                skip();
        for (size_t i = 0; i < sizeof(bytes); i++)
                bytes[i] = (unsigned char)random_below(256);
        for (int i = 0; i < 2000; i++) {
                const unsigned char *text = bytes + random_below(64);
                size_t length = random_below(i % 2 ? 4096 : 300);
                char plain[SHA256_TEXT_SIZE], quick[SHA256_TEXT_SIZE], pieces[SHA256_TEXT_SIZE];

                hash_with(sha256_blocks_plain, 1, text, length, plain);
                hash_with(sha256_blocks_instructions, 8, text, length, quick);
                assert_string_equal(quick, plain);
                add_in_pieces(text, length, pieces);
                assert_string_equal(pieces, plain);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(published_vectors_are_met),
                cmocka_unit_test(every_length_round_the_ends_of_blocks_is_right),
                cmocka_unit_test(a_million_bytes_are_right),
                cmocka_unit_test(pieces_make_the_hash_of_the_whole),
                cmocka_unit_test(instructions_and_plain_c_agree_on_random_texts),
        };

        return cmocka_run_group_tests_name("sha256", tests, NULL, NULL);
}
