/* Calls Python from C that Python has called. It is a module, "host", or, with PROGRAM, a program that has the
   interpreter inside: it runs the script that it is given, once, or with a second argument again and again, each time
   in an interpreter that was begun anew. */
#ifndef PROGRAM
#define Py_LIMITED_API 0x03080000
#endif
#include <Python.h>

/* Whoever calls last is on the stack all the same. */
#define STAY() __asm__ volatile("" ::: "memory")

__attribute__((noinline)) PyObject *host_calls(PyObject *function)
{
	PyObject *result = PyObject_CallObject(function, NULL);
	STAY();
	return result;
}

__attribute__((noinline)) PyObject *host_call(PyObject *self, PyObject *args)
{
	PyObject *function, *result;
	(void)self;
	if (!PyArg_ParseTuple(args, "O", &function))
		return NULL;
	result = host_calls(function);
	STAY();
	return result;
}

static PyMethodDef methods[] = {{"call", host_call, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "host", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_host(void) { return PyModule_Create(&module); }

#ifdef PROGRAM
__attribute__((noinline)) int host_runs(const char *script)
{
	FILE *f = fopen(script, "r");
	int failed = f == NULL || PyRun_SimpleFileEx(f, script, 1);
	STAY();
	return failed;
}

int main(int argc, char **argv)
{
	int failed = 0;
	if (argc < 2)
		return 2;
	PyImport_AppendInittab("host", PyInit_host);
	do {
		Py_Initialize();
		failed = host_runs(argv[1]);
		if (argc > 2)
			Py_Finalize();
	} while (argc > 2 && !failed);
	return failed;
}
#endif
