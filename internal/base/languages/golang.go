// SPDX-License-Identifier: Apache-2.0

package languages

import (
	"regexp"
	"slices"
	"strings"
)

// Go is Go. Waits of goroutines are in package waits (idlegoroutines.go).
var Go = Language{
	Runtimes: []string{"Go"}, Kind: "go", Native: true,
	Task: GoroutineTask, Unoccupied: onlySchedules,
	Schedules: func(_, function, _, _ string) bool {
		switch function {
		case "runtime.mstart", "runtime.mcall", "runtime.goexit", "runtime.schedule":
			return true
		}
		return false
	},
	System: System{
		LibraryFunctions: regexp.MustCompile(`^(runtime[./]|sync[./]|internal/|syscall\.|time\.|os[./]|io[./]|net[./]|` +
			`context\.|bufio\.|reflect\.|database/|crypto/|encoding/|poll\.)`),
		NativeForwards: regexp.MustCompile(`^_*(s|S)yscall6?$|` +
			`^runtime\.(futex\w*|notes?leep\w*|notet?sleep\w*|mPark|lock2?|semasleep|usleep)$|^internal/runtime/syscall`),
		NativeOwn: func(_, function string) bool { return function == "runtime.sysmon" },
		Collects:  regexp.MustCompile(`^runtime\.(gcBgMarkWorker|gcAssistAlloc1?|gcStart|bgsweep|bgscavenge|wbBufFlush1?)$`),
	},
}

// threadBegins are C functions in which threads of Go programs begin.
var threadBegins = []string{"start_thread", "clone", "clone3", "__clone", "__clone3", "crosscall1", "crosscall_amd64",
	"threadentry"}

// onlySchedules is true of sysmon's thread in any case, as between looks: it never runs a goroutine.
func onlySchedules(functions []string) bool {
	if slices.Contains(functions, "runtime.sysmon") {
		return true
	}
	some := false
	for _, name := range functions {
		switch {
		case strings.HasPrefix(name, "runtime.") && name != "runtime.main" && name != "runtime.goexit",
			strings.HasPrefix(name, "internal/runtime/"):
			some = true
		case !slices.Contains(threadBegins, name):
			return false
		}
	}
	return some
}

// ServesRequest reports a function of a server's library that calls the program for a request.
func ServesRequest(function string) bool {
	return function == "net/http.serverHandler.ServeHTTP" || function == "google.golang.org/grpc.(*Server).handleStream"
}
