// SPDX-License-Identifier: Apache-2.0

package languages

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

var python = Language{
	Runtimes: []string{"CPython"}, Kind: "cpython",
	Hints: []Hint{{
		Runtime: "Python", Code: "Python functions, run by the interpreter",
		Remedy: "start it with python3 -X perf (3.12 and later)",
		Files:  regexp.MustCompile(`^(python([\d.]+[dmt]*)?|libpython[\d.]*[dmt]*\.so.*)$`),
		Since:  [2]int{3, 12}, Version: regexp.MustCompile(`^(?:lib)?python(\d+)\.(\d+)`),
		Eval: []string{"_PyEval_EvalFrameDefault", "PyEval_EvalFrameEx", "_PyEval_EvalFrame"},
	}},
	Library: func(_, file string) bool {
		return pythonLibrary.MatchString(file) && !strings.Contains(file, "-packages/")
	},
	Package: pythonModule,
	Task:    CoroutineTask, Unoccupied: onlySelects,
	Unthreaded: "asyncio's tasks", Schedules: func(_, _, file, module string) bool {
		return strings.Contains(file, "asyncio/") || strings.Contains(module, "uvloop")
	},
	Waits: Waits{
		Forwards: func(function, file string) bool {
			known := pythonForwards[path.Base(file)]
			return known != nil && known.MatchString(function)
		},
		Again: func(function, file, inner string) bool {
			return path.Base(file) == "threading.py" && LastComponent(function) == "wait" && LastComponent(inner) == "wait"
		},
		Starts: func(function, file string) bool {
			name := LastComponent(function)
			return path.Base(file) == "threading.py" && (name == "run" || name == "_bootstrap" || name == "_bootstrap_inner")
		},
		Main: func(function, _ string) bool { return strings.HasPrefix(function, "<module>") },
		Takes: func(function, file string) bool {
			return strings.HasPrefix(path.Base(file), "queue") && LastComponent(function) == "get"
		},
		Pool: func(function, file string) string {
			if !pythonPooled(function, file) {
				return ""
			}
			return function + " of " + path.Base(path.Dir(file)) + "." + strings.TrimSuffix(path.Base(file), ".py")
		},
		Pooled:    pythonPooled,
		BareLocks: true, Acquires: func(function string) bool { return LastComponent(function) == "__enter__" },
		LockWithin: func(lockType, function string) string {
			// Each waiter takes a lock of its own, which the notifying thread releases.
			if (lockType == PythonLock || lockType == UnknownPythonLock) && function == "Condition.wait" {
				return PythonCondition
			}
			return ""
		},
		Selects: func(function, file string) bool {
			return fileInDir(file) == waitressLoop && LastComponent(function) == "loop"
		},
		Connects: func(function, file string) bool { return pythonConnects[fileInDir(file)] == LastComponent(function) },
		Result: func(function, file string) (name string, more bool) {
			if last := LastComponent(function); path.Base(file) == "_base.py" && (last == "result" || last == "exception") {
				return "Future." + last, false
			}
			return "", false
		},
		AwaitsReply: func(function, file string) bool {
			name := LastComponent(function)
			return fileInDir(file) == grpcCalls && (name == "_blocking" || name == "_consume_next_event")
		},
	},
	System: System{
		Files: regexp.MustCompile(`^(libpython[\d.]+.*\.so|python([\d.]+[dmt]*)?$|_queue\..*\.so|_thread\..*\.so|` +
			`select\..*\.so|_multiprocessing\..*\.so)`),
		Collects:      regexp.MustCompile(`^(gc_collect_\w+|collect_generations|_?PyGC_Collect|_Py_RunGC)(\.|$)`),
		LibraryFiles:  regexp.MustCompile(`^(libpython|python([\d.]+[dmt]*)?$|_\w+\.cpython-.*\.so)`),
		QueueFile:     regexp.MustCompile(`^_queue\.`),
		QueueFunction: regexp.MustCompile(`^_queue_SimpleQueue_get`),
	},
}

// Classes made of a lock of CPython.
const (
	PythonLock        = "threading.Lock"
	PythonRLock       = "threading.RLock"
	PythonCondition   = "threading.Condition"
	UnknownPythonLock = "lock of CPython" // of an interpreter without symbols, which shows no class
)

var pythonLibrary = regexp.MustCompile(`/lib(64)?/python\d[\d.]*t?/|^<(frozen|__|\w+ generated )`)

// by source file
var pythonForwards = map[string]*regexp.Regexp{
	"threading.py":  regexp.MustCompile(`(^|\.)(wait|wait_for)$`),
	"_threading.py": regexp.MustCompile(`(^|\.)(acquire_with_timeout|wait|get)$`), // gevent
	"queue.py":      regexp.MustCompile(`(^|\.)get$`),
	"queues.py":     regexp.MustCompile(`(^|\.)get(_payload)?$`),
	// of multiprocessing and billiard, as the one above
	"synchronize.py": regexp.MustCompile(`(^|\.)__enter__$`),
	"connection.py":  regexp.MustCompile(`(^|\.)(_?recv|_?recv_bytes)$`),
	"selectors.py":   regexp.MustCompile(`(^|\.)select$`),
	"wasyncore.py":   regexp.MustCompile(`^(poll2?|loop)$`),
}

var pythonPools = map[string]string{"futures/thread.py": "_worker", "multiprocessing/pool.py": "worker",
	"futures/process.py": "_process_worker", "gevent/threadpool.py": "run", "gunicorn/arbiter.py": "wait_for_signals",
	"billiard/pool.py": "_recv"}

// pythonConnects are of the pools of connections of SQLAlchemy and redis-py that wait for a free one.
var pythonConnects = map[string]string{"pool/impl.py": "_do_get", "redis/connection.py": "get_connection"}

const waitressLoop = "waitress/wasyncore.py"

const grpcCalls = "grpc/_channel.py" // their caller waits in a native event loop

func pythonPooled(function, file string) bool {
	loop := pythonPools[fileInDir(file)]
	return loop != "" && loop == LastComponent(function)
}

func fileInDir(file string) string {
	dir, name := path.Split(file)
	return path.Base(dir) + "/" + name
}

// pythonModule returns "django.db" for an installed "django/db/utils.py"; the module's own name outside of packages.
func pythonModule(_, file string) string {
	top := pythonModules.FindString(file)
	if top == "" {
		if frozen, ok := strings.CutPrefix(file, "<frozen "); ok {
			return strings.TrimSuffix(frozen, ">")
		}
		return fileName(file)
	}
	file = file[len(top):]
	dir := path.Dir(file)
	if dir == "." {
		return strings.TrimSuffix(file, path.Ext(file))
	}
	return strings.ReplaceAll(strings.Trim(dir, "/"), "/", ".")
}

// fileName returns a source file's base name, or what stands for a file.
func fileName(file string) string {
	if file == "" || strings.HasSuffix(file, "/") || strings.HasPrefix(file, "<") {
		return file
	}
	return path.Base(file)
}

// onlySelects reports whether a stack waits in asyncio's event loop: a turn of the loop calls its selector
// (asyncio/base_events.py, selectors.py). Before 3.11 Python has no names of classes.
func onlySelects(functions []string) bool {
	called := ""
	for _, name := range functions {
		switch {
		case name == "":
		case IsLoopTurn(name):
			return called == "select" || strings.HasSuffix(called, "Selector.select")
		default:
			called = name
		}
	}
	return false
}

// IsLoopTurn reports whether a function is a turn of asyncio's event loop (asyncio/base_events.py).
func IsLoopTurn(function string) bool {
	return function == "BaseEventLoop._run_once" || function == "_run_once"
}

// HoldsEventLoop reports whether a stack, innermost function first, is within a turn of asyncio's event loop, but not
// in its selector: while it waits there, no task of the loop runs.
func HoldsEventLoop(functions []string) bool {
	return slices.ContainsFunc(functions, IsLoopTurn) && !onlySelects(functions)
}
