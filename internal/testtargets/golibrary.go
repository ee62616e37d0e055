// SPDX-License-Identifier: Apache-2.0

package testtargets

import "testing"

// GoLibrary is the source of a library (-buildmode=c-shared). Begin prints its goroutines, up to a line END. Stay does
// not return.
const GoLibrary = `package main

import "C"

import (
	"bytes"
	"os"
	"runtime"
	"sync"
	"time"
)

var mu sync.Mutex

//go:noinline
func receive(c chan int) { <-c }

//go:noinline
func lock() { mu.Lock() }

//go:noinline
func compute() {
	for x := 0; ; x++ {
		turns = x
	}
}

var turns int

//export Begin
func Begin() {
	c := make(chan int)
	mu.Lock()
	for i := 0; i < 20; i++ {
		go receive(c)
		go lock()
	}
	go compute()
	all := make([]byte, 1<<20)
	for bytes.Count(all, []byte(" [chan receive")) < 20 || bytes.Count(all, []byte(" [sync.Mutex.Lock")) < 20 {
		time.Sleep(10 * time.Millisecond)
		all = all[:runtime.Stack(all[:cap(all)], true)]
	}
	os.Stdout.Write(append(all, "\nEND\n"...))
}

//export Stay
func Stay() { time.Sleep(time.Hour) }

func main() {}
`

const goLibraryHost = `#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>
static void *stay(void *f) { ((void (*)(void))f)(); return 0; }
int main(int n, char **v) {
	for (int i = 1; i < n; i++) {
		void *l = dlopen(v[i], RTLD_NOW);
		if (!l) return 1;
		((void (*)(void))dlsym(l, "Begin"))();
		pthread_t t;
		pthread_create(&t, 0, stay, dlsym(l, "Stay"));
	}
	pause();
}
`

// BuildGoAs builds a Go program or library with cgo, as a module of the same name.
func BuildGoAs(t testing.TB, text, name string, args ...string) string {
	t.Helper()
	return Compiled{
		Name:    name,
		Texts:   map[string]string{"main.go": text, "go.mod": "module " + name + "\n\ngo 1.22\n"},
		Env:     []string{"CGO_ENABLED=1", "GOWORK=off"},
		Command: append(append([]string{"go", "build", "-o", "OUT"}, args...), "."),
	}.Build(t)
}

// BuildGoLibraryHost builds a C program that loads libraries of [GoLibrary].
func BuildGoLibraryHost(t testing.TB) string {
	t.Helper()
	return Compiled{
		Name:    "host",
		Texts:   map[string]string{"host.c": goLibraryHost},
		Command: []string{"cc", "-pthread", "-o", "OUT", "host.c", "-ldl"},
	}.Build(t)
}
