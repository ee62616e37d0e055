# Debian: glpk-utils
awk 'BEGIN{srand(2);print "Minimize\n obj:";for(j=1;j<=50;j++)printf " + %d x%d\n",rand()*90+10,j;print "Subject To"
for(i=1;i<=30;i++){printf " c%d:",i;for(j=1;j<=50;j++)if(rand()<.3)printf " + %d x%d\n",rand()*9+1,j;print " >= 40"}
print "Generals";for(j=1;j<=50;j++)print " x" j;print "End"}' >p.lp
while :; do glpsol --lp p.lp --cuts --tmlim 20 >/dev/null || exit; done

# SPDX-License-Identifier: Apache-2.0
