package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"prywalk/benchmarks/stats"
)

// recordFor is the length of the recording whose memory is measured.
const recordFor = 10 * time.Second

// measureAttach measures how long a dump takes, from the start of the command to its end: it has named the stacks of
// all threads by then. And how much memory a recording takes.
func measureAttach(ctx context.Context, s *shop, dir string) error {
	list, err := exec.CommandContext(ctx, "jcmd", strconv.Itoa(s.pid()), "Compiler.codelist").Output()
	if err != nil {
		return err
	}
	fmt.Printf("compiled methods: %d\n", strings.Count(string(list), "\n")-1)
	var all []float64
	for range *attach {
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
		all = append(all, float64(took.Microseconds())/1000)
	}
	slices.Sort(all)
	low, high := stats.MedianInterval(all)
	fmt.Printf("dump, ms: median %.0f (%.0f to %.0f), %.0f at most, n = %d\n", stats.Median(all), low, high,
		all[len(all)-1], len(all))
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

// resident gives the largest resident size of a process that has ended, in 10^6 bytes (getrusage(2)).
func resident(cmd *exec.Cmd) float64 {
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		return float64(u.Maxrss) * 1024 / 1e6
	}
	return 0
}
