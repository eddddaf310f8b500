/* parts.c: paths, command lines, SIDs and access lists: what needs no process. */
#include "checks.h"

#include <sddl.h>

static void check_paths(void)
{
        static const char *const good[] = { "C:/Users/u/project", "z:/a",        "C:/",
                                            "C:/console",         "C:/a b/.git", "C:/com10/lpt" };
        static const char *const bad[] = {
                "",          "/",         "C:",         "C:relative",   "//server/share", "C:/a//b",
                "C:/a/",     "C:/a/../b", "C:/a/.",     "C:/a.",        "C:/a ",          "C:/a:b",
                "C:/a\\b",   "C:/a*",     "C:/nul",     "C:/x/CON",     "C:/aux.txt",     "C:/com1",
                "C:/LPT9.x", "C:/a\nb",   "C:/a\xff/b", "\\\\?\\C:/",   "//?/C:/a",       "1:/a",
                "C:/conin$", "C:/a\"b",   "C:/a|b",     "GLOBALROOT/a", "C:/a<b",         "C:/a?"
        };
        bool are_taken = true, are_refused = true;

        for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
                wchar_t *wide = NULL;

                are_taken &= !windows_path(good[i], &wide, NULL) && !wcsncmp(wide, L"\\\\?\\", 4);
                free(wide);
        }
        for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
                wchar_t *wide = NULL;
                bool is_refused = windows_path(bad[i], &wide, NULL) == ABATIS_E_INVALID && !wide;

                if (!is_refused)
                        printf("# taken: '%s'\n", bad[i]);
                are_refused &= is_refused;
        }
        CHECK("a_path_of_a_drive_is_taken", are_taken);
        CHECK("what_means_more_than_a_path_is_refused", are_refused);
}

static void check_names(void)
{
        static const char *const others[] = { "",
                                              "abatis.",
                                              "abatis.0123456789abcdef0123456789abcde",
                                              "abatis.0123456789abcdef0123456789abcdef0",
                                              "abatis.0123456789ABCDEF0123456789abcdef",
                                              "Microsoft.MicrosoftEdge_8wekyb3d8bbwe00",
                                              "abatis.../../../../../../../../../../aa" };
        char name[CONTAINER_NAME_SIZE], another[CONTAINER_NAME_SIZE];
        struct container_sid sid;
        bool are_refused = true;
        char *text = NULL;

        CHECK("a_name_is_made", !container_name_new(name, NULL) && !container_name_new(another, NULL));
        CHECK("it_is_known_as_ours", container_name_is_ours(name) && container_name_is_ours(another));
        CHECK("no_two_are_the_same", strcmp(name, another) != 0);
        for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
                are_refused &= !container_name_is_ours(others[i]);
        CHECK("others_are_not_ours", are_refused);
        /* As Windows has it, on every machine. */
        CHECK("a_sid_is_the_one_that_windows_derives",
              !container_find_sid("Microsoft.MicrosoftEdge_8wekyb3d8bbwe", &sid, NULL) &&
                      ConvertSidToStringSidA(&sid.u.sid, &text) &&
                      !strcmp(text,
                              "S-1-15-2-3624051433-2125758914-1423191267-1740899205-1073925389-3782572162-"
                              "737981194"));
        LocalFree(text);
}

static size_t count_of(ACL *list, PSID sid, size_t *first)
{
        size_t count = 0;

        for (DWORD i = 0; i < list->AceCount; i++) {
                ACCESS_ALLOWED_ACE *entry;

                if (!GetAce(list, i, (void **)&entry) || !EqualSid(&entry->SidStart, sid))
                        continue;
                if (!count++)
                        *first = i;
        }
        return count;
}

static void check_lists(void)
{
        /* Denied, allowed, and inherited, as Windows orders them. */
        static const wchar_t text[] = L"D:(D;;FW;;;BG)(A;;FA;;;SY)(A;ID;FA;;;BA)(A;ID;FR;;;BU)";
        static const struct acl_entry entries[] = { { FILE_GENERIC_READ, 0 },
                                                    { FILE_GENERIC_READ,
                                                      OBJECT_INHERIT_ACE | INHERIT_ONLY_ACE },
                                                    { FILE_GENERIC_READ, INHERITED_ACE } };
        PSECURITY_DESCRIPTOR descriptor = NULL;
        ACL *old = NULL, *list = NULL, *again = NULL, *without = NULL;
        struct container_sid sid, another;
        size_t first = 0, removed = 0;
        BOOL is_present, is_default;
        bool is_ready = ConvertStringSecurityDescriptorToSecurityDescriptorW(text, SDDL_REVISION_1,
                                                                             &descriptor, NULL) &&
                        GetSecurityDescriptorDacl(descriptor, &is_present, &old, &is_default) &&
                        !container_find_sid("abatis.a", &sid, NULL) &&
                        !container_find_sid("abatis.b", &another, NULL);

        CHECK("there_is_a_list", is_ready);
        if (!is_ready)
                return;
        CHECK("entries_are_added", !acl_make(old, &sid.u.sid, entries, 3, &list, &removed, NULL) &&
                                           !removed && list->AceCount == 7 &&
                                           count_of(list, &sid.u.sid, &first) == 3);
        CHECK("before_those_that_are_inherited", first == 2);
        CHECK("a_second_time_they_replace_the_first",
              !acl_make(list, &sid.u.sid, entries, 3, &again, &removed, NULL) && removed == 3 &&
                      again->AceCount == 7);
        free(again);
        CHECK("another_container_takes_nothing_away",
              !acl_make(list, &another.u.sid, NULL, 0, &again, &removed, NULL) && !removed &&
                      again->AceCount == 7);
        CHECK("taken_away_the_list_is_as_before",
              !acl_make(list, &sid.u.sid, NULL, 0, &without, &removed, NULL) && removed == 3 &&
                      without->AceCount == old->AceCount &&
                      !memcmp(without + 1, old + 1, old->AclSize - sizeof(*old)));
        free(list);
        free(again);
        free(without);
        LocalFree(descriptor);
}

void check_parts(void)
{
        check_paths();
        check_names();
        check_lists();
}
