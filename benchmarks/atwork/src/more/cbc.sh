# Debian: coinor-cbc
awk 'BEGIN{srand(1);print "Minimize\n obj:";for(j=1;j<=60;j++)printf " + %d x%d\n",rand()*90+10,j;print "Subject To"
for(i=1;i<=40;i++){printf " c%d:",i;for(j=1;j<=60;j++)if(rand()<.3)printf " + %d x%d\n",rand()*9+1,j;print " >= 40"}
print "Generals";for(j=1;j<=60;j++)print " x" j;print "End"}' >p.lp
while :; do cbc p.lp -seconds 20 -solve -quit >/dev/null || exit; done

# SPDX-License-Identifier: Apache-2.0
