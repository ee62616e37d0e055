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
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

left_out() {
	echo "setup-webservers: no $1; its tests are left out" >&2
	rm -rf "${dir:?}/$1"
}

# jars NAME GROUP:PARENT:VERSION DEPENDENCY...: the libraries of a server, with the versions of a parent's POM.
jars() {
	name=$1 parent=$2
	shift 2
	[ ! -d "$dir/$name" ] || return 0
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
	mvn -q -f "$tmp/pom.xml" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$dir/$name" >&2 ||
		left_out "$name"
}

jars helidon io.helidon.applications:helidon-se:4.5.0 io.helidon.webserver:helidon-webserver \
	io.helidon.webclient:helidon-webclient
jars spring org.springframework.boot:spring-boot-starter-parent:4.0.7 \
	org.springframework.boot:spring-boot-starter-web
if [ ! -d "$dir/fastify" ]; then
	npm install --silent --no-audit --no-fund --prefix "$dir/fastify" fastify@5.12.8 undici@7 >&2 || left_out fastify
fi
if [ ! -d "$dir/gevent" ]; then
	python3 -m pip install --quiet --target "$dir/gevent/site-packages" gevent==26.9.0 gunicorn==27.0.1 packaging >&2 ||
		left_out gevent
fi
