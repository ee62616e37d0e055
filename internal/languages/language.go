// SPDX-License-Identifier: Apache-2.0

// Package languages has what readers of names know of each language: what its frames, threads and waits are called. A
// new language is a file here and a line in [All], beside the folder of its run-time system in internal/runtimes.
package languages

import (
	"regexp"
	"slices"
	"strings"
)

// All has the languages in the order in which their hints are tried: a program that embeds a language is known by that
// language.
var All = []*Language{&java, &javaScript, &dotNet, &erlang, &python, &ruby, &php, &golang}

// Language describes one language. All functions get the names of reports, and may be nil; file is the source file, ""
// if unknown.
type Language struct {
	// Systems are its run-time systems: first words of managed.Runtime.Name, and of the mappings of its frames,
	// "[CPython 3.12.1]".
	Systems []string
	// Kind of its frames in dumps, and OpenTelemetry's profile.frame.type; "": its frames are not read.
	Kind string
	// Native reports that its functions are those of an ELF file.
	Native bool
	// Hints are about its code without names.
	Hints []Hint

	// Stub reports whether a frame in its mapping is none of a program's.
	Stub func(function string) bool
	// Library reports whether a function is of the language's own library.
	Library func(function, file string) bool
	// Package is what a function was installed with, else its source file, else "".
	Package func(function, file string) string
	// ThreadFile matches base names of files; in processes with one Role gives a thread's role by its name.
	ThreadFile *regexp.Regexp
	Role       func(thread string) string

	// Task is how recordings call its tasks, whose waits have no thread; "" for a language without such tasks.
	// Unoccupied reports whether a thread sleeps because it has no task to run, by its functions, innermost first,
	// without the kernel's; "" stands for an unknown one.
	Task       string
	Unoccupied func(functions []string) bool

	Waits
	System
}

// The values of [Language].Task.
const (
	GoroutineTask = "goroutine"
	CoroutineTask = "asyncio task"
)

// Waits are the language's functions in stacks of waiting threads.
type Waits struct {
	// Forwards reports whether a function only forwards a wait, Again whether one that calls inner is itself the waiting
	// function all the same.
	Forwards func(function, file string) bool
	Again    func(function, file, inner string) bool
	// Starts reports whether a function starts a thread, and calls its function.
	Starts func(function, file string) bool
	// Main reports whether a function is the outermost one of the first thread.
	Main func(function, file string) bool
	// Takes reports whether a function takes the next task of a queue.
	Takes func(function, file string) bool
	// Pool gives the name of a pool's loop, "" for others. Pooled reports whether a worker waits for its next task in a
	// function.
	Pool   func(function, file string) string
	Pooled func(function, file string) bool
	// Result names the wait for a task's result, "" for others. more reports that callers may be such, too.
	Result func(function, file string) (name string, more bool)
	// Lock and Condition match functions of locks, and of conditions, which use them.
	Lock, Condition *regexp.Regexp
	// Acquires reports whether a function that only forwards a wait takes a lock. BareLocks reports that locks are taken
	// without a frame of a function, that their native wait is that of a semaphore, and that no memory has their owner.
	Acquires  func(function string) bool
	BareLocks bool
	// Accepts reports whether a function waits for connections, Selects whether it waits in an event loop.
	Accepts func(function, file string) bool
	Selects func(function string) bool
	// Own reports whether a thread of the run-time system waits in a function; caller is "" if there is none.
	Own func(function, caller string) bool
	// RuleFile reports whether the source file is needed for these rules.
	RuleFile func(file string) bool
}

// System is the native code of the run-time systems.
type System struct {
	// Files match base names of its files that are between a wait and managed code, LibraryFiles those without
	// functions of applications, QueueFile one that takes from a queue.
	Files, LibraryFiles, QueueFile *regexp.Regexp
	// QueueFunction matches native functions that take from a queue.
	QueueFunction *regexp.Regexp
	// LibraryFunctions match native functions that are no application's.
	LibraryFunctions *regexp.Regexp
	// NativeForwards and NativeStarts match native functions like those of [Waits].
	NativeForwards, NativeStarts *regexp.Regexp
	// NativeOwn is [Waits].Own by file.
	NativeOwn func(module, function string) bool
	// Launcher matches files in which the first thread waits for the program.
	Launcher *regexp.Regexp
}

// Hint is about the code of one run-time system without names.
type Hint struct {
	// Runtime is its name, Code what the code without names is.
	Runtime, Code string
	// Remedy is what gives names, with PID for the process, and AGAIN for what shows them then.
	Remedy string
	// Live reports that the remedy is for a process that runs.
	Live bool
	// Files match base names of the program's files.
	Files *regexp.Regexp
	// Eval are the functions in which it interprets; nil if its interpreter has no names either.
	Eval []string
	// Since is the first version that the remedy works for, {0, 0} if all do; Version is that in a file's name.
	Since   [2]int
	Version *regexp.Regexp
}

// OfSystem gives the language of a managed.Runtime.Name, nil if unknown.
func OfSystem(name string) *Language {
	word, _, _ := strings.Cut(name, " ")
	for _, l := range All {
		if slices.Contains(l.Systems, word) {
			return l
		}
	}
	return nil
}

// OfMapping gives the language whose frames are in a mapping, nil for none.
func OfMapping(mapping string) *Language {
	name, ok := strings.CutPrefix(mapping, "[")
	if !ok {
		return nil
	}
	name, _, _ = strings.Cut(name, "]")
	return OfSystem(name)
}

// Matches reports whether a string matches the part of any language.
func Matches(s string, part func(*Language) *regexp.Regexp) bool {
	for _, l := range All {
		if re := part(l); re != nil && re.MatchString(s) {
			return true
		}
	}
	return false
}

// Last gives a function's name without its scope.
func Last(function string) string {
	name := Plain(function)
	if i := strings.LastIndexAny(name, ".:"); i >= 0 {
		name = name[i+1:]
	}
	return name
}

// Plain gives a name without function and template arguments.
func Plain(function string) string {
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
