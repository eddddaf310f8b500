"""fetch.py: prints what an address of the web gives, by the way of Python that is named: urllib, requests or asyncio."""
import asyncio
import sys
import urllib.parse
import urllib.request


def by_urllib(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read().decode()


def by_requests(url):
    import requests  # the only one that is not of the standard library
    return requests.get(url, timeout=10).text


def by_asyncio(url):
    async def fetch():
        host = urllib.parse.urlsplit(url).hostname
        reader, writer = await asyncio.open_connection(host, 443, ssl=True)
        writer.write(f"GET / HTTP/1.0\r\nHost: {host}\r\n\r\n".encode())
        return (await reader.read()).decode()
    return asyncio.run(asyncio.wait_for(fetch(), 10))


print({"urllib": by_urllib, "requests": by_requests, "asyncio": by_asyncio}[sys.argv[1]](sys.argv[2]))
