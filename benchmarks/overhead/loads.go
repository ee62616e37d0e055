// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"time"

	"prywalk/benchmarks/bench"
	bare "prywalk/benchmarks/bench/load"
	"prywalk/benchmarks/bench/tools"
	"prywalk/benchmarks/overhead/load"
	"prywalk/benchmarks/overhead/peers"
)

const (
	cLoad      = "c"
	pythonLoad = tools.Python
	javaLoad   = tools.JVM
)

const workload = "workload"

const compiling = 2 * time.Second

func loadNames() []string {
	return slices.Concat([]string{bare.Busy}, load.Kinds(), load.Servers(), []string{cLoad, pythonLoad, javaLoad})
}

func usual(kind string) (threads, running []int) {
	all := runtime.NumCPU()
	switch kind {
	case load.Wake:
		return []int{100, 1000}, []int{10, 50}
	case load.Deep:
		return []int{4}, []int{bench.SpareCPUs()}
	case load.Locks:
		return []int{10, 1000}, []int{4 * all}
	case load.Requests:
		return []int{10, 1000, 5000}, []int{1, 2 * all}
	case load.Goroutines:
		return []int{100, 10000}, []int{all}
	case load.GoServer:
		return []int{100, 5000}, []int{4 * all}
	case load.Redis:
		return []int{1}, []int{1}
	case load.Postgres:
		return []int{8}, []int{8}
	case cLoad:
		return []int{2, 100, 1000, 5000}, []int{bench.SpareCPUs(), all}
	case pythonLoad:
		return []int{2, 100}, []int{1}
	}
	return []int{2, 100, 1000}, []int{bench.SpareCPUs()}
}

func loadOf(name string, depths []int) bench.Load {
	l := bench.Load{Name: name, Kind: tools.Native, Usual: func() (threads, running []int) { return usual(name) }}
	switch name {
	case bare.Busy:
		return bench.Busy()
	case cLoad:
		l.Command = compiled
	case pythonLoad:
		l.Kind, l.Command = name, interpreted("load.py", load.PythonLoad, "python3")
	case javaLoad:
		l.Kind, l.Warm = name, compiling
		l.Command = interpreted("Load.java", load.JavaLoad, "java", "-XX:+UseSerialGC")
	default:
		l.Latency, l.Command = latency, itself(name)
		switch name {
		case load.Postgres:
			l.Kind = tools.Several
		case load.Deep:
			l.Depths = depths
		}
	}
	return l
}

func itself(kind string) func(context.Context, string, bench.Target) (*exec.Cmd, error) {
	return func(ctx context.Context, _ string, t bench.Target) (*exec.Cmd, error) {
		self, err := os.Executable()
		return exec.CommandContext(ctx, self, workload, "-kind", kind, "-running", strconv.Itoa(t.Running), "-sleeping",
			strconv.Itoa(t.Threads-t.Running), "-depth", strconv.Itoa(t.Depth)), err
	}
}

func interpreted(name string, source []byte, program string, flags ...string) func(context.Context, string,
	bench.Target) (*exec.Cmd, error) {
	return func(ctx context.Context, dir string, t bench.Target) (*exec.Cmd, error) {
		if _, err := exec.LookPath(program); err != nil {
			return nil, fmt.Errorf("%s: %w", program, bench.ErrAbsent)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, source, 0o600); err != nil {
			return nil, err
		}
		return exec.CommandContext(ctx, program, append(flags, path, strconv.Itoa(t.Running),
			strconv.Itoa(t.Threads-t.Running))...), nil
	}
}

func compiled(ctx context.Context, dir string, t bench.Target) (*exec.Cmd, error) {
	binary := filepath.Join(dir, "load")
	if err := peers.Compile(binary, load.CLoad, "-pthread"); err != nil {
		return nil, fmt.Errorf("%w: %w", bench.ErrAbsent, err)
	}
	return exec.CommandContext(ctx, binary, strconv.Itoa(t.Running), strconv.Itoa(t.Threads-t.Running)), nil
}
