// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/google/pprof/profile"

	"prywalk/benchmarks/recordings"
	"prywalk/benchmarks/stats"
)

const (
	recordFor = 10 * time.Second
	attachFor = time.Second
)

func measureAttach(ctx context.Context, s *shop, dir string) error {
	list, err := exec.CommandContext(ctx, "jcmd", strconv.Itoa(s.pid()), "Compiler.codelist").Output()
	if err != nil {
		return err
	}
	fmt.Printf("compiled methods: %d\n", strings.Count(string(list), "\n")-1)
	var first, dumps, cpu []float64
	for range *attach {
		ms, err := untilNamed(ctx, s.pid(), filepath.Join(dir, "first.pb.gz"))
		if err != nil {
			return err
		}
		first = append(first, ms)
		cmd := exec.CommandContext(ctx, *binary, "dump", "-p", strconv.Itoa(s.pid()))
		began := time.Now()
		out, err := cmd.Output()
		if err != nil {
			return err
		}
		took := time.Since(began)
		if n := strings.Count(string(out), "Shop.work "); n < *workers {
			return fmt.Errorf("%d of %d workers have names:\n%s", n, *workers, out)
		}
		dumps = append(dumps, float64(took.Microseconds())/1000)
		cpu = append(cpu, float64((cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()).Microseconds())/1000)
	}
	tell("a recording's first stack with names, ms", first)
	tell("dump, ms", dumps)
	tell("dump, processor time, ms", cpu)
	t := newTool("prywalk", s.pid(), dir)
	off, err := t.record(ctx, filepath.Join(dir, "attach.pb.gz"))
	if err != nil {
		return err
	}
	if err := pause(ctx, recordFor); err != nil {
		return err
	}
	if err := off(); err != nil {
		return err
	}
	fmt.Printf("a recording of %v at %d Hz: %.1f MB resident at most\n", recordFor, *freq, t.memory)
	return nil
}

// untilNamed returns ms.
func untilNamed(ctx context.Context, pid int, file string) (float64, error) {
	began := time.Now()
	cmd := exec.CommandContext(ctx, *binary, "record", "-F", strconv.Itoa(*freq), "-d", attachFor.String(), "-p",
		strconv.Itoa(pid), "-o", file)
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%w: %s", err, out)
	}
	p, err := parse(file)
	if err != nil {
		return 0, err
	}
	named, ok := recordings.FirstNamed(p, "[HotSpot ")
	if !ok {
		return 0, fmt.Errorf("%s has no function of Java", file)
	}
	return float64(named-began.UnixNano()) / 1e6, nil
}

func parse(file string) (*profile.Profile, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return profile.Parse(f)
}

func tell(what string, all []float64) {
	slices.Sort(all)
	low, high := stats.MedianInterval(all)
	fmt.Printf("%s: median %.0f (%.0f to %.0f), %.0f to %.0f, n = %d\n", what, stats.Median(all), low, high, all[0],
		all[len(all)-1], len(all))
}

func resident(cmd *exec.Cmd) float64 {
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		return float64(u.Maxrss) * 1024 / 1e6
	}
	return 0
}
