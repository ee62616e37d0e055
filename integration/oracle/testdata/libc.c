/* Runs functions of the C library in rounds with different numbers. */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <glob.h>
#include <iconv.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <regex.h>
#include <search.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <wchar.h>
#include "mark.h"

static unsigned round_;
static volatile long sink;

static unsigned rnd(void)
{
	static unsigned x = 12345;
	x = x * 1103515245u + 12345u;
	return x >> 8;
}

__attribute__((noinline)) static void strings_(void)
{
	static char a[9000], b[9000];
	size_t sizes[] = { 0, 1, 3, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 100, 127, 129, 255, 256, 300, 511, 1000, 2049, 4097, 8000 };
	for (unsigned k = 0; k < sizeof sizes / sizeof *sizes; k++) {
		size_t n = sizes[(k + round_) % (sizeof sizes / sizeof *sizes)], o = rnd() % 64;
		memset(a, 'a' + k, sizeof a);
		memset(b, 'a' + k, n + 100);
		memcpy(b + o, a, n);
		memmove(b + 1, b, n);
		memmove(b, b + 5, n);
		a[n + o] = 0;
		b[n] = 0;
		sink += strlen(a) + strnlen(b, 5000) + memcmp(a, b, n) + strcmp(a, b) + strncmp(a, b, n / 2);
		sink += (long)memchr(a, 'q', n + 1) + (long)memrchr(a, 'r', n + 1) + (long)strchr(a, 's') + (long)strrchr(a, 't');
		sink += (long)strstr(a, "xyz") + (long)strcasestr(a, "aab") + strcasecmp(a, b) + strncasecmp(a, b, n);
		sink += strspn(a, "abc") + strcspn(a, "xyz") + (long)strpbrk(a, "lm") + (long)rawmemchr(a, 0);
		strcpy(b, a);
		strncpy(b, a, n);
		stpcpy(b, a);
		b[n] = 0;
		if (n < 4000) strcat(b, "tail");
		char *d = strdup(a);
		free(d);
		char *save, t[] = "one,two;three four";
		for (char *w = strtok_r(t, ",; ", &save); w; w = strtok_r(NULL, ",; ", &save)) sink += strlen(w);
	}
}

__attribute__((noinline)) static void wide(void)
{
	static wchar_t a[600], b[600];
	for (int k = 0; k < 10; k++) {
		size_t n = rnd() % 500;
		wmemset(a, L'x', n);
		a[n] = 0;
		wcscpy(b, a);
		sink += wcslen(b) + wcscmp(a, b) + (long)wcschr(a, L'q') + wmemcmp(a, b, n);
		char mb[700];
		wcstombs(mb, a, sizeof mb);
		mbstowcs(b, mb, 500);
		swprintf(b, 500, L"%d %ls", k, L"wide");
	}
}

__attribute__((noinline)) static void printf_(void)
{
	char b[600];
	double v = 1.0 / (1 + rnd() % 1000), w = v * 1e200, x = v * 1e-300;
	snprintf(b, sizeof b, "%d %5u %-8ld|%#x %o %lld %zu %p", round_, rnd(), (long)rnd(), rnd(), rnd(), (long long)rnd() << 30, sizeof b, (void *)b);
	snprintf(b, sizeof b, "%f %e %g %a %.15g %.0f %10.3f", v, w, x, v, v, w, v);
	snprintf(b, sizeof b, "%Lf %Lg %La", (long double)v * 3, (long double)w * w, (long double)x);
	snprintf(b, sizeof b, "%s %.3s %20s %-20s %c %% %n", "a string", "cut", "right", "left", 'c', (int *)b + 100);
	snprintf(b, sizeof b, "%2$s %1$d", 5, "positional");
	snprintf(b, sizeof b, "%ls %lc", L"wide string", L'w');
	char *p;
	if (asprintf(&p, "%s-%d", "asprintf", rnd()) > 0) free(p);
	sprintf(b, "%f %f %f", INFINITY, NAN, -0.0);
	errno = rnd() % 130;
	snprintf(b, sizeof b, "%m");
	int i; long l; float f; double d; char s[50], c;
	sscanf("12 345678901 3.25 1e-7 word x", "%d %ld %f %lf %49s %c", &i, &l, &f, &d, s, &c);
	sscanf("0x1f [abc]def", "%x [%49[a-c]]", (unsigned *)&i, s);
}

__attribute__((noinline)) static void numbers(void)
{
	const char *d[] = { "0.1", "3.14159265358979323846264338327950288", "1e308", "4.9e-324", "123456789012345678901234567890", "0x1.8p3", "inf", "nan", "-2.5e-10x",
		"179769313486231580793728971405303415079934132710037826936173778980444968292764750946649017977587207096330286416692887910946555547851940402630657488671505820681908902000708383676273854845817711531764475730270069855571366959622842914819860834936475292719074168444365510704342711559699508093042880" };
	for (int k = 0; k < 10; k++) {
		char *e;
		sink += strtod(d[k], &e) + strtof(d[k], NULL) + strtold(d[k], NULL);
	}
	sink += strtol("-12345", NULL, 10) + strtoul("0xdeadbeef", NULL, 0) + strtoll("777", NULL, 8) + atoi("42") + strtoimax("z", NULL, 36);
	div_t q = div(rnd(), 7);
	lldiv_t r = lldiv((long long)rnd() << 30, 77);
	sink += q.quot + r.rem + labs(-5);
	double x = 1 + (rnd() % 1000) / 7.0;
	sink += sin(x) + cos(x) * exp(x / 100) + log(x) + pow(x, 1.5) + sqrt(x) + fmod(x, 0.7) + cbrt(x) + tgamma(2.5) + atan2(x, 2) + sinh(1) + erf(.3) + j0(x) + floor(x) + lgamma(x);
	sink += sinf(x) + powf(x, 2.5f) + expf(1.5f) + (long)sinl(x) + (long)powl(x, 1.25L);
	int e;
	sink += frexp(x, &e) + ldexp(x, 3) + rint(x) + nearbyint(x) + (long)fma(x, x, x) + remainder(x, 3);
}

__attribute__((noinline)) static int by_int(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;
	return x < y ? -1 : x > y;
}

struct rec { char name[40]; int key; };

static int by_name(const void *a, const void *b) { return strcmp(((const struct rec *)a)->name, ((const struct rec *)b)->name); }
static int by_ctx(const void *a, const void *b, void *c) { ++*(int *)c; return by_int(a, b); }
static void visit(const void *n, VISIT v, int depth) { sink += (long)n + v + depth; }

__attribute__((noinline)) static void sorting(void)
{
	int v[120], n = 60 + rnd() % 60, c = 0;
	struct rec r[30];
	for (int i = 0; i < n; i++) v[i] = rnd() % 1000;
	for (int i = 0; i < 30; i++) { snprintf(r[i].name, sizeof r[i].name, "%u", rnd()); r[i].key = i; }
	qsort(v, n, sizeof *v, by_int);
	qsort(r, 30, sizeof *r, by_name);
	qsort_r(v, n, sizeof *v, by_ctx, &c);
	int key = v[n / 2];
	sink += (long)bsearch(&key, v, n, sizeof *v, by_int);
	void *root = NULL;
	for (int i = 0; i < 30; i++) tsearch(&v[i], &root, by_int);
	twalk(root, visit);
	for (int i = 0; i < 30; i++) tdelete(&v[i], &root, by_int);
	size_t m = 30;
	sink += (long)lfind(&key, v, &m, sizeof *v, by_int);
}

__attribute__((noinline)) static void heap(void)
{
	void *p[60] = { 0 };
	for (int i = 0; i < 300; i++) {
		int k = rnd() % 60;
		switch (rnd() % 5) {
		case 0: free(p[k]); p[k] = malloc(rnd() % 300); break;
		case 1: free(p[k]); p[k] = malloc(rnd() % 20000); break;
		case 2: p[k] = realloc(p[k], rnd() % 5000 + 1); break;
		case 3: free(p[k]); p[k] = calloc(rnd() % 20, rnd() % 60); break;
		default: free(p[k]); p[k] = rnd() % 20 ? NULL : aligned_alloc(64, 64 * (1 + rnd() % 10));
		}
	}
	for (int i = 0; i < 60; i++) free(p[i]);
	void *big = malloc(1 << 20);
	big = realloc(big, 2 << 20);
	free(big);

	sink += sysconf(_SC_PAGESIZE);
}

__attribute__((noinline)) static void stdio_(void)
{
	char name[] = "/tmp/oracle-XXXXXX", line[200];
	int fd = mkstemp(name);
	if (fd < 0) return;
	FILE *f = fdopen(fd, "w+");
	for (int i = 0; i < 12; i++) fprintf(f, "line %d %s %g\n", i, "text", i / 3.0);
	fputs("put", f); fputc('c', f); fwrite(line, 1, 50, f);
	fflush(f);
	rewind(f);
	while (fgets(line, sizeof line, f)) sink += strlen(line);
	fseek(f, 5, SEEK_SET);
	sink += ftell(f) + fread(line, 1, 100, f) + getc(f);
	ungetc('x', f);
	char *l = NULL; size_t n = 0;
	while (getline(&l, &n, f) > 0) sink += n;
	free(l);
	setvbuf(f, NULL, _IONBF, 0);
	fprintf(f, "unbuffered %d", 1);
	fclose(f);
	f = fopen(name, "r");
	if (f) { int i; sink += fscanf(f, "line %d", &i); fclose(f); }
	unlink(name);
	f = open_memstream(&l, &n);
	fprintf(f, "in memory %d", 5);
	fclose(f);
	free(l);
	struct stat st;
	sink += stat("/etc/passwd", &st) + access("/", R_OK);
}

__attribute__((noinline)) static void times(void)
{
	struct timespec ts; struct tm tm; char b[100];
	for (int c = 0; c < 8; c++) clock_gettime(c, &ts);
	sink += time(NULL) + ts.tv_sec;
	clock_getres(CLOCK_MONOTONIC, &ts);
	localtime_r(&ts.tv_sec, &tm);
	gmtime_r(&ts.tv_sec, &tm);
	strftime(b, sizeof b, "%A %d %B %Y %H:%M:%S %Z %j %U", &tm);
	sink += mktime(&tm) + (long)strptime("2024-02-29 12:30", "%Y-%m-%d %H:%M", &tm);
	sink += (long)getenv("PATH") + (long)getpid();
	usleep(1);
}

__attribute__((noinline)) static void patterns(void)
{
	regex_t re; regmatch_t m[4];
	if (regcomp(&re, "([a-z]+)([0-9]{2,3})*(x|y|zz)?$", REG_EXTENDED) == 0) {
		sink += regexec(&re, "hello abc123zz", 4, m, 0);
		regfree(&re);
	}
	sink += fnmatch("*.[ch]?[!a]", "file.cpx", FNM_PERIOD);
	glob_t g;
	if (glob("/etc/pass*", 0, NULL, &g) == 0) globfree(&g);
}

static sigjmp_buf jb;
__attribute__((noinline)) static void jump(int n) { if (n == 0) siglongjmp(jb, 1); jump(n - 1); sink++; }
__attribute__((noinline)) static void jumps(void)
{
	jmp_buf j;
	if (sigsetjmp(jb, 1) == 0) jump(5);
	if (setjmp(j) == 0) longjmp(j, 3);
}

/* Each handler begins with a mark, so that the tracer stops at its first instruction. */
#if defined(__x86_64__)
__asm__(".text\n.type handler,@function\nhandler:\n.cfi_startproc\n push %rax\n.cfi_adjust_cfa_offset 8\n pop %rax\n.cfi_adjust_cfa_offset -8\n"
	"lea signal_name(%rip),%rax\n movabs $0x656c6361726f,%rcx\n int3\n jmp handled\n.cfi_endproc\n.size handler,.-handler\n"
	".section .rodata\nsignal_name: .string \"signal\"\n.text\n");
#else
__asm__(".text\n.type handler,%function\nhandler:\n.cfi_startproc\n b handled\n.cfi_endproc\n.size handler,.-handler\n");
#endif
void handler(int);
__attribute__((used)) void handled(int s) { char b[40]; snprintf(b, sizeof b, "%d", s); sink += strlen(b); }

__attribute__((noinline)) static void signals(void)
{
	static char alt[16384] __attribute__((aligned(16)));
	static int set;
	if (!set) {
		set = 1;
		struct sigaction a = { .sa_handler = handler };
		sigaction(SIGUSR1, &a, NULL);
		a.sa_flags = SA_ONSTACK;
		sigaction(SIGUSR2, &a, NULL);
		stack_t st = { .ss_sp = alt, .ss_size = sizeof alt };
		sigaltstack(&st, NULL);
	}
	raise(SIGUSR1);
	raise(SIGUSR2);
	sink++;
}

static ucontext_t here, there;
static void coroutine(int n)
{
	char b[50];
	for (;;) {
		snprintf(b, sizeof b, "%d", n++);
		swapcontext(&there, &here);
	}
}
static void short_life(void) { sink += strlen("a coroutine that ends"); }

__attribute__((noinline)) static void contexts(void)
{
	static char *st;
	if (!st) {
		/* Guard pages keep this mapping separate from others. */
		st = mmap(NULL, 81920, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		mprotect(st + 8192, 65536, PROT_READ | PROT_WRITE);
	}
	getcontext(&there);
	there.uc_stack.ss_sp = st + 8192;
	there.uc_stack.ss_size = 65536;
	there.uc_link = &here;
	makecontext(&there, (void (*)(void))coroutine, 1, 5);
	for (int i = 0; i < 3; i++) swapcontext(&here, &there);
	getcontext(&there);
	there.uc_stack.ss_sp = st + 8192;
	there.uc_stack.ss_size = 65536;
	there.uc_link = &here;
	makecontext(&there, short_life, 0);
	swapcontext(&here, &there);
}

__attribute__((noinline)) static void misc(void)
{
	iconv_t c = iconv_open("UTF-16LE", "UTF-8");
	if (c != (iconv_t)-1) {
		char in[] = "text \xc3\xa4\xc3\xb6", out[100], *i = in, *o = out;
		size_t n = sizeof in, m = sizeof out;
		iconv(c, &i, &n, &o, &m);
		iconv_close(c);
	}
	unsigned seed = 5;
	sink += rand() + random() + rand_r(&seed) + (long)lrand48() + (long)drand48();
	char path[4096];
	if (realpath("/usr/../usr/bin/./env", path)) sink += strlen(path);
	setlocale(LC_ALL, "C");
	sink += toupper('a') + isalpha('b') + ffs(8) + (long)basename(path);
	hcreate(50);
	ENTRY e = { "key", 0 };
	hsearch(e, ENTER);
	hdestroy();
	getopt(1, (char *[]){ "x", NULL }, "ab:");
	strerror(5);
	putenv("ORACLE=1");
	unsetenv("ORACLE");
}

/* One stack with variable-length arrays and alloca, one with a realigned frame. */
__attribute__((noinline)) static long vla(int n) { char b[n]; memset(b, 1, n); char *p = __builtin_alloca(n / 2 + 1); p[0] = b[n / 2]; return p[0] + strnlen(p, 1); }
__attribute__((noinline)) static long aligned(int n) { char b[100] __attribute__((aligned(64))); memset(b, n, 100); return strnlen(b, 100) + b[n % 100]; }
__attribute__((noinline)) static long many(long a, long b, long c, long d, long e, long f, long g, long h, long i) { return a ? many(a - 1, b + i, c, d, e, f, g, h, i) + b : g + h * i; }
__attribute__((noinline)) static long va(int n, ...) { va_list l; va_start(l, n); double s = 0; while (n--) s += va_arg(l, double); va_end(l); return s; }
__attribute__((noinline)) static void own(void) { sink += vla(50 + rnd() % 300) + aligned(7) + many(4, 1, 2, 3, 4, 5, 6, 7, 8) + va(3, 1.0, 2.0, 3.0); }

int main(void)
{
	for (;; round_++) {
		MARK("lazy binding and printf"); printf_();
		MARK("strings"); strings_();
		MARK("numbers"); numbers();
		MARK("sorting"); sorting();
		MARK("heap"); heap();
		MARK("stdio"); stdio_();
		MARK("times"); times();
		MARK("patterns"); patterns();
		MARK("jumps"); jumps();
		MARK("signals"); signals();
		MARK("contexts"); contexts();
		MARK("wide"); wide();
		MARK("own"); own();
		MARK("misc"); misc();
	}
}
