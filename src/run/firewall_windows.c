/* firewall_windows.c: whether what keeps a container without capabilities from networks is there.
 *
 * A capability is asked for by the filters of Windows' firewall, and by nobody else: where its services were stopped or taken out, a
 * container reaches every network. */
#include "run/firewall_windows.h"

#include "base/error.h"
#include "base/own.h"

static void close_service(SC_HANDLE *handle)
{
        if (*handle)
                CloseServiceHandle(*handle);
}

#define OWN_SERVICE __attribute__((cleanup(close_service)))

int service_check(const wchar_t *name, abatis_error *err)
{
        OWN_SERVICE SC_HANDLE manager = OpenSCManagerW(NULL, NULL, SC_MANAGER_CONNECT);
        OWN_SERVICE SC_HANDLE service = manager ? OpenServiceW(manager, name, SERVICE_QUERY_STATUS) : NULL;
        SERVICE_STATUS status = { 0 };
        OWN_FREE char *said = utf8_from_wide(name);

        if (!service || !QueryServiceStatus(service, &status) || !said) {
                error_windows(err, GetLastError(), "network.mode deny: ask for Windows' service %s",
                              said ? said : "");
                if (err)
                        err->code = ABATIS_E_UNENFORCEABLE;
                return ABATIS_E_UNENFORCEABLE;
        }
        if (status.dwCurrentState != SERVICE_RUNNING)
                return error_set(
                        err, ABATIS_E_UNENFORCEABLE,
                        "network.mode deny: Windows' service %s, which holds it, does not run; fix: start it",
                        said);
        return 0;
}

/* The firewall, and the engine that has its filters. */
int firewall_check(abatis_error *err)
{
        int r = service_check(L"MpsSvc", err);

        return r < 0 ? r : service_check(L"BFE", err);
}
