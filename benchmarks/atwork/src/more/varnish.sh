# Debian: varnish gcc libc6-dev apache2-utils
printf 'vcl 4.1;\nbackend b none;\nsub vcl_recv { return (synth(200, "x")); }\n' >c
varnishd -F -j none -n "$PWD/d" -a 127.0.0.1:18102 -f "$PWD/c" -s default,20m >/dev/null 2>&1 & sleep 3
while :; do ab -q -k -c 8 -n 100000 http://127.0.0.1:18102/ >/dev/null || exit; done

# SPDX-License-Identifier: Apache-2.0
