// SPDX-License-Identifier: Apache-2.0

// Package languages has each language's rules for frames, threads and waits, in a file each.
package languages

import (
	"regexp"
	"slices"
	"strings"
)

// All is in the order in which hints are tried, embedded languages first.
var All = []*Language{&valgrind, &java, &javaScript, &dotNet, &erlang, &Rust, &python, &ruby, &php, &Go}

// Names of frames whose function's name could not be proven: it was freed meanwhile, or moved by a collector.
const (
	FreedFunction = "[freed]"
	MovedFunction = "[moved]"
)

// ShownName is a function's name in texts for people, which have room for what these two mean.
func ShownName(function string) string {
	switch function {
	case FreedFunction:
		return "[function gone before its name was read]"
	case MovedFunction:
		return "[function moved before its name was read]"
	}
	return function
}

// Language describes one language. Its functions take names of reports, and may be nil; file is the source file, or "".
type Language struct {
	// Runtimes are the first words of managed.Runtime.Name and of its frames' mappings ("[CPython 3.12.1]").
	Runtimes []string
	// Kind is its frames' kind in dumps and in OpenTelemetry's profile.frame.type; "" means that they are not read.
	Kind string
	// Native means that its functions are those of an ELF file.
	Native bool
	// Hints are for code without names.
	Hints []Hint

	// Stub: the frame is no function of the program.
	Stub func(function string) bool
	// Library: the function is of the language's own library.
	Library func(function, file string) bool
	// Installed: by its name, the function is of a well-known library; its file does not show that.
	Installed func(function string) bool
	// Package is a function's package, else its source file, else "".
	Package func(function, file string) string

	// Task is what recordings call a task whose waits have no thread ([GoroutineTask]), or "". Unoccupied reports
	// whether a thread has no task, by its functions in user space, innermost first; "" is an unknown one.
	Task       string
	Unoccupied func(functions []string) bool
	// Unthreaded ("virtual threads") can wait for each other without a thread, and are not examined for deadlocks.
	// Schedules reports whether a thread or one of its frames shows that the process has such; nil means that nothing
	// shows it. UnthreadedNext is a command that shows them. UnthreadedPossible means that Schedules shows only that there
	// can be some.
	Unthreaded         string
	UnthreadedNext     string
	UnthreadedPossible bool
	Schedules          func(thread, function, file, module string) bool

	Waits  Waits
	System System
}

// Roles of threads.
const (
	RoleApplication = "application"
	RoleGC          = "garbage collector"
	RoleCompiler    = "compiler"
	RoleMachine     = "virtual machine"
)

// Values of [Language].Task.
const (
	GoroutineTask = "goroutine"
	CoroutineTask = "asyncio task"
	AsyncioFamily = "asyncio"
	AsyncioSleep  = "asyncio.sleep" // the wait of a task until a time
	GreenletTask  = "greenlet"      // of Python
	FiberTask     = "fiber"         // of Ruby, PHP
	// VirtualThreadTask is of Java, VirtualThreads its [Language].Unthreaded.
	VirtualThreadTask = "virtual thread"
	VirtualThreads    = VirtualThreadTask + "s"
	// AwaitTask is a chain of suspended functions, which only dumps have; Promises is its [Language].Unthreaded.
	AwaitTask = "await"
	Promises  = "promises"
)

// Waits classifies functions in stacks of waiting threads.
type Waits struct {
	// Forwards reports whether the function only forwards a wait. Again reports whether it is the waiting function all the
	// same, as it calls inner.
	Forwards func(function, file string) bool
	Again    func(function, file, inner string) bool
	// Starts reports whether it runs a thread's function.
	Starts func(function, file string) bool
	// Main reports whether it is the outermost one of the first thread.
	Main func(function, file string) bool
	// Takes reports whether it takes the next task of a queue.
	Takes func(function, file string) bool
	// Pool names a pool's loop, or is "". Pooled: a worker waits there for its next task.
	Pool   func(function, file string) string
	Pooled func(function, file string) bool
	// Result names the wait for a task's result, or is "". more means that its callers may be such waits, too.
	Result func(function, file string) (name string, more bool)
	// Connects reports whether it waits for a free connection of a pool, if it takes that from a queue.
	Connects func(function, file string) bool
	// Lock matches functions that wait for a lock; one called by Permit's waits for a semaphore's permit.
	Lock, Permit *regexp.Regexp
	// Sleeps reports whether it sleeps, though natively it waits for a condition. LockWithin names a lock by the function
	// that waits for it, such as a condition's; "" means that its type names it.
	Sleeps     func(function string) bool
	LockWithin func(lockType, function string) string
	// Acquires reports whether it forwards a wait, and takes a lock. BareLocks means that locks are taken without a frame,
	// natively as semaphores, and have no owner in memory.
	Acquires  func(function string) bool
	BareLocks bool
	// Accepts reports whether it waits for connections, Selects whether it waits in an event loop. Serves matches
	// functions that wait for the end of a server, which accepts connections in other threads.
	Accepts func(function, file string) bool
	Selects func(function, file string) bool
	Serves  *regexp.Regexp
	// AwaitsReply reports whether it is innermost, and runs a native event loop within work.
	AwaitsReply func(function, file string) bool
	// Own reports whether a thread of the runtime waits there; caller may be "".
	Own func(function, caller string) bool
}

// System describes a runtime's native code.
type System struct {
	// Files match base names of files between a wait and managed code; LibraryFiles those without functions of
	// applications; QueueFile one that takes from a queue.
	Files, LibraryFiles, QueueFile *regexp.Regexp
	QueueFunction                  *regexp.Regexp
	// LibraryFunctions match native functions that are not an application's.
	LibraryFunctions *regexp.Regexp
	// NativeForwards matches native functions as [Waits].Forwards.
	NativeForwards *regexp.Regexp
	// NativeOwn is [Waits].Own by file.
	NativeOwn func(module, function string) bool
	// Launcher has files in which the first thread waits for the program.
	Launcher *regexp.Regexp
	// Collects matches native functions of Files, of any file without Files, below which the garbage collector runs.
	Collects *regexp.Regexp
	// Compiles matches native functions of Files below which source text is compiled.
	Compiles *regexp.Regexp
}

// Collector names the garbage collector, or compiler of source text, that runs below a native function, or is "".
func Collector(function, module string) string {
	for _, l := range All {
		switch {
		case l.System.Files != nil && !l.System.Files.MatchString(module):
		case l.System.Collects != nil && l.System.Collects.MatchString(function):
			return l.Runtimes[0] + "'s garbage collector"
		case l.System.Compiles != nil && l.System.Compiles.MatchString(function):
			return l.Runtimes[0] + "'s compiler"
		}
	}
	return ""
}

// CollectorOfRole names the garbage collector that threads of a role run.
var CollectorOfRole = map[string]string{
	RoleGC: "the JVM's garbage collector", RoleMachine: "the JVM's VM Thread (which collects garbage with SerialGC)"}

// Hint is for a runtime's code without names.
type Hint struct {
	// Code describes the code.
	Runtime, Code string
	// Remedy gives names. PID stands for the process, AGAIN for the command to run then.
	Remedy string
	// Live: the remedy works on a running process.
	Live bool
	// Files match base names of the program's files.
	Files *regexp.Regexp
	// Eval are the functions that interpret; nil means that they have no names either.
	Eval []string
	// Since is the first version with the remedy; Version matches it in a file's name.
	Since   [2]int
	Version *regexp.Regexp
}

// OfScheduler returns the language of a thread that has no task, by its functions in user space, or nil.
func OfScheduler(functions []string) *Language {
	for _, l := range All {
		if l.Unoccupied != nil && l.Unoccupied(functions) {
			return l
		}
	}
	return nil
}

// OfSystem returns the language of a managed.Runtime.Name, or nil.
func OfSystem(name string) *Language {
	word, _, _ := strings.Cut(name, " ")
	for _, l := range All {
		if slices.Contains(l.Runtimes, word) {
			return l
		}
	}
	return nil
}

// OfMapping returns the language of a mapping's frames, or nil.
func OfMapping(mapping string) *Language {
	name, ok := strings.CutPrefix(mapping, "[")
	if !ok {
		return nil
	}
	name, _, _ = strings.Cut(name, "]")
	return OfSystem(name)
}

// Matches reports whether s matches the part of any language.
func Matches(s string, part func(*Language) *regexp.Regexp) bool {
	for _, l := range All {
		if re := part(l); re != nil && re.MatchString(s) {
			return true
		}
	}
	return false
}

// LastComponent returns a function's name without scope.
func LastComponent(function string) string {
	name := WithoutArguments(function)
	if i := strings.LastIndexAny(name, ".:"); i >= 0 {
		name = name[i+1:]
	}
	return name
}

// WithoutArguments drops function and template arguments.
func WithoutArguments(function string) string {
	out := make([]byte, 0, len(function))
	depth := 0
	function = strings.ReplaceAll(function, "(anonymous namespace)", "{anonymous}")
	if strings.HasSuffix(function, "operator()") {
		function = strings.TrimSuffix(function, "operator()") + "operator"
	}
	for i := range len(function) {
		switch c := function[i]; c {
		case '<', '(':
			depth++
		case '>', ')':
			depth--
		default:
			if depth <= 0 {
				out = append(out, c)
			}
		}
	}
	return string(out)
}

// Unthreads reports whether a program with a file of this base name may have tasks that no dump shows
// ([Language].Unthreaded).
func Unthreads(base string) bool {
	return slices.ContainsFunc(All, func(l *Language) bool {
		return l.UnthreadedNext != "" && slices.ContainsFunc(l.Hints, func(h Hint) bool { return h.Files.MatchString(base) })
	})
}
