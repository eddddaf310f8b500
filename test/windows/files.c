/* files.c: entries in trees of real files, exceptions that are held open, and the journal.
 *
 * wine keeps no entry of a container, but it does keep what everybody may do: that becomes the mode of the file. So there the SID is everybody's. */
#include "checks.h"

#include <aclapi.h>
#include <sddl.h>

static struct container_sid subject;

static void choose_subject(void)
{
        DWORD size = sizeof(subject.u.bytes);

        if (is_wine())
                CreateWellKnownSid(WinWorldSid, NULL, &subject.u.sid, &size);
        else
                container_find_sid("abatis.0123456789abcdef0123456789abcdef", &subject, NULL);
}

/* What entries for the subject allow, inherit-only ones aside. */
static DWORD allowed(const char *name)
{
        wchar_t *wide = wide_path(at(name));
        PSECURITY_DESCRIPTOR descriptor = NULL;
        DWORD mask = 0;
        ACL *list = NULL;

        if (GetNamedSecurityInfoW(wide, SE_FILE_OBJECT, DACL_SECURITY_INFORMATION, NULL, NULL, &list, NULL,
                                  &descriptor) != ERROR_SUCCESS)
                mask = MAXDWORD;
        for (DWORD i = 0; list && mask != MAXDWORD && i < list->AceCount; i++) {
                ACCESS_ALLOWED_ACE *entry;

                if (GetAce(list, i, (void **)&entry) && !(entry->Header.AceFlags & INHERIT_ONLY_ACE) &&
                    EqualSid(&entry->SidStart, &subject.u.sid))
                        mask |= entry->Mask;
        }
        LocalFree(descriptor);
        free(wide);
        return mask;
}

static bool is_closed(const char *name)
{
        return !(allowed(name) & (FILE_READ_DATA | FILE_WRITE_DATA));
}

static bool is_readable(const char *name)
{
        return (allowed(name) & (FILE_READ_DATA | FILE_WRITE_DATA)) == FILE_READ_DATA;
}

static bool is_writable(const char *name)
{
        return (allowed(name) & (FILE_READ_DATA | FILE_WRITE_DATA)) == (FILE_READ_DATA | FILE_WRITE_DATA);
}

static void make_world(void)
{
        static const char *const directories[] = { "tree",        "tree/below", "tree/below/deep",
                                                   "tree/secret", "tree/kept",  "other" };
        static const char *const files[] = { "tree/file",        "tree/below/file", "tree/below/deep/file",
                                             "tree/secret/file", "tree/kept/file",  "tree/below/key",
                                             "other/file" };

        for (size_t i = 0; i < sizeof(directories) / sizeof(*directories); i++)
                make_directory(directories[i]);
        for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
                make_file(files[i]);
}

static struct plan *plan_of_world(void)
{
        struct plan *plan = new_plan();

        plan_step(plan, PLAN_WRITABLE, at("tree"), 0);
        plan_step(plan, PLAN_SHOW, at("other"), 0);
        plan_step(plan, PLAN_PIN, at("tree/below"), 0);
        plan_step(plan, PLAN_PROTECT, at("tree/kept"), 0);
        plan_step(plan, PLAN_HIDE, at("tree/secret"), 0);
        plan_step(plan, PLAN_HIDE, at("tree/below/key"), 0);
        return plan;
}

static bool moves(const char *from, const char *to)
{
        wchar_t *wide_from = wide_path(at(from)), *wide_to = wide_path(at(to));
        bool is_moved = MoveFileExW(wide_from, wide_to, MOVEFILE_REPLACE_EXISTING);

        free(wide_from);
        free(wide_to);
        return is_moved;
}

static void check_given(const struct places *places)
{
        abatis_error err = { 0 };
        int r;

        CHECK("before_all_is_closed", is_closed("tree") && is_closed("tree/file") &&
                                              is_closed("tree/secret") && is_closed("tree/below/key") &&
                                              is_closed("other/file"));
        r = places_grant(places, &subject.u.sid, &err);
        if (r < 0)
                printf("# %s\n", err.message);
        CHECK("a_tree_is_given", !r);
        CHECK("all_of_it_can_be_written",
              is_writable("tree") && is_writable("tree/file") && is_writable("tree/below") &&
                      is_writable("tree/below/file") && is_writable("tree/below/deep/file"));
        CHECK("another_can_be_read", is_readable("other") && is_readable("other/file"));
        CHECK("what_is_protected_can_be_read_only",
              is_readable("tree/kept") && is_readable("tree/kept/file"));
        CHECK("what_is_denied_stays_closed",
              is_closed("tree/secret") && is_closed("tree/secret/file") && is_closed("tree/below/key"));
        if (is_wine())
                skip("what_lies_above_an_exception_cannot_be_moved", "wine keeps no DELETE of an entry");
        else
                CHECK("what_lies_above_an_exception_cannot_be_moved",
                      !(allowed("tree/below") & DELETE) && !(allowed("tree") & DELETE) &&
                              allowed("tree/below/deep") & DELETE);
}

static void check_held(struct places *places)
{
        make_file("tree/new");
        CHECK("an_exception_cannot_be_moved_away", !moves("tree/secret", "tree/moved"));
        CHECK("nor_replaced", !moves("tree/new", "tree/below/key"));
        CHECK("what_is_no_exception_can", moves("tree/new", "tree/file"));
        places_done(places);
        make_file("tree/new");
        CHECK("and_afterwards_they_can", moves("tree/secret", "tree/moved") &&
                                                 moves("tree/moved", "tree/secret") &&
                                                 moves("tree/new", "tree/below/key"));
}

/* By any name but the one that Windows has for it a rule could be gone round. */
static void check_names(void)
{
        struct plan *plan = new_plan(), *twice = new_plan();
        struct places places = { 0 };
        abatis_error err = { 0 };

        plan_step(plan, PLAN_SHOW, at("TREE"), 0);
        CHECK("a_tree_in_other_letters_is_refused_by_its_name",
              places_open(plan, NULL, &places, &err) == ABATIS_E_UNENFORCEABLE &&
                      strstr(err.message, "/tree' for Windows"));
        free_plan(plan);
        plan_step(twice, PLAN_WRITABLE, at("other"), 0);
        plan_step(twice, PLAN_SHOW, at("other"), 0);
        CHECK("one_that_is_given_twice_is_given_as_the_last_of_its_kinds",
              !places_open(twice, NULL, &places, &err) && !places_grant(&places, &subject.u.sid, &err) &&
                      is_writable("other/file"));
        places_done(&places);
        free_plan(twice);
        places_revoke(at("other"), &subject.u.sid, &(size_t){ 0 }, NULL);
}

static void open_to_subject(const char *name, DWORD mask)
{
        const struct acl_entry entry = { mask, 0 };
        wchar_t *wide = wide_path(at(name));
        OWN_HANDLE HANDLE handle =
                CreateFileW(wide, READ_CONTROL | WRITE_DAC, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL,
                            OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);

        acl_change(handle, &subject.u.sid, &entry, mask ? 1 : 0, &(size_t){ 0 }, NULL);
        free(wide);
}

/* Refused by the name of what is open; and without that entry not. */
static bool is_found(enum plan_op op, const char *path, const char *open, DWORD mask)
{
        struct plan *plan = new_plan();
        struct places places = { 0 };
        abatis_error err = { 0 };
        bool is_refused, is_taken;

        if (op == PLAN_HIDE || op == PLAN_PROTECT)
                plan_step(plan, PLAN_WRITABLE, at("tree"), 0);
        plan_step(plan, op, at(path), 0);
        is_refused = !places_open(plan, NULL, &places, NULL);
        open_to_subject(open, mask);
        is_refused = is_refused && places_grant(&places, &subject.u.sid, &err) == ABATIS_E_UNENFORCEABLE &&
                     strstr(err.message, at(open)) && strstr(err.message, "is open to containers already") &&
                     is_closed("tree/file");
        if (!is_refused)
                printf("# %s\n", err.message);
        open_to_subject(open, 0);
        err.message[0] = '\0';
        is_taken = !places_grant(&places, &subject.u.sid, &err);
        if (!is_taken)
                printf("# %s\n", err.message);
        places_done(&places);
        places_revoke(at("tree"), &subject.u.sid, &(size_t){ 0 }, NULL);
        places_revoke(at("other"), &subject.u.sid, &(size_t){ 0 }, NULL);
        free_plan(plan);
        return is_refused && is_taken;
}

static void check_open_before(void)
{
        CHECK("what_is_denied_and_open_already_is_refused",
              is_found(PLAN_HIDE, "tree/secret", "tree/secret", FILE_GENERIC_READ));
        CHECK("so_is_a_file_below_it",
              is_found(PLAN_HIDE, "tree/secret", "tree/secret/file", FILE_GENERIC_READ));
        CHECK("and_what_lies_in_no_tree", is_found(PLAN_CLOSED, "other", "other/file", FILE_GENERIC_READ));
        CHECK("what_is_protected_and_can_be_written_is_refused",
              is_found(PLAN_PROTECT, "tree/kept", "tree/kept/file", FILE_GENERIC_READ | FILE_GENERIC_WRITE));
        CHECK("so_is_what_is_shown",
              is_found(PLAN_SHOW, "other", "other/file", FILE_GENERIC_READ | FILE_GENERIC_WRITE));
}

/* By its owner, so that nobody may do anything with it, or its owner everything. */
static void set_list(const char *name, const wchar_t *text)
{
        wchar_t *wide = wide_path(at(name));
        PSECURITY_DESCRIPTOR descriptor = NULL;

        if (ConvertStringSecurityDescriptorToSecurityDescriptorW(text, SDDL_REVISION_1, &descriptor, NULL))
                SetFileSecurityW(wide, DACL_SECURITY_INFORMATION, descriptor);
        LocalFree(descriptor);
        free(wide);
}

/* What cannot be undone keeps nothing else from being undone, and is told. */
static void check_failures(void)
{
        struct plan *plan = new_plan();
        struct places places = { 0 };
        struct strings trees = { 0 };
        abatis_error err = { 0 };
        size_t removed = 0;

        plan_step(plan, PLAN_WRITABLE, at("tree"), 0);
        plan_step(plan, PLAN_WRITABLE, at("other"), 0);
        strings_add(&trees, "/c/nul", NULL);
        strings_add(&trees, at("tree"), NULL);
        strings_add(&trees, at("other"), NULL);
        CHECK("two_trees_are_given", !places_open(plan, NULL, &places, &err) &&
                                             !places_grant(&places, &subject.u.sid, &err) &&
                                             is_writable("tree/below/file") && is_writable("other/file"));
        places_done(&places);
        set_list("tree/below/deep", L"D:");
        CHECK("a_directory_that_cannot_be_opened_is_told",
              places_revoke(at("tree"), &subject.u.sid, &removed, &err) < 0 &&
                      strstr(err.message, "1 access"));
        CHECK("all_else_is_undone",
              removed && is_closed("tree") && is_closed("tree/kept/file") && is_closed("tree/below/file"));
        set_list("tree/below/deep", L"D:(A;;FA;;;CO)(A;;FA;;;OW)(A;;FA;;;BA)");
        CHECK("so_is_one_tree_if_another_cannot_be",
              places_revoke_all(&trees, &subject.u.sid, &removed, &err) < 0 && strstr(err.message, "nul") &&
                      is_closed("other/file"));
        strings_done(&trees);
        free_plan(plan);
}

void check_files(void)
{
        struct places places = { 0 };
        struct plan *plan;
        abatis_error err = { 0 };
        size_t removed = 0;
        int r;

        choose_subject();
        make_world();
        plan = plan_of_world();
        r = places_open(plan, NULL, &places, &err);
        if (r < 0)
                printf("# %s\n", err.message);
        CHECK("the_paths_of_a_plan_are_opened", !r);
        check_given(&places);
        check_held(&places);
        CHECK("entries_are_taken_away", !places_revoke(at("tree"), &subject.u.sid, &removed, NULL) &&
                                                !places_revoke(at("other"), &subject.u.sid, &removed, NULL) &&
                                                removed >= 9);
        CHECK("then_all_is_closed_again",
              is_closed("tree") && is_closed("tree/file") && is_closed("tree/below") &&
                      is_closed("tree/below/deep/file") && is_closed("tree/kept/file") && is_closed("other"));
        removed = 0;
        CHECK("a_tree_that_is_gone_has_none",
              !places_revoke(at("nothing"), &subject.u.sid, &removed, NULL) && !removed);
        plan_step(plan, PLAN_SHOW, at("absent"), 0);
        CHECK("a_path_that_is_gone_is_an_error", places_open(plan, NULL, &places, NULL) == ABATIS_E_SYSTEM);
        free_plan(plan);
        check_names();
        check_open_before();
        check_failures();
}

/* ---- the journal ---------------------------------------------------------------------------------------- */

#define NAME "abatis.00000000000000000000000000000000"

static void check_texts(void)
{
        static const char good[] = "abatis journal 1\n/c/a\n/c/b c\nend\n";
        static const char *const bad[] = { "",
                                           "abatis journal 1\n",
                                           "abatis journal 1\n/c/a\n",
                                           "abatis journal 1\n/c/a\nend",
                                           "abatis journal 1\n/c/a\nen",
                                           "abatis journal 2\nend\n",
                                           "/c/a\nend\n",
                                           "abatis journal 1\n/c/a\nend\n/c/b\n",
                                           "abatis journal 1\n\\\\server\\share\nend\n",
                                           "abatis journal 1\n/c/a/../b\nend\n",
                                           "abatis journal 1\nrelative\nend\n",
                                           "abatis journal 1\n\nend\n",
                                           "abatis journal 1\n/c/a\xff\nend\n" };
        static const char nul[] = "abatis journal 1\n/c/a\0b\nend\n";
        struct strings trees = { 0 };
        bool are_refused = true;

        CHECK("a_journal_is_read", !journal_parse(good, sizeof(good) - 1, NAME, &trees, NULL) &&
                                           trees.count == 2 && !strcmp(trees.items[1], "/c/b c"));
        strings_done(&trees);
        trees = (struct strings){ 0 };
        for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
                bool is_refused =
                        journal_parse(bad[i], strlen(bad[i]), NAME, &trees, NULL) == ABATIS_E_INVALID;

                if (!is_refused)
                        printf("# taken: '%s'\n", bad[i]);
                are_refused &= is_refused;
        }
        CHECK("one_that_is_cut_or_says_anything_else_is_refused", are_refused);
        CHECK("so_is_one_with_a_nul",
              journal_parse(nul, sizeof(nul) - 1, NAME, &trees, NULL) == ABATIS_E_INVALID);
        CHECK("and_one_of_somebody_else",
              journal_parse(good, sizeof(good) - 1, "Microsoft.Edge", &trees, NULL) == ABATIS_E_INVALID);
        strings_done(&trees);
}

static void write_file(const char *name, const char *text)
{
        FILE *file = fopen(native(name), "wb");

        if (file) {
                fputs(text, file);
                fclose(file);
        }
}

static void check_replay(void)
{
        char name[CONTAINER_NAME_SIZE], path[128];
        struct strings trees = { 0 };
        struct journal journal = { 0 };
        struct journal_report report;
        char directory[MAX_PATH];

        make_directory("journal");
        snprintf(directory, sizeof(directory), "%s", at("journal"));
        make_directory("given");
        container_name_new(name, NULL);
        snprintf(path, sizeof(path), "journal/%s.journal", name);
        strings_add(&trees, at("given"), NULL);
        CHECK("a_journal_is_begun", !journal_begin(directory, name, &trees, &journal, NULL) && exists(path));
        CHECK("while_its_job_lives_nobody_undoes_it", !journal_replay(directory, &report, NULL) &&
                                                              report.alive == 1 && !report.undone &&
                                                              exists(path));
        journal_leave(&journal);
        CHECK("afterwards_somebody_does", !journal_replay(directory, &report, NULL) && report.undone == 1 &&
                                                  !report.refused && !exists(path));
        CHECK("one_that_is_ended_is_gone", !journal_begin(directory, name, &trees, &journal, NULL) &&
                                                   !journal_end(&journal, NULL) && !exists(path));
        write_file("journal/" NAME ".journal", "abatis journal 1\n/c/a\n");
        write_file("journal/Microsoft.MicrosoftEdge_8wekyb3d8bbwe.journal", "abatis journal 1\nend\n");
        CHECK("what_is_cut_or_not_ours_is_left_as_it_is",
              !journal_replay(directory, &report, NULL) && report.refused == 2 && !report.undone &&
                      exists("journal/" NAME ".journal") &&
                      exists("journal/Microsoft.MicrosoftEdge_8wekyb3d8bbwe.journal"));
        strings_done(&trees);
}

void check_journal(void)
{
        check_texts();
        check_replay();
}
