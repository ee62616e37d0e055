// SPDX-License-Identifier: Apache-2.0
// A program with PHP's library, thread-safe, whose threads run a script each: threads SCRIPT DIRECTORY THREADS PAUSE.
// A script's arguments are DIRECTORY, the thread's number, and PAUSE. As FrankenPHP, it makes the threads in C, and its
// first thread runs no script.
#define _GNU_SOURCE
#include <pthread.h>
#include <sapi/embed/php_embed.h>
#include <unistd.h>

ZEND_TSRMLS_CACHE_DEFINE()

static char *script, *directory, *pause_us;

static void *run(void *argument)
{
	char number[16];
	char *args[] = {script, directory, number, pause_us, NULL};
	zend_file_handle file;

	snprintf(number, sizeof number, "%ld", (long)argument);
	ts_resource(0);
	ZEND_TSRMLS_CACHE_UPDATE();
	SG(request_info).argc = 4;
	SG(request_info).argv = args;
	if (php_request_startup() == FAILURE)
		_exit(1);
	zend_first_try {
		zend_stream_init_filename(&file, script);
		php_execute_script(&file);
		zend_destroy_file_handle(&file);
	} zend_end_try();
	php_request_shutdown(NULL);
	ts_free_thread();
	return NULL;
}

static size_t say(const char *text, size_t n) { return write(1, text, n); }

int main(int argc, char **argv)
{
	pthread_t thread;
	long i, n;

	if (argc != 5)
		return 2;
	script = argv[1];
	directory = argv[2];
	n = atol(argv[3]);
	pause_us = argv[4];
	php_embed_module.ub_write = say;
	php_embed_module.php_ini_ignore = 1;
	php_embed_init(1, argv);
	for (i = 0; i < n; i++)
		if (pthread_create(&thread, NULL, run, (void *)i))
			return 1;
	for (;;)
		pause();
}
