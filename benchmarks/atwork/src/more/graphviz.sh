# Debian: graphviz
awk 'BEGIN{srand(3);print "digraph g {";for(i=1;i<300;i++)print "n" i " -> n" int(rand()*300);print "}"}' >g
while :; do dot -Tsvg g >/dev/null && neato -Tsvg g >/dev/null || exit; done

# SPDX-License-Identifier: Apache-2.0
