# Debian: lighttpd squid apache2-utils
head -c 3000 /dev/urandom >f
printf 'server.document-root = "%s"\nserver.port = 18106\nserver.bind = "127.0.0.1"\n' "$PWD" >l
printf 'http_port 127.0.0.1:18107\npid_filename none\ncache_log /dev/null\naccess_log none\nhttp_access allow all
cache deny all\ncoredump_dir %s\nnetdb_filename none\npinger_enable off\n' "$PWD" >s
lighttpd -D -f l >/dev/null 2>&1 &
squid -N -f s >/dev/null 2>&1 & sleep 3
while :; do ab -q -X 127.0.0.1:18107 -c 8 -n 20000 http://127.0.0.1:18106/f >/dev/null || exit; done

# SPDX-License-Identifier: Apache-2.0
