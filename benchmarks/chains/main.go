// SPDX-License-Identifier: Apache-2.0

// Chains measures what it costs to record the other ends of descriptors, which report --chains follows.
//
//	go -C benchmarks run ./chains            two processes of 250 threads, six pairs of recordings of 10 s
//	go -C benchmarks run ./chains -threads 50 -n 1 -d 2s    a short trial
//
// The threads are in pairs at Unix sockets, each awake about 20 times a second. record is run in pairs, in random
// order: as it is, and without the search, a build in which waits.Peers.Of returns "" at once. The table has the user
// and system time of both for a second of recording, median, least and most, and what report --chains takes.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/benchmarks/command"
	"prywalk/benchmarks/stats"
	"prywalk/internal/testtargets"
)

// roleVariable makes this program one of the two targets. It has the number of threads.
const roleVariable = "PRYWALK_CHAINS_THREADS"

func main() {
	if n, err := strconv.Atoi(os.Getenv(roleVariable)); err == nil {
		exchange(n)
	}
	command.Main("chains", run)
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("chains", flag.ContinueOnError)
	threads := flags.Int("threads", 500, "threads in all")
	pairs := flags.Int("n", 6, "pairs of recordings")
	length := flags.Duration("d", 10*time.Second, "length of a recording")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *pairs < 1 {
		return errors.New("-n must be at least 1")
	}
	dir, err := os.MkdirTemp("", "prywalk-chains-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	with, without := filepath.Join(dir, "with"), filepath.Join(dir, "without")
	if err = testtargets.BuildPrywalk(with); err == nil {
		err = buildWithout(ctx, without, dir)
	}
	if err != nil {
		return err
	}
	pids, stop, err := start(ctx, *threads/2)
	if err != nil {
		return err
	}
	defer stop()
	return measure(ctx, map[string]string{"with": with, "without": without}, pids, dir, *pairs, *length)
}

// search is where the source is changed for the build without the search.
const search = "now func() int64) string {\n\tother, pending := p.otherLink("

// buildWithout builds prywalk without the search for other ends.
func buildWithout(ctx context.Context, out, dir string) error {
	const file = "internal/walk/waits/peers.go"
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	without := strings.Replace(search, "{\n", "{\n\tif true {\n\t\treturn \"\"\n\t}\n", 1)
	changed := strings.Replace(string(text), search, without, 1)
	if changed == string(text) {
		return fmt.Errorf("%s has no Peers.Of as this program knows it", file)
	}
	source, overlay := filepath.Join(dir, "peers.go"), filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(source, []byte(changed), 0o600); err != nil {
		return err
	}
	whole, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": {whole: source}})
	if err != nil {
		return err
	}
	if err := os.WriteFile(overlay, list, 0o600); err != nil {
		return err
	}
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-overlay", overlay, "-o", out, "./cmd/prywalk")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building without the search: %w: %s", err, text)
	}
	return nil
}

// start starts two processes whose threads are connected in pairs.
func start(ctx context.Context, pairs int) (pids string, stop func(), err error) {
	var ends [2][]*os.File
	for range pairs {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return "", nil, err
		}
		for i, fd := range fds {
			ends[i] = append(ends[i], os.NewFile(uintptr(fd), "pair"))
		}
	}
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	var all []*exec.Cmd
	stop = func() {
		for _, cmd := range all {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	var list []string
	for _, files := range ends {
		cmd := exec.CommandContext(ctx, self)
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", roleVariable, pairs))
		cmd.ExtraFiles, cmd.SysProcAttr = files, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := cmd.Start(); err != nil {
			stop()
			return "", nil, err
		}
		all, list = append(all, cmd), append(list, strconv.Itoa(cmd.Process.Pid))
		for _, f := range files {
			f.Close()
		}
	}
	return strings.Join(list, ","), stop, nil
}

// exchange passes a byte to and fro at each descriptor, every 50 ms, in a thread of its own.
func exchange(threads int) {
	var failed atomic.Bool
	for i := range threads {
		go func() {
			fd, b := 3+i, []byte{0}
			for {
				_, _ = syscall.Write(fd, b)
				if n, err := syscall.Read(fd, b); n != 1 || err != nil {
					failed.Store(true)
					return
				}
				t := syscall.NsecToTimespec(int64(50 * time.Millisecond))
				_ = syscall.Nanosleep(&t, nil)
			}
		}()
	}
	for !failed.Load() {
		t := syscall.NsecToTimespec(int64(time.Second))
		_ = syscall.Nanosleep(&t, nil)
	}
	os.Exit(0)
}

func measure(
	ctx context.Context, programs map[string]string, pids, dir string, pairs int, length time.Duration,
) error {
	file, used := filepath.Join(dir, "r.pb.gz"), map[string][]float64{}
	for range pairs {
		order := []string{"with", "without"}
		rand.Shuffle(2, func(i, j int) { order[i], order[j] = order[j], order[i] })
		for _, name := range order {
			ms, err := cpuTime(ctx, programs[name], "record", "-q", "-p", pids, "-d", length.String(), "-o", file)
			if err != nil {
				return err
			}
			if used[name] = append(used[name], ms/length.Seconds()); name == "without" {
				continue
			}
			if ms, err = cpuTime(ctx, programs[name], "report", "--chains", file); err != nil {
				return err
			}
			used["report --chains"] = append(used["report --chains"], ms)
		}
	}
	fmt.Println("CPU time, ms                     median   least    most")
	for _, row := range [][2]string{{"with", "record, a second, with"}, {"without", "record, a second, without"},
		{"report --chains", "report --chains, once"}} {
		list := used[row[0]]
		slices.Sort(list)
		fmt.Printf("%-30s %8.0f %7.0f %7.0f\n", row[1], stats.Median(list), list[0], list[len(list)-1])
	}
	return nil
}

// cpuTime runs a command and returns its user and system time in ms.
func cpuTime(ctx context.Context, name string, args ...string) (ms float64, err error) {
	cmd := exec.CommandContext(ctx, name, args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%s: %w: %s", args[0], err, out)
	}
	return float64((cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Microseconds()) / 1000, nil
}
