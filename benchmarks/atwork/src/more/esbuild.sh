# npm: esbuild
for i in $(seq 300); do awk -v i=$i 'BEGIN{for(j=0;j<300;j++)print "export function f" i "_" j "(a: number, b?: string): number { const {x, ...y} = {x: a, z: b}; return x ?? y.z?.length ?? " j "; }"}' >m$i.ts; echo "export * from './m$i'" >>main.ts; done
while :; do esbuild main.ts --bundle --minify --target=es2017 --outfile=out.js --log-level=error || exit; done

# SPDX-License-Identifier: Apache-2.0
