#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fetches web servers whose requests are tasks, for the tests of tasks, into a directory:
#
#   setup-webservers.sh [DIRECTORY]
#
# Helidon and Spring Boot of Maven's central repository (virtual threads), Fastify of npm (awaits), gunicorn with gevent
# of PyPI (greenlets) for the python3 in PATH. About 60 MB. What cannot be had is reported, and left out.
set -eu

mkdir -p "${1:-/usr/local/lib/webservers}"
dir=$(cd "${1:-/usr/local/lib/webservers}" && pwd)
touch "$dir/.tried" # setup-tests.sh does not try again on the same day
tmp=$(mktemp -d)
trap 'rm -rf "$tmp" "$dir"/.new.*' EXIT
trap 'exit 1' HUP INT TERM

# server NAME SECONDS COMMAND...: a server that the command puts into $dir/.new.NAME, unless it is there. timeout stays
# in the process group, so that what ends this script ends the command too.
server() {
	name=$1 seconds=$2
	shift 2
	[ ! -d "$dir/$name" ] || return 0
	rm -rf "$dir/.new.$name"
	if ! timeout --foreground -k 5 "$seconds" "$@" </dev/null >&2 || ! mv "$dir/.new.$name" "$dir/$name"; then
		echo "setup-webservers: no $name; its tests are left out" >&2
	fi
}

# jars NAME GROUP:PARENT:VERSION DEPENDENCY...: the libraries of a server, with the versions of a parent's POM.
jars() {
	jar=$1 parent=$2
	shift 2
	{
		echo '<project><modelVersion>4.0.0</modelVersion><parent>'
		echo "$parent" | sed 's,\(.*\):\(.*\):\(.*\),<groupId>\1</groupId><artifactId>\2</artifactId><version>\3</version>,'
		echo '<relativePath></relativePath></parent>'
		echo '<groupId>shop</groupId><artifactId>shop</artifactId><version>1</version><dependencies>'
		for dependency in "$@"; do
			echo "$dependency" | sed 's,\(.*\):\(.*\),<groupId>\1</groupId><artifactId>\2</artifactId>,
				s,.*,<dependency>&</dependency>,'
		done
		echo '</dependencies></project>'
	} >"$tmp/pom.xml"
	server "$jar" 240 mvn -q -B -Dmaven.wagon.http.readTimeout=20000 -Dmaven.wagon.http.connectionTimeout=10000 \
		-f "$tmp/pom.xml" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$dir/.new.$jar"
}

jars helidon io.helidon.applications:helidon-se:4.5.0 io.helidon.webserver:helidon-webserver \
	io.helidon.webclient:helidon-webclient
jars spring org.springframework.boot:spring-boot-starter-parent:4.0.7 \
	org.springframework.boot:spring-boot-starter-web
server fastify 120 npm install --silent --no-audit --no-fund --ignore-scripts --fetch-timeout=20000 --fetch-retries=1 \
	--prefix "$dir/.new.fastify" fastify@5.12.8 undici@7.30.2
server gevent 120 python3 -m pip install --quiet --timeout 15 --retries 1 --target "$dir/.new.gevent/site-packages" \
	gevent==26.9.0 gunicorn==27.0.1 packaging==26.4
