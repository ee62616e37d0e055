# Debian: mold gcc libc6-dev
for i in $(seq 40); do { for j in $(seq 200); do echo "int f${i}_$j(int x){return x*$j;} const char *s${i}_$j=\"s$i $j\";"; done; } >a$i.c; done
echo 'int main(void){return 0;}' >m.c; gcc -g -O1 -c ./*.c
while :; do gcc -fuse-ld=mold -o out ./*.o || exit; done

# SPDX-License-Identifier: Apache-2.0
