# Debian: haproxy apache2-utils
printf 'global\n nbthread 2\ndefaults\n mode http\n timeout client 9s\n timeout connect 9s\n timeout server 9s
frontend f\n bind 127.0.0.1:18101\n http-request return status 200 content-type text/plain lf-string "%%[rand(9)]"\n' >c
haproxy -db -f c & sleep 1
while :; do ab -q -k -c 8 -n 200000 http://127.0.0.1:18101/ >/dev/null || exit; done

# SPDX-License-Identifier: Apache-2.0
