// SPDX-License-Identifier: Apache-2.0

package testtargets

import (
	"fmt"
	"slices"
	"syscall"
)

type spec struct {
	name    string
	expect  Expect
	program *program
	start   func(t *Target) error
	// stop is the signal that ends it tidily; 0: SIGKILL.
	stop syscall.Signal
}

var specs = []spec{
	{name: "c", expect: native, program: cProgram("-g", "-fomit-frame-pointer"), start: startProgram},
	{name: "c-nocfi", expect: native.tableless(), program: cProgram(
		// -g would bring call frame information back in .debug_frame.
		"-fomit-frame-pointer", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"), start: startProgram},
	{name: "c-static-pie", expect: native, program: cProgram("-static-pie"), start: startProgram},
	{name: "c-stripped", expect: native.stripped(), program: stripped(cProgram()), start: startProgram},
	{name: "cpp", expect: inlined, program: cppProgram, start: startProgram},
	{name: "rust", expect: rust, program: rustProgram, start: startProgram},
	{name: "go", expect: goProgram, program: goBuild(), start: startProgram},
	{name: "go-stripped", expect: goProgram, program: goBuild("-ldflags=-s -w"), start: startProgram},
	{name: "python", expect: python, program: script("load.py"), start: startPython},
	{name: "node", expect: node, program: script("load.js"), start: startNode},
	{name: "java", expect: java, program: javaProgram, start: startJava, stop: syscall.SIGTERM},
	{name: "redis", expect: redis, start: startRedis},
	{name: "nginx", expect: nginx, start: startNginx, stop: syscall.SIGTERM},
	{name: "postgres", expect: postgres, start: startPostgres, stop: syscall.SIGQUIT},
}

// unlisted are left out of Names.
var unlisted = []spec{
	{name: "c-O0", expect: native, program: cProgram("-g", "-O0"), start: startProgram},
	{name: "python-mixed", expect: mixed, program: script("mixed.py"), start: startPython},
	{name: "node-mixed", expect: mixed, program: script("mixed.js"), start: startMixedNode},
	{name: "java-mixed", expect: mixed, program: javaClass("Mixed"), start: startJavaClass("Mixed"),
		stop: syscall.SIGTERM},
	{name: "node-chain", expect: mixed, program: script("chain.js"), start: startNodeChain("--no-turbo-inlining")},
	{name: "node-chain-base", expect: mixed, program: script("chain.js"), start: startNodeChain("--always-sparkplug",
		"--no-opt")},
	{name: "node-chain-int", expect: mixed, program: script("chain.js"), start: startNodeChain("--no-sparkplug",
		"--no-opt")},
	{name: "java-chain", expect: mixed, program: javaClass("Chain"), start: startJavaClass("Chain", "-XX:-Inline",
		"-XX:-MethodFlushing"), stop: syscall.SIGTERM},
	{name: "java-chain-int", expect: mixed, program: javaClass("Chain"), start: startJavaClass("Chain", "-Xint"),
		stop: syscall.SIGTERM},
	{name: "java-chain-c1", expect: mixed, program: javaClass("Chain"),
		start: startJavaClass("Chain", "-XX:-Inline", "-XX:-MethodFlushing", "-XX:TieredStopAtLevel=1"),
		stop:  syscall.SIGTERM},
	{name: "java-work", expect: mixed, program: javaClass("Work"), start: startJavaClass("Work", keepWork...),
		stop: syscall.SIGTERM},
	{name: "java-work-c1", expect: mixed, program: javaClass("Work"),
		start: startJavaClass("Work", append([]string{"-XX:TieredStopAtLevel=1"}, keepWork...)...), stop: syscall.SIGTERM},
	{name: "postgres-jit", expect: postgres, stop: syscall.SIGQUIT,
		start: startPostgresWith("-c", "jit=on", "-c", "jit_above_cost=0", "-c", "jit_inline_above_cost=0", "-c",
			"jit_optimize_above_cost=0")},
	{name: "redis-contended", expect: redis, start: startContendedRedis},
	{name: "postgres-contended", expect: postgres, stop: syscall.SIGQUIT, start: startContendedPostgres},
	{name: "mariadb-contended", start: startContendedMariaDB},
	{name: "java-contended", program: javaClass("Contended"), start: startJavaClass("Contended"), stop: syscall.SIGTERM},
}

// keepWork prevents inlining in the chain of Work.java, and freeing of its code.
var keepWork = []string{"-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Work::c*", "-XX:-MethodFlushing",
	"-XX:CompileThresholdScaling=0.01"}

// Names returns the names of the targets.
func Names() []string {
	var names []string
	for _, s := range specs {
		names = append(names, s.name)
	}
	return names
}

func find(name string) (*spec, error) {
	for _, list := range [][]spec{specs, unlisted} {
		if i := slices.IndexFunc(list, func(s spec) bool { return s.name == name }); i >= 0 {
			return &list[i], nil
		}
	}
	return nil, fmt.Errorf("no test target %q; there are %q", name, Names())
}
