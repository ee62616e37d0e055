// Threads that are created and end as fast as possible. Each must have done its work.
#include "torture.h"
#include <pthread.h>
#include <stdatomic.h>

static atomic_long born, died, worked, refused, quit;

long progress(void) { return died; }

static void *brief(void *arg) {
	worked++;
	return arg;
}

static void *maker(void *arg) {
	pthread_attr_t a;
	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, 65536);
	while (!quit) {
		pthread_t t[8];
		int n = 0;
		for (int i = 0; i < 8; i++) {
			if (pthread_create(&t[n], &a, brief, &born)) refused++;
			else n++, born++;
		}
		for (int i = 0; i < n; i++) {
			void *r = 0;
			if (pthread_join(t[i], &r) == 0 && r == &born) died++;
		}
	}
	return arg;
}

int main(void) {
	pthread_t t[4];
	for (int i = 0; i < 4; i++) must(-pthread_create(&t[i], 0, maker, 0));
	serve_until_eof();
	quit = 1;
	for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
	print_count("born", born), print_count("died", died), print_count("worked", worked), print_count("refused", refused);
	done();
}

// SPDX-License-Identifier: Apache-2.0
