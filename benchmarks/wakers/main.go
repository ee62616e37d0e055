// SPDX-License-Identifier: Apache-2.0

// Wakers compares the chains of a recording with the kernel's record of which thread woke which.
//
//	go -C benchmarks run ./wakers -only mariadb-contended -d 10s -n 3
//
// As root, it records sched_switch and sched_waking by tracefs beside prywalk record. From these it builds chains of
// its own: a sleep's next thread is the one that woke it, an interrupt of a timer ends it. Both are followed by the
// same code, from the same waits: those that prywalk does not call idle. The table has, of the blocked time,
//
//	known      what has an end in prywalk's report
//	end        what of that is at the same end as the kernel's: the sum of the smaller shares
//	link       the same of first links, of the time with a next thread or an end
//	excess     the shares of prywalk's known ends beyond the kernel's
//
// A waker is not always what the thread waited for: another client's request can delay an answer, and a thread that
// lets a lock go need not be the one that had it all the time. So the agreement is no measure of correctness alone.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"prywalk/benchmarks/command"
	"prywalk/internal/show/chains"
	recording "prywalk/internal/store/profile"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/topologies"
	"prywalk/report"
)

var programs = []string{"mariadb-contended", "postgres-contended", "pipeline"}

func main() { command.Main("wakers", run) }

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("wakers", flag.ContinueOnError)
	length := flags.Duration("d", 10*time.Second, "length of a recording")
	n := flags.Int("n", 3, "recordings of each program")
	only := flags.String("only", "", "the programs, separated by commas: all of "+strings.Join(programs, ","))
	each := flags.Bool("ends", false, "print the shares of all ends, prywalk's and the kernel's")
	exe := flags.String("prywalk", "", "the prywalk to measure; built if it is not given")
	if err := flags.Parse(args); err != nil {
		return err
	}
	names, err := command.Only(*only, programs)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "prywalk-wakers-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if *exe, err = command.Prywalk(*exe, dir); err != nil {
		return err
	}
	fmt.Println("program              blocked  known  link   end    excess")
	for _, name := range names {
		for range *n {
			r, err := measure(ctx, name, *exe, dir, *length)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			fmt.Printf("%-20s %6.1fs  %5.1f%% %5.1f%% %5.1f%% %5.1f%%\n", name, r.blocked, 100*r.known, 100*r.link,
				100*r.end, 100*r.excess)
			if r.note != "" {
				fmt.Println("  " + r.note)
			}
			if *each {
				r.print()
			}
		}
	}
	return nil
}

func measure(ctx context.Context, name, exe, dir string, length time.Duration) (r result, err error) {
	stop, err := start(name, length)
	if err != nil {
		return r, err
	}
	defer stop()
	pids := descendants(os.Getpid())
	threads := threadsOf(pids)
	tr, err := beginTrace(dir)
	if err != nil {
		return r, err
	}
	defer tr.close()
	file := filepath.Join(dir, "wakers.pb.gz")
	record := exec.CommandContext(ctx, exe, "record", "-q", "-d", length.String(), "-o", file, "-p", join(pids))
	if out, err := record.CombinedOutput(); err != nil {
		return r, fmt.Errorf("%w: %s", err, out)
	}
	spans, lost, err := tr.end(threads)
	if err != nil {
		return r, err
	}
	p, err := recording.ReadFile(file)
	if err != nil {
		return r, err
	}
	own, err := topologies.ChainsOf(p, report.Options{})
	if err != nil {
		return r, err
	}
	kernel, err := chains.Build(intervals(p, spans, threads), 1)
	if err != nil {
		return r, err
	}
	r = compare(own, kernel)
	if lost > 0 {
		r.note = fmt.Sprintf("the kernel lost %d events", lost)
	}
	return r, nil
}

// commands run until they are stopped.
var commands = map[string]string{
	"pipeline": "while :; do tar c /usr/lib /usr/share 2>/dev/null | gzip -1 | sha1sum; done",
}

func start(name string, length time.Duration) (stop func(), err error) {
	if commands[name] == "" {
		target, err := testtargets.Start(name, testtargets.Options{Limit: length + 10*time.Minute})
		if err != nil {
			return nil, err
		}
		return target.Stop, nil
	}
	cmd := exec.Command("sh", "-c", commands[name])
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	// Until the whole pipeline has begun.
	for deadline := time.Now().Add(10 * time.Second); len(descendants(os.Getpid())) < 4; runtime.Gosched() {
		if time.Now().After(deadline) {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			_ = cmd.Wait()
			return nil, fmt.Errorf("the pipeline has not begun within 10 s")
		}
	}
	return func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	}, nil
}

// descendants returns the children of a process, and theirs.
func descendants(root int) (all []int) {
	parents := map[int]int{}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, d := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(d))
		stat, _ := os.ReadFile(d + "/stat")
		if _, rest, ok := strings.Cut(string(stat), ") "); ok {
			if f := strings.Fields(rest); len(f) > 1 {
				parents[pid], _ = strconv.Atoi(f[1])
			}
		}
	}
	for pid := range parents {
		for at := pid; at > 1; at = parents[at] {
			if at == root && pid != root {
				all = append(all, pid)
				break
			}
		}
	}
	slices.Sort(all)
	return all
}

// threadsOf returns the process of each thread.
func threadsOf(pids []int) map[int]int {
	all := map[int]int{}
	for _, pid := range pids {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
		for _, t := range tasks {
			tid, _ := strconv.Atoi(filepath.Base(t))
			all[tid] = pid
		}
	}
	return all
}

func join(pids []int) string {
	var out []string
	for _, pid := range pids {
		out = append(out, strconv.Itoa(pid))
	}
	return strings.Join(out, ",")
}

type result struct {
	blocked                  float64
	known, link, end, excess float64
	note                     string
	own, kernel              map[endKey]float64
}

func (r *result) print() {
	all := maps.Clone(r.own)
	maps.Copy(all, r.kernel)
	for k := range all {
		name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", k.from))
		fmt.Printf("  %5.1f%% %5.1f%%  %d %s to %d, %s\n", 100*r.own[k], 100*r.kernel[k], k.from,
			strings.TrimSpace(string(name)), k.to, k.kind)
	}
}

type endKey struct {
	from, to int
	kind     chains.Kind
}

// shares returns, of the blocked time, those by process and end, and by process and first link.
func shares(r *chains.Report) (ends, links map[endKey]float64) {
	ends, links = map[endKey]float64{}, map[endKey]float64{}
	for i := range r.Chains {
		c := &r.Chains[i]
		part := float64(c.Blocked) / float64(cmp.Or(r.Blocked, 1))
		ends[endKey{c.Links[0].PID, c.End.PID, c.End.Kind}] += part
		link := endKey{from: c.Links[0].PID, kind: c.End.Kind}
		if len(c.Links) > 1 {
			link.to, link.kind = c.Links[1].PID, ""
		}
		links[link] += part
	}
	return ends, links
}

func compare(own, kernel *chains.Report) (r result) {
	ends, links := shares(own)
	trueEnds, trueLinks := shares(kernel)
	r.blocked, r.own, r.kernel = float64(own.Blocked)/1e9, ends, trueEnds
	knownLinks := 0.0
	for k, part := range ends {
		if k.kind != chains.Unknown {
			r.known += part
			r.end += min(part, trueEnds[k])
			r.excess += max(0, part-trueEnds[k])
		}
	}
	for k, part := range links {
		if k.kind != chains.Unknown {
			knownLinks += part
			r.link += min(part, trueLinks[k])
		}
	}
	r.end /= max(r.known, 1e-9)
	r.link /= max(knownLinks, 1e-9)
	return r
}
