// SPDX-License-Identifier: Apache-2.0

package torture

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
	"prywalk/ptrace"

	"prywalk/internal/testtargets"
)

// Effect of a stop on a call that a thread sleeps or works in.
const (
	continues = "continues" // the kernel resumes the call by itself
	restarted = "restarted" // it would give EINTR; the stop makes the kernel restart it
	interrupt = "EINTR"     // it gives EINTR; a restart would not be sound
	short     = "short"     // it gives a short count
	written   = "written"   // it continues, and the kernel writes the remaining time over the requested one
)

// Effect on its time-out.
const (
	none  = "—"
	kept  = "kept"
	again = "restarts"
)

// effect is a row of the table in benchmarks/results/blocking-calls.md. NAME+t is NAME with a time-out.
type effect struct{ call, stop, timeout string }

var effects = []effect{
	{"epoll_wait", restarted, again},
	{"epoll_pwait", restarted, again},
	{"epoll_pwait2", restarted, again},
	{"poll", continues, kept},
	{"ppoll", continues, kept},
	{"select", continues, kept},
	{"pselect", continues, kept},
	{"ppoll/constant", restarted, again},
	{"select/constant", restarted, again},
	{"pselect/constant", restarted, again},
	{"io_getevents", restarted, again},
	{"io_pgetevents", continues, again},
	{"io_uring_enter", restarted, again},
	{"recv", continues, none},
	{"recvmsg", continues, none},
	{"recv/RCVTIMEO", restarted, again},
	{"recvmsg/RCVTIMEO", restarted, again},
	{"read/RCVTIMEO", restarted, again},
	{"send", continues, none},
	{"send/SNDTIMEO", restarted, again},
	{"accept", continues, none},
	{"accept/RCVTIMEO", restarted, again},
	{"connect", continues, none},
	{"connect/SNDTIMEO", interrupt, again},
	{"connect/TCP,SNDTIMEO", interrupt, again},
	{"read/pipe", continues, none},
	{"write/pipe", continues, none},
	{"open/FIFO", continues, none},
	{"read/eventfd", continues, none},
	{"read/timerfd", continues, none},
	{"read/inotify", continues, none},
	{"read/signalfd", continues, none},
	{"read/tty", continues, none},
	{"flock", continues, none},
	{"fcntl/SETLKW", continues, none},
	{"semop", restarted, none},
	{"semtimedop", restarted, again},
	{"msgrcv", continues, none},
	{"msgsnd", continues, none},
	{"mq_receive", continues, none},
	{"mq_timedreceive", continues, kept},
	{"mq_send", continues, none},
	{"futex/WAIT", continues, kept},
	{"futex/WAIT_BITSET", continues, kept},
	{"nanosleep", continues, kept},
	{"clock_nanosleep", continues, kept},
	{"clock_nanosleep/ABSTIME", continues, kept},
	{"nanosleep/rest", written, kept},
	{"clock_nanosleep/rest", written, kept},
	{"pause", continues, none},
	{"sigsuspend", continues, none},
	{"sigwaitinfo", restarted, none},
	{"sigtimedwait", restarted, again},
	{"wait4", continues, none},
	{"waitid", continues, none},
	{"write/pipe,200000", short, none},
	{"send/1M", short, none},
	{"recv/WAITALL", short, none},
	{"recvmmsg/4", short, none},
	{"read/tty,VMIN=10", short, none},
	{"sendfile/socket,200000", short, none},
	{"getrandom/1M", short, none},
	{"read/urandom,1M", short, none},
	{"read/zero,1M", short, none},
	{"copy_file_range/1M", short, none},
	{"fallocate/tmpfs,32M", continues, none},
}

// missing is the effect of a system call that the kernel does not have.
const missing = "fails with errno 38"

// older are the effects on older kernels, where they differ.
var older = []struct{ call, releases, stop string }{
	{"epoll_pwait2", "5.10", missing},
	{"fallocate/tmpfs,32M", "5.10, 6.1", restarted},
}

// here is the effect that the table has for the running kernel.
func (e effect) here(t *testing.T) effect {
	t.Helper()
	var uts unix.Utsname
	if err := unix.Uname(&uts); err != nil {
		t.Fatal(err)
	}
	parts := strings.SplitN(unix.ByteSliceToString(uts.Release[:]), ".", 3)
	for _, o := range older {
		if o.call == e.call && slices.Contains(strings.Split(o.releases, ", "), strings.Join(parts[:2], ".")) {
			e.stop = o.stop
		}
	}
	return e
}

// isMissing is whether the running kernel lacks the call of a thread.
func (s *seen) isMissing(t *testing.T) bool {
	name, _ := strings.CutSuffix(s.name, "+t")
	return effect{call: name}.here(t).stop == missing
}

type seen struct {
	name              string
	stopped           int
	restarted, broken int
	last              int64
	gaps              int // intervals between stops that are as long as the time-out
	limit             time.Duration
}

const (
	tableTimeout  = 150 * time.Millisecond
	tableRounds   = 30
	tableStops    = 10
	tableTimeouts = 20
	// Time-outs beyond gaps that can have ended, at the edges of gaps.
	roundingErrors = 3
	// From tooManyGaps on, a kept time-out cannot be told from a restarted one.
	tooManyGaps = 6
)

// stopAll stops every thread of src/calls.c repeatedly (only while asleep, or always). The target started after
// begun.
func stopAll(t *testing.T, p *target, asleep bool, limit time.Duration, begun int64) []*seen {
	t.Helper()
	var all []*seen
	var tids []int
	for _, line := range p.lines {
		var tid int
		var name string
		if n, _ := fmt.Sscanf(line, "thread %d %s", &tid, &name); n == 2 {
			all, tids = append(all, &seen{name: name, last: begun, limit: limit}), append(tids, tid)
		}
	}
	err := ptrace.Run(ptrace.Options{}, func(c *ptrace.Controller) error {
		few := func(s *seen) bool { return s.stopped < tableStops && !s.isMissing(t) }
		for begin, n := time.Now(), 0; n < tableRounds || time.Since(begin) < tableTimeouts*limit ||
			slices.ContainsFunc(all, few) && time.Since(begin) < patience; n++ {
			for i, s := range all {
				if asleep && !strings.HasPrefix(status(tids[i], "State"), "S") {
					continue
				}
				if err := s.stop(c, tids[i]); err != nil {
					return err
				}
			}
			time.Sleep(5 * time.Millisecond) // the threads go back into their calls, of which they make many
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func (s *seen) stop(c *ptrace.Controller, tid int) error {
	var stop ptrace.Stop
	if err := c.StopThread(tid, ptrace.Now().Add(patience), &ptrace.Request{}, &stop); err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	s.running(int64(stop.Times.DetachedAt))
	s.stopped++
	if stop.Repair.Restarted {
		s.restarted++
	}
	if stop.Repair.Broken {
		s.broken++
	}
	return nil
}

func (s *seen) running(until int64) {
	s.gaps += int((until - s.last) / (int64(s.limit) * 9 / 10))
	s.last = until
}

func (s *seen) verdict(counts map[string]int64) string {
	switch {
	case counts[s.name+".failed"] > 0:
		return fmt.Sprint("fails with errno ", counts[s.name+".errno"])
	case counts[s.name+".broken"] > 0:
		return interrupt
	case counts[s.name+".short"] > 0:
		return short
	case counts[s.name+".changed"] > 0:
		return written
	case s.restarted > 0:
		return restarted
	}
	return continues
}

func (s *seen) ended(counts map[string]int64) int64 {
	return counts[s.name+".expired"] + counts[s.name+".changed"]
}

// unclear may be due to rounding errors, or to a thread that waited for a processor.
func (s *seen) unclear(counts map[string]int64) bool {
	n := s.ended(counts) - int64(s.gaps)
	return n > 0 && n <= roundingErrors
}

// A restarted time-out can end in a gap only.
func (s *seen) timeout(counts map[string]int64) string {
	if n := s.ended(counts); n > int64(s.gaps)+roundingErrors {
		return kept
	}
	return again
}

func stopGroup(t *testing.T, group string) (all []*seen, counts map[string]int64) {
	t.Helper()
	for limit := tableTimeout; ; limit *= 4 {
		begun := procmem.Now()
		p := start(t, "calls", group, "60000", fmt.Sprint(limit.Milliseconds()))
		all = stopAll(t, p, group != "run", limit, begun)
		counts = p.finish()
		end, reported := procmem.Now(), true
		if given != "" { // its time-outs are not judged
			return all, counts
		}
		for _, s := range all {
			s.running(end)
			if strings.HasSuffix(s.name, "+t") && (s.gaps > tooManyGaps || s.unclear(counts)) {
				reported = false
			}
		}
		if reported || limit > 2*time.Second {
			return all, counts
		}
	}
}

func TestEffectOfAStopOnEachCall(t *testing.T) {
	if given == "" {
		testtargets.OnlyInAll(t, "every call, for 20 of its time-outs")
	}
	wanted := int64(1)
	if v := os.Getenv("TORTURE_STOPS"); v != "" {
		var err error
		if wanted, err = strconv.ParseInt(v, 10, 64); err != nil {
			t.Fatalf("TORTURE_STOPS=%s: want a number of stops", v)
		}
	}
	for round, stopped := 1, int64(0); stopped < wanted && !t.Failed(); round++ {
		stopped += stopInEachCall(t)
		t.Logf("round %d: %d stops", round, stopped)
	}
}

func stopInEachCall(t *testing.T) (stopped int64) {
	t.Helper()
	found := map[string]effect{}
	for _, group := range []string{"wait", "partial", "run"} {
		all, counts := stopGroup(t, group)
		for _, s := range all {
			stopped += int64(s.stopped)
			name, timed := strings.CutSuffix(s.name, "+t")
			e, ok := found[name]
			if !ok {
				e = effect{name, "", none}
			}
			if timed {
				e.timeout = s.timeout(counts)
			}
			if v := s.verdict(counts); e.stop == "" || e.stop == continues {
				e.stop = v
			}
			found[name] = e
			if v := s.verdict(counts); v == interrupt || v == restarted {
				t.Logf("%s: %d stops, %d restarted, %d broken; the target's counts: %d done, %d expired, %d EINTR",
					s.name, s.stopped, s.restarted, s.broken, counts[s.name+".done"], counts[s.name+".expired"],
					counts[s.name+".broken"])
			}
			if s.stopped < tableStops && !s.isMissing(t) {
				t.Errorf("%s: %d stops, want at least %d", s.name, s.stopped, tableStops)
			}
		}
	}
	for _, e := range effects {
		got, want := found[e.call], e.here(t)
		if given != "" {
			got.timeout = want.timeout
		}
		if got != want {
			t.Errorf("%s: %s, time-out %s; want %s, %s, as in the table", want.call, got.stop, got.timeout,
				want.stop, want.timeout)
		}
		delete(found, want.call)
	}
	for name, e := range found {
		t.Errorf("call %s is not in the table: %+v", name, e)
	}
	return stopped
}

func TestTheTableOfBlockingCallsIsTrue(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "benchmarks", "results", "blocking-calls.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "\n| at a stop | timeout | calls |\n| --- | --- | --- |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := map[string]effect{}
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 3 {
			t.Errorf("the table's line has not three cells: %s", line)
			continue
		}
		for _, call := range strings.Split(cells[2], "`, `") {
			call = strings.Trim(call, " `")
			rows[call] = effect{call, strings.TrimSpace(cells[0]), strings.TrimSpace(cells[1])}
		}
	}
	for _, want := range effects {
		if rows[want.call] != want {
			t.Errorf("row of blocking-calls.md is %+v, want %+v", rows[want.call], want)
		}
	}
	for _, o := range older {
		row := fmt.Sprintf("\n| `%s` | %s | %s |\n", o.call, o.releases,
			strings.ReplaceAll(o.stop, missing, "gives ENOSYS: it is newer"))
		if !strings.Contains(string(text), row) {
			t.Errorf("blocking-calls.md lacks %s", row)
		}
	}
	if len(rows) != len(effects) {
		t.Errorf("blocking-calls.md has %d calls, want %d", len(rows), len(effects))
	}
}
