/* host_windows.c: finds out what this Windows can enforce. */
#include "run/host_windows.h"

#include <shlobj.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <winternl.h>

#include "base/error.h"
#include "base/own.h"
#include "run/container_windows.h"
#include "run/firewall_windows.h"
#include "run/run.h"

/* The version as it is: the documented function tells programs what they want to hear. */
static void find_version(abatis_host *host)
{
        HMODULE library = GetModuleHandleW(L"ntdll.dll");
        FARPROC found = library ? GetProcAddress(library, "RtlGetVersion") : NULL;
        NTSTATUS(WINAPI * tell)(RTL_OSVERSIONINFOW *) = NULL;
        RTL_OSVERSIONINFOW version = { .dwOSVersionInfoSize = sizeof(version) };

        memcpy(&tell, &found, sizeof(found));
        if (tell)
                tell(&version);
        snprintf(host->kernel, sizeof(host->kernel), "%lu.%lu.%lu", version.dwMajorVersion,
                 version.dwMinorVersion, version.dwBuildNumber);
}

static void find_machine(abatis_host *host)
{
        SYSTEM_INFO facts;

        GetNativeSystemInfo(&facts);
        strcpy(host->machine, facts.wProcessorArchitecture == PROCESSOR_ARCHITECTURE_ARM64   ? "arm64"
                              : facts.wProcessorArchitecture == PROCESSOR_ARCHITECTURE_AMD64 ? "x86_64"
                                                                                             : "unknown");
}

static bool is_elevated(void)
{
        OWN_HANDLE HANDLE token = NULL;
        TOKEN_ELEVATION elevation = { 1 };
        DWORD size;

        /* Who cannot find out is taken for one who is. */
        if (!OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token) ||
            !GetTokenInformation(token, TokenElevation, &elevation, sizeof(elevation), &size))
                return true;
        return elevation.TokenIsElevated;
}

/* As policies spell paths. */
static void add_tree(struct host_container *container, size_t number, const wchar_t *path)
{
        OWN_FREE char *name = wide_path_name(path);

        if (name && strlen(name) < sizeof(container->trees[number]))
                strcpy(container->trees[number], name);
}

static void find_trees(struct host_container *container)
{
        const KNOWNFOLDERID *const folders[] = { &FOLDERID_Windows, &FOLDERID_ProgramFiles,
                                                 &FOLDERID_ProgramFilesX86 };

        for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
                wchar_t *found = NULL;

                if (SUCCEEDED(SHGetKnownFolderPath(folders[i], 0, NULL, &found)))
                        add_tree(container, i, found);
                CoTaskMemFree(found);
        }
}

void windows_probe(abatis_host *host)
{
        const char *reason = container_reason();
        BOOL is_nested;

        *host = (abatis_host){ .system = SYSTEM_WINDOWS };
        find_version(host);
        find_machine(host);
        /* Windows has no such numbers; that of root stands for who is elevated. */
        host->uid = host->gid = is_elevated() ? 0 : 1000;
        find_trees(&host->container);
        host->container.is_available = !reason;
        host->container.is_nested = !IsProcessInJob(GetCurrentProcess(), NULL, &is_nested) || is_nested;
        if (reason)
                snprintf(host->container.reason, sizeof(host->container.reason), "%s", reason);
        else if (!*host->container.trees[0]) {
                host->container.is_available = false;
                strcpy(host->container.reason, "Windows does not say where its own directory is");
        }
}

static void add_finding(abatis_host *host, const char *name, const char *missing, const char *detail)
{
        struct host_finding *finding = &host->findings[host->finding_count++];

        *finding = (struct host_finding){ .name = name, .is_available = !missing, .is_required = true };
        snprintf(finding->detail, sizeof(finding->detail), "%s", missing ? missing : detail);
}

int host_probe_fully(abatis_host *host, abatis_error *err)
{
        abatis_error firewall = { 0 };

        windows_probe(host);
        host->findings = calloc(HOST_MAX_FINDINGS, sizeof(*host->findings));
        if (!host->findings)
                return error_memory(err);
        add_finding(host, "AppContainer", host->container.is_available ? NULL : host->container.reason,
                    "its functions are there; none was made");
        add_finding(host, "firewall", firewall_check(&firewall) < 0 ? firewall.message : NULL,
                    "its services run, which network.mode deny needs");
        return 0;
}
