/* Functions whose frames differ in shape: a leaf, one of variable size, one that
   saves many registers, one that aligns its stack (on x86-64 its CFA is an
   expression). */
#include <alloca.h>
#include <stdio.h>

#define KEEP __attribute__((noinline, noclone))

KEEP int leaf(int a) { return a * 3; }

KEEP int variable(int n) {
  char *p = alloca(n);
  for (int i = 0; i < n; i++) p[i] = (char)leaf(i);
  return p[n / 2];
}

KEEP long many(long a, long b, long c, long d, long e, long f, long g) {
  long v = leaf(a), w = leaf(b), x = leaf(c), y = leaf(d), z = leaf(e);
  return v * w + x * y * z + leaf(f) + leaf(g) + v + w + x + y + z;
}

typedef double quad __attribute__((vector_size(32)));

KEEP void aligned(quad *sum, const quad *from, int n) {
  volatile quad s = {0};
  for (int i = 0; i < n; i++) {
    s = s + from[i] * leaf(i);
  }
  *sum = s;
}

int main(int argc, char **argv) {
  (void)argv;
  quad in[4] = {{1, 2, 3, 4}}, out;
  aligned(&out, in, 4);
  printf("%d %ld %f\n", variable(argc + 30), many(argc, 2, 3, 4, 5, 6, 7), out[0]);
  return 0;
}
