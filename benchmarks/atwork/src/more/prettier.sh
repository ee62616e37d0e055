# npm: prettier
awk 'BEGIN{for(j=0;j<3000;j++)print "export function f" j "(a,b){const {x,...y}={x:a,z:b};return [x,y].map(q=>q?.z??{a:1,b:[2,3]}).filter(Boolean)}"}' >m.js
while :; do prettier m.js >/dev/null || exit; done

# SPDX-License-Identifier: Apache-2.0
