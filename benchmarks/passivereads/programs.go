// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"

	"prywalk/internal/testtargets"
)

type running struct {
	pids func() []int
	stop func()
}

// Sleepers of these programs have frames at a distance from the stack pointer that is not in the code.
var arrays = []struct {
	name  string
	flags []string
}{
	{"arrays-O0", []string{"-O0"}},
	{"arrays-O2", []string{"-O2", "-fno-omit-frame-pointer"}},
	{"arrays-nocfi", []string{"-O0", "-g0", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"}},
}

func programNames() []string {
	names := []string{"redis", "nginx", "postgres", "node", "java", "python", "go", "rust", "c-O0", "c"}
	for _, a := range arrays {
		names = append(names, a.name)
	}
	return names
}

func start(name string, limit time.Duration) (*running, error) {
	for _, a := range arrays {
		if a.name == name {
			return startArrays(a.flags)
		}
	}
	t, err := testtargets.Start(name, testtargets.Options{Limit: limit})
	if err != nil {
		return nil, err
	}
	return &running{pids: t.PIDs, stop: t.Stop}, nil
}

var (
	arrayCalls  = []string{"epoll", "epoll50", "read", "futex", "recv"}
	arrayShapes = []string{"plain", "stale", "recursive", "pointer"}
)

const wakeEvery = 25 * time.Millisecond

func startArrays(flags []string) (*running, error) {
	exe, err := testtargets.Compile("sleepers.c", flags...)
	if err != nil {
		return nil, err
	}
	var pids []int
	var ends []func()
	r := &running{pids: func() []int { return pids }}
	r.stop = func() {
		for _, end := range ends {
			end()
		}
	}
	for _, call := range arrayCalls {
		for _, shape := range arrayShapes {
			pid, end, err := startSleeper(exe, call, shape)
			if err != nil {
				r.stop()
				return nil, err
			}
			pids, ends = append(pids, pid), append(ends, end)
		}
	}
	return r, nil
}

func startSleeper(exe, call, shape string) (pid int, end func(), err error) {
	cmd := exec.Command(exe, call, shape)
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, nil, err
	}
	if err := cmd.Start(); err != nil {
		return 0, nil, err
	}
	var wg sync.WaitGroup
	done := make(chan struct{})
	end = func() {
		close(done)
		_ = cmd.Process.Kill()
		wg.Wait()
		_ = cmd.Wait()
	}
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); line != "ready\n" {
		end()
		return 0, nil, fmt.Errorf("%s says %q, %w", exe, line, err)
	}
	wg.Go(func() { _, _ = io.Copy(io.Discard, lines) })
	wg.Go(func() {
		tick := time.NewTicker(wakeEvery)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			if _, err := in.Write([]byte{'x'}); err != nil {
				return
			}
		}
	})
	return cmd.Process.Pid, end, nil
}
