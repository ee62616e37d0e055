# npm: typescript
awk 'BEGIN{for(j=0;j<2000;j++)print "export type T" j "<A> = A extends {k: infer K} ? {[P in keyof K]: T" (j>0?j-1:0) "<K[P]>} : A; export const v" j ": T" j "<{k: number}> extends object ? 1 : 2 = 1 as any;"}' >m.ts
while :; do tsc --noEmit --target es2020 m.ts >/dev/null; done

# SPDX-License-Identifier: Apache-2.0
