// SPDX-License-Identifier: Apache-2.0

// Package languages has what each language calls its frames, threads and waits. A new one is a file here and a line in
// [All].
package languages

import (
	"regexp"
	"slices"
	"strings"
)

// All has the languages in the order in which hints are tried, embedded ones first.
var All = []*Language{&java, &javaScript, &dotNet, &erlang, &python, &ruby, &php, &Go}

// FreedFunction names a frame of a function that was freed meanwhile.
const FreedFunction = "[freed]"

// Language describes one language. Its functions take names as in reports, and may be nil; file is the source file, or
// "".
type Language struct {
	// Systems are its runtimes: first words of managed.Runtime.Name, and of its frames' mappings ("[CPython 3.12.1]").
	Systems []string
	// Kind is the kind of its frames in dumps, and OpenTelemetry's profile.frame.type; "": its frames are not read.
	Kind string
	// Native: its functions are those of an ELF file.
	Native bool
	// Hints are for code without names.
	Hints []Hint

	// Stub reports whether a frame is no function of the program.
	Stub func(function string) bool
	// Library reports whether a function is of the language's own library.
	Library func(function, file string) bool
	// Package gives the package of a function, else its source file, else "".
	Package func(function, file string) string
	// ThreadFile matches base names of files. In a process with such a file Role gives a thread's role by its name.
	ThreadFile *regexp.Regexp
	Role       func(thread string) string

	// Task is what recordings call tasks whose waits have no thread, or "". Unoccupied reports whether a thread sleeps
	// without a task to run, by its functions without the kernel's, innermost first; "" is an unknown one.
	Task       string
	Unoccupied func(functions []string) bool
	// Unthreaded is what can wait for each other without a thread, and is not examined for deadlocks: "virtual
	// threads". Schedules reports whether a thread's name, or one of its frames, shows that the process has such; nil:
	// no process is known to have such.
	Unthreaded string
	Schedules  func(thread, function, file, module string) bool

	Waits
	System
}

// Roles of threads. A runtime whose own threads all do the same has no others.
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
)

// Waits classifies functions in stacks of waiting threads.
type Waits struct {
	// Forwards reports whether a function only forwards a wait. Again reports whether it is the waiting function all
	// the same, as it calls inner.
	Forwards func(function, file string) bool
	Again    func(function, file, inner string) bool
	// Starts reports whether a function runs a thread's function.
	Starts func(function, file string) bool
	// Main reports whether a function is the outermost one of the first thread.
	Main func(function, file string) bool
	// Takes reports whether a function takes the next task of a queue.
	Takes func(function, file string) bool
	// Pool names a pool's loop, or is "". Pooled reports whether a worker waits in a function for its next task.
	Pool   func(function, file string) string
	Pooled func(function, file string) bool
	// Result names the wait for a task's result, or is "". more: its callers may be such waits, too.
	Result func(function, file string) (name string, more bool)
	// Lock matches functions of locks; Condition those of conditions, which use locks.
	Lock, Condition *regexp.Regexp
	// Sleeps reports whether a function sleeps, though natively it waits for a condition. LockWithin names a lock of a
	// type, by a function that waits for it, such as a condition's; "": by its type.
	Sleeps     func(function string) bool
	LockWithin func(lockType, function string) string
	// Acquires reports whether a function that only forwards a wait takes a lock. BareLocks: locks are taken without a
	// frame, natively as semaphores, and have no owner in memory.
	Acquires  func(function string) bool
	BareLocks bool
	// Accepts reports whether a function waits for connections, Selects whether it waits in an event loop.
	Accepts func(function, file string) bool
	Selects func(function string) bool
	// AwaitsReply reports whether a function, the innermost, runs a native event loop within work.
	AwaitsReply func(function, file string) bool
	// Own reports whether a thread of the runtime waits in a function; caller may be "".
	Own func(function, caller string) bool
	// RuleFile reports whether these rules need the source file.
	RuleFile func(file string) bool
}

// System describes a runtime's native code.
type System struct {
	// Files match base names of files between a wait and managed code; LibraryFiles those without functions of
	// applications; QueueFile one that takes from a queue.
	Files, LibraryFiles, QueueFile *regexp.Regexp
	QueueFunction                  *regexp.Regexp
	// LibraryFunctions match native functions that are not an application's.
	LibraryFunctions *regexp.Regexp
	// NativeForwards and NativeStarts are for native functions as Forwards and Starts.
	NativeForwards, NativeStarts *regexp.Regexp
	// NativeOwn is [Waits].Own by file.
	NativeOwn func(module, function string) bool
	// Launcher has files in which the first thread waits for the program.
	Launcher *regexp.Regexp
}

// Hint is about one runtime's code without names.
type Hint struct {
	// Runtime is its name; Code describes the code.
	Runtime, Code string
	// Remedy gives names. PID stands for the process, AGAIN for the command to run then.
	Remedy string
	// Live: the remedy works on a running process.
	Live bool
	// Files match base names of the program's files.
	Files *regexp.Regexp
	// Eval are the functions that interpret; nil: they have no names either.
	Eval []string
	// Since is the first version with the remedy; Version matches it in a file's name.
	Since   [2]int
	Version *regexp.Regexp
}

// OfSystem returns the language of a managed.Runtime.Name, or nil.
func OfSystem(name string) *Language {
	word, _, _ := strings.Cut(name, " ")
	for _, l := range All {
		if slices.Contains(l.Systems, word) {
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

// WithoutArguments returns a name without function and template arguments.
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
