/* parts.c: paths, command lines, SIDs and access lists: what needs no process. */
#include "checks.h"

#include <sddl.h>

static void check_paths(void)
{
        static const char *const good[] = { "/c/Users/u/project", "/z/a",        "/c",
                                            "/c/console",         "/c/a b/.git", "/c/com10/lpt" };
        static const char *const bad[] = {
                "",          "/",         "/C",         "relative",     "//server/share", "/c/a//b",
                "/c/a/",     "/c/a/../b", "/c/a/.",     "/c/a.",        "/c/a ",          "/c/a:b",
                "/c/a\\b",   "/c/a*",     "/c/nul",     "/c/x/CON",     "/c/aux.txt",     "/c/com1",
                "/c/LPT9.x", "/c/a\nb",   "/c/a\xff/b", "\\\\?\\C:/",   "//?/C:/a",       "/1/a",
                "/c/conin$", "/c/a\"b",   "/c/a|b",     "GLOBALROOT/a", "/c/a<b",         "/c/a?",
                "C:/a",      "/cd/a",     "/c/"
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

static DWORD rights_in(const wchar_t *text, BYTE type)
{
        PSECURITY_DESCRIPTOR descriptor = NULL;
        BOOL is_present, is_default;
        struct container_sid sid;
        ACCESS_ALLOWED_ACE *entry;
        DWORD rights = MAXDWORD;
        ACL *list = NULL;

        if (!container_find_sid("abatis.a", &sid, NULL) &&
            ConvertStringSecurityDescriptorToSecurityDescriptorW(text, SDDL_REVISION_1, &descriptor, NULL) &&
            GetSecurityDescriptorDacl(descriptor, &is_present, &list, &is_default)) {
                if (type && GetAce(list, 0, (void **)&entry))
                        entry->Header.AceType = type;
                rights = acl_rights(list, &sid.u.sid);
        }
        LocalFree(descriptor);
        return rights;
}

/* Who has given something to all containers has given it to ours; who has to another has not. */
static void check_rights(void)
{
        static const struct {
                const wchar_t *text;
                BYTE type;
                DWORD rights;
        } cases[] = {
                { L"D:(A;;FA;;;BA)(A;;FA;;;WD)", 0, 0 },
                { L"D:(A;;FR;;;S-1-15-2-1)", 0, FILE_GENERIC_READ },
                { L"D:(A;;FR;;;S-1-15-2-2)", 0, FILE_GENERIC_READ },
                { L"D:(A;;GA;;;S-1-15-2-1)", 0, FILE_ALL_ACCESS },
                { L"D:(A;;FR;;;BU)(A;;FW;;;S-1-15-2-1)", 0, FILE_GENERIC_WRITE },
                { L"D:(A;OICIIO;FR;;;S-1-15-2-1)", 0, FILE_GENERIC_READ },
                { L"D:(A;;FR;;;S-1-15-3-1)", 0, FILE_GENERIC_READ },
                { L"D:(A;;FR;;;S-1-15-3-4)", 0, 0 },
                { L"D:(A;;FR;;;S-1-15-2-1-2-3-4-5-6-7)", 0, 0 },
                { L"D:(D;;FR;;;S-1-15-2-1)", 0, 0 },
                { L"D:(A;;FR;;;S-1-15-2-1)", ACCESS_ALLOWED_CALLBACK_ACE_TYPE, FILE_GENERIC_READ },
                { L"D:(A;;FR;;;BA)", ACCESS_ALLOWED_CALLBACK_ACE_TYPE, 0 },
                { L"D:(A;;FR;;;BA)", ACCESS_ALLOWED_OBJECT_ACE_TYPE, FILE_GENERIC_READ },
        };
        bool are_right = true;

        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                DWORD rights = rights_in(cases[i].text, cases[i].type);

                if (rights != cases[i].rights)
                        printf("# %ls: %08lx\n", cases[i].text, rights);
                are_right &= rights == cases[i].rights;
        }
        CHECK("what_all_containers_were_given_is_found_in_a_list", are_right);
        CHECK("without_a_list_all_is_given", acl_rights(NULL, NULL) == FILE_ALL_ACCESS);
}

/* Whether one that Windows lists in this state is said to run, or not. They come and go: so it is asked for until it is. */
static bool is_told_of(DWORD state, bool runs, abatis_error *err)
{
        static union {
                ENUM_SERVICE_STATUSW items[1];
                char bytes[64 * 1024];
        } list;
        SC_HANDLE manager = OpenSCManagerW(NULL, NULL, SC_MANAGER_CONNECT | SC_MANAGER_ENUMERATE_SERVICE);
        bool is_told = false;

        for (unsigned i = 0; i < 20 && !is_told; i++) {
                DWORD needed = 0, count = 0, next = 0;

                EnumServicesStatusW(manager, SERVICE_WIN32 | SERVICE_DRIVER, SERVICE_STATE_ALL, list.items,
                                    sizeof(list), &needed, &count, &next);
                for (DWORD j = 0; j < count && !is_told; j++)
                        is_told = list.items[j].ServiceStatus.dwCurrentState == state &&
                                  !service_check(list.items[j].lpServiceName, err) == runs;
                if (!is_told)
                        Sleep(100);
        }
        CloseServiceHandle(manager);
        return is_told;
}

static void check_services(void)
{
        abatis_error err = { 0 };

        if (is_told_of(SERVICE_RUNNING, true, NULL) || !is_wine())
                CHECK("a_service_that_runs_is_found", is_told_of(SERVICE_RUNNING, true, NULL));
        else
                skip("a_service_that_runs_is_found", "wine runs none in a new prefix");
        CHECK("one_that_is_stopped_is_refused",
              is_told_of(SERVICE_STOPPED, false, &err) && strstr(err.message, "does not run"));
        CHECK("one_that_is_not_there_is_refused_by_its_name",
              service_check(L"abatis-absent", &err) == ABATIS_E_UNENFORCEABLE &&
                      strstr(err.message, "abatis-absent"));
        if (is_wine())
                CHECK("without_a_firewall_no_network_is_denied",
                      firewall_check(&err) == ABATIS_E_UNENFORCEABLE && strstr(err.message, "MpsSvc"));
        else
                CHECK("the_firewall_runs", !firewall_check(&err));
}

void check_parts(void)
{
        check_rights();
        check_services();
        check_paths();
        check_names();
        check_lists();
}
