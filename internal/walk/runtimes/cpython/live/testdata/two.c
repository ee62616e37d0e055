// A program with two libraries of Python: two HOW FIRST SECOND. Each that runs has functions of its own: first_outer
// calls first_leaf. HOW is
//
//	unstarted  the second never begins
//	threads    each runs in a thread of its own
//	turns      both run in the main thread, one after the other, without end
//	nested     first_leaf calls second_outer
//
// build: cc -g two.c -ldl -pthread
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct python {
	const char *name;
	void *library;
};

static struct python first = {"first"}, second = {"second"};
static const char *how;

#define FUNCTION(p, type, name) ((type)dlsym((p)->library, name))

static void run(struct python *p, const char *code) {
	if (FUNCTION(p, int (*)(const char *), "PyRun_SimpleString")(code) != 0) {
		exit(1);
	}
}

static void outer(struct python *p) {
	char code[100];
	snprintf(code, sizeof code, "%s_outer()\n", p->name);
	run(p, code);
}

// A function in C of the first, as its leaf calls it.
static void *call_second(void *self, void *arguments) {
	outer(&second);
	return 0;
}

static struct {
	const char *name;
	void *function;
	int flags;
	const char *doc;
} definition = {"call_second", call_second, 4, 0}; // METH_NOARGS

static void start(struct python *p) {
	char code[400];
	FUNCTION(p, void (*)(int), "Py_InitializeEx")(0);
	void *module = FUNCTION(p, void *(*)(const char *), "PyImport_AddModule")("__main__");
	void *function = FUNCTION(p, void *(*)(void *, void *, void *), "PyCFunction_NewEx")(&definition, 0, 0);
	FUNCTION(p, int (*)(void *, const char *, void *), "PyObject_SetAttrString")(module, "call_second", function);
	int calls = p == &first && strcmp(how, "nested") == 0;
	snprintf(code, sizeof code, "def %s_leaf():\n  %s\ndef %s_outer():\n  %s_leaf()\n", p->name,
		calls ? "call_second()"
		: strcmp(how, "turns") == 0 ? "for i in range(200000): pass" : "while True: pass", p->name, p->name);
	run(p, code);
}

static pthread_barrier_t started;

static void *start_and_run(void *p) {
	start(p);
	pthread_barrier_wait(&started);
	outer(p);
	return 0;
}

static void *load(const char *library) {
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
	if (!handle) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return handle;
}

int main(int argc, char **argv) {
	how = argv[1];
	first.library = load(argv[2]);
	second.library = load(argv[3]);
	if (strcmp(how, "threads") == 0) {
		pthread_t threads[2];
		pthread_barrier_init(&started, 0, 3);
		pthread_create(&threads[0], 0, start_and_run, &first);
		pthread_create(&threads[1], 0, start_and_run, &second);
		pthread_barrier_wait(&started);
		puts("ready");
		fflush(stdout);
		pthread_join(threads[0], 0);
	}
	start(&first);
	if (strcmp(how, "unstarted") != 0) {
		start(&second);
	}
	puts("ready");
	fflush(stdout);
	do {
		outer(&first);
		if (strcmp(how, "turns") == 0) {
			outer(&second);
		}
	} while (1);
}
