// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	pprof "github.com/google/pprof/profile"

	"prywalk/benchmarks/recordings"
	"prywalk/benchmarks/stats"
)

const attachFor = time.Second

func (s *settings) measureAttach(ctx context.Context, e *environment, p *program) error {
	t, err := e.start(ctx, p)
	if err != nil {
		return err
	}
	defer t.kill()
	t.resume()
	time.Sleep(2 * time.Second)
	pid, out := strconv.Itoa(t.cmd.Process.Pid), filepath.Join(e.dir, "attach")
	var first, cpu, memory, dumps, dumpCPU, dumpMemory []float64
	for range s.attach {
		began := time.Now()
		used, most, err := runCounted(exec.CommandContext(ctx, s.prywalk, "record", "-F", "100", "-d", attachFor.String(),
			"-p", pid, "-o", out))
		if err != nil {
			return err
		}
		named, err := firstNamed(out)
		if err != nil {
			return err
		}
		first = append(first, float64(named-began.UnixNano())/1e6)
		cpu, memory = append(cpu, used), append(memory, most)
		began = time.Now()
		if used, most, err = runCounted(exec.CommandContext(ctx, s.prywalk, "dump", "-p", pid)); err != nil {
			return err
		}
		dumps = append(dumps, time.Since(began).Seconds()*1e3)
		dumpCPU, dumpMemory = append(dumpCPU, used), append(dumpMemory, most)
	}
	fmt.Printf("%s, n = %d: median (interval), most\n", p.name, s.attach)
	tell("record: first stack with names, ms", first)
	tell("record of 1 s: processor time, s", cpu)
	tell("record of 1 s: memory, MB", memory)
	tell("dump: ms", dumps)
	tell("dump: processor time, s", dumpCPU)
	tell("dump: memory, MB", dumpMemory)
	return nil
}

func tell(what string, all []float64) {
	slices.Sort(all)
	low, high := stats.MedianInterval(all)
	fmt.Printf("  %s: %.4g (%.4g to %.4g), %.4g\n", what, stats.Median(all), low, high, all[len(all)-1])
}

// runCounted returns CPU time in s, and memory in 10^6 bytes.
func runCounted(c *exec.Cmd) (cpu, memory float64, err error) {
	if out, err := c.CombinedOutput(); err != nil {
		return 0, 0, fmt.Errorf("%w: %s", err, lastLine(out))
	}
	u := c.ProcessState
	if r, ok := u.SysUsage().(*syscall.Rusage); ok {
		memory = float64(r.Maxrss) * 1024 / 1e6
	}
	return (u.UserTime() + u.SystemTime()).Seconds(), memory, nil
}

// firstNamed returns the time of the first stack with a Python function, Unix ns.
func firstNamed(file string) (int64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	rec, err := pprof.Parse(bytes.NewReader(text))
	if err != nil {
		return 0, err
	}
	first, ok := recordings.FirstNamed(rec, "[CPython ")
	if !ok {
		return 0, fmt.Errorf("%s has no function of Python", file)
	}
	return first, nil
}
