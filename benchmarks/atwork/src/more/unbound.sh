# Debian: unbound bind9-dnsutils
printf 'server:\n interface: 127.0.0.1\n port: 18104\n chroot: ""\n username: ""\n directory: "."\n pidfile: ""
 use-syslog: no\n do-daemonize: no\n num-threads: 2\n local-zone: "test." static\n' >c
for i in $(seq 2000); do echo " local-data: \"h$i.test. A 10.0.0.1\"" >>c; echo "h$i.test A" >>q; done
unbound -d -c c >/dev/null 2>&1 & sleep 1
while :; do dig @127.0.0.1 -p 18104 -f q >/dev/null || exit; done

# SPDX-License-Identifier: Apache-2.0
