# Debian: bind9 bind9-dnsutils
printf 'options { directory "%s"; listen-on port 18105 { 127.0.0.1; }; listen-on-v6 { none; }; pid-file none;
 session-keyfile none; recursion no; };\ncontrols { };\nzone "test" { type master; file "z"; };\n' "$PWD" >c
printf '$TTL 60\n@ SOA n.test. r.test. 1 60 60 60 60\n@ NS n.test.\nn A 10.0.0.2\n' >z
for i in $(seq 2000); do echo "h$i A 10.0.0.1" >>z; echo "h$i.test A" >>q; done
named -g -c c >/dev/null 2>&1 & sleep 2
while :; do dig @127.0.0.1 -p 18105 -f q >/dev/null || exit; done

# SPDX-License-Identifier: Apache-2.0
