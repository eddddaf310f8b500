#!/bin/bash
# fixtures.sh: makes what the lab's web sites serve: certificates, a git repository, an npm package, a Python wheel.
#
#   test/net/fixtures.sh DIR
set -eu
cd "$1"
readonly NAME=abatis-lab-package
mkdir -p certs www/npm www/simple www/wheels

# ---- an authority, and one certificate for every name of the zone ----
key=(-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes)
openssl req -x509 "${key[@]}" -keyout ca.key -out ca.pem -days 2 -subj '/CN=abatis lab' \
        -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign 2>/dev/null
openssl req "${key[@]}" -keyout server.key -out server.csr -subj /CN=open.example 2>/dev/null
{
        echo basicConstraints=CA:FALSE
        echo extendedKeyUsage=serverAuth
        printf 'subjectAltName='
        printf 'DNS:%s,' {open,four,six,closed}.example '*.'{wild,b.wild,open}.example
        echo IP:93.184.216.20
} >server.ext
openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -set_serial 2 -days 2 -extfile server.ext -out server.crt 2>/dev/null
cat server.key server.crt >server.pem
# Laid over /etc/ssl/certs: as a file, for those who read that, and by its hash, for those who look for it.
cp ca.pem certs/ca-certificates.crt
cp ca.pem "certs/$(openssl x509 -noout -hash -in ca.pem).0"

# ---- git, by the protocol that takes no program on the server ----
if command -v git >/dev/null; then
        export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
        export GIT_{AUTHOR,COMMITTER}_NAME=lab GIT_{AUTHOR,COMMITTER}_EMAIL=lab@open.example
        git init -q -b main repo
        echo "from the lab" >repo/README
        git -C repo add README
        git -C repo commit -q -m one
        git clone -q --bare repo www/repo.git
        git -C www/repo.git update-server-info
        rm -rf repo
fi

# ---- an npm registry and an index of wheels, of one package each ----
python3 -I - "$NAME" <<'PYTHON'
import base64, hashlib, io, json, os, sys, tarfile, zipfile
name = sys.argv[1]

archive = io.BytesIO()
with tarfile.open(fileobj=archive, mode="w:gz") as tar:
    for path, text in (("package.json", json.dumps({"name": name, "version": "1.0.0", "main": "index.js"})),
                       ("index.js", "module.exports = 'from the lab'\n")):
        member = tarfile.TarInfo("package/" + path)
        member.size = len(text)
        tar.addfile(member, io.BytesIO(text.encode()))
os.makedirs(f"www/npm/{name}/-")
with open(f"www/npm/{name}/-/{name}-1.0.0.tgz", "wb") as file:
    file.write(archive.getvalue())
sum_of = "sha512-" + base64.b64encode(hashlib.sha512(archive.getvalue()).digest()).decode()
with open(f"www/npm/{name}/index", "w", encoding="ascii") as file:
    json.dump({"name": name, "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {
        "name": name, "version": "1.0.0",
        "dist": {"tarball": f"@BASE@/npm/{name}/-/{name}-1.0.0.tgz", "integrity": sum_of}}}}, file)

module = name.replace("-", "_")
wheel = f"{module}-1.0.0-py3-none-any.whl"
info = f"{module}-1.0.0.dist-info"
with zipfile.ZipFile(f"www/wheels/{wheel}", "w") as file:
    file.writestr(f"{module}.py", "TEXT = 'from the lab'\n")
    file.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0.0\n")
    file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: lab\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    file.writestr(f"{info}/RECORD", f"{module}.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
os.makedirs(f"www/simple/{name}")
with open(f"www/simple/{name}/index", "w", encoding="ascii") as file:
    file.write(f'<!DOCTYPE html><html><body><a href="/wheels/{wheel}">{wheel}</a></body></html>\n')
PYTHON
chmod -R a+rX certs www ca.pem
