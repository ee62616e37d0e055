// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"
	"golang.org/x/sys/unix"

	"prywalk/internal/show/chains"
	"prywalk/internal/show/view"
	rec "prywalk/internal/store/profile"
	"prywalk/internal/walk/waits"
)

// trace is an instance of the kernel's trace of its own.
type trace struct{ root, dir string }

func beginTrace(dir string) (t *trace, err error) {
	t = &trace{root: filepath.Join(dir, "tracefs")}
	if err = os.Mkdir(t.root, 0o700); err != nil {
		return nil, err
	}
	if err = unix.Mount("tracefs", t.root, "tracefs", 0, ""); err != nil {
		return nil, fmt.Errorf("no tracepoints: mount tracefs: %w (errno %d)", err, err)
	}
	t.dir = filepath.Join(t.root, "instances", fmt.Sprintf("prywalk-wakers-%d", os.Getpid()))
	if err = os.Mkdir(t.dir, 0o700); err != nil {
		t.close()
		return nil, err
	}
	for _, set := range [][2]string{{"trace_clock", "mono"}, {"buffer_size_kb", "65536"},
		{"events/sched/sched_switch/enable", "1"}, {"events/sched/sched_waking/enable", "1"}, {"tracing_on", "1"}} {
		if err = os.WriteFile(filepath.Join(t.dir, set[0]), []byte(set[1]), 0); err != nil {
			t.close()
			return nil, err
		}
	}
	return t, nil
}

func (t *trace) close() {
	_ = os.Remove(t.dir)
	_ = unix.Unmount(t.root, unix.MNT_DETACH) // the directory is removed next: nothing may stay mounted there
	_ = os.Remove(t.root)
}

// span is what a thread did, in ns of CLOCK_MONOTONIC. Of a sleep waker is the thread that ended it, 0 an interrupt.
type span struct {
	tid, waker       int
	from, to         int64
	running, queued  bool
	disk, softirqing bool
}

func (t *trace) end(threads map[int]int) (spans []span, lost int, err error) {
	if err := os.WriteFile(filepath.Join(t.dir, "tracing_on"), []byte("0"), 0); err != nil {
		return nil, 0, err
	}
	stats, _ := filepath.Glob(filepath.Join(t.dir, "per_cpu/cpu*/stats"))
	for _, s := range stats {
		b, _ := os.ReadFile(s)
		_, rest, _ := strings.Cut(string(b), "overrun: ")
		var n int
		_, _ = fmt.Sscan(rest, &n)
		lost += n
	}
	f, err := os.Open(filepath.Join(t.dir, "trace"))
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	spans, err = parse(f, threads)
	return spans, lost, err
}

type thread struct {
	since int64
	state byte // 'R' runs, 'Q' is queued, else as in sched_switch
	known bool
}

func parse(r io.Reader, threads map[int]int) (spans []span, err error) {
	all := map[int]*thread{}
	to := func(tid int, at int64, state byte, isWaking bool, waker int, softirq bool) {
		if threads[tid] == 0 {
			return
		}
		th := all[tid]
		if th == nil {
			th = &thread{}
			all[tid] = th
		}
		if isWaking && th.known && (th.state == 'R' || th.state == 'Q') { // one that does not sleep
			return
		}
		if th.known && at > th.since {
			s := span{tid: tid, from: th.since, to: at, running: th.state == 'R', queued: th.state == 'Q',
				disk: th.state == 'D'}
			if !s.running && !s.queued {
				s.waker, s.softirqing = waker, softirq
			}
			spans = append(spans, s)
		}
		*th = thread{since: at, state: state, known: true}
	}
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 1<<16), 1<<20)
	for lines.Scan() {
		head, event, ok := strings.Cut(lines.Text(), ": sched_")
		if !ok {
			continue
		}
		fields := strings.Fields(head)
		if len(fields) < 3 {
			continue
		}
		at, flags := nanos(fields[len(fields)-1]), fields[len(fields)-2]
		dash := strings.LastIndexByte(strings.Join(fields[:len(fields)-3], " "), '-')
		current, _ := strconv.Atoi(strings.Join(fields[:len(fields)-3], " ")[dash+1:])
		switch {
		case strings.HasPrefix(event, "waking: "):
			softirq := len(flags) > 2 && (flags[2] == 's' || flags[2] == 'S')
			if len(flags) > 2 && strings.ContainsRune("hHzZ", rune(flags[2])) {
				current = 0
			}
			to(number(event, " pid="), at, 'Q', true, current, softirq)
		case strings.HasPrefix(event, "switch: "):
			_, rest, _ := strings.Cut(event, "prev_state=")
			state := byte('Q')
			if rest != "" && rest[0] != 'R' {
				state = rest[0]
			}
			to(number(event, "prev_pid="), at, state, false, 0, false)
			to(number(event, "next_pid="), at, 'R', false, 0, false)
		}
	}
	return spans, lines.Err()
}

func number(text, after string) int {
	_, rest, _ := strings.Cut(text, after)
	digits, _, _ := strings.Cut(rest, " ")
	n, _ := strconv.Atoi(digits)
	return n
}

func nanos(seconds string) int64 {
	whole, part, _ := strings.Cut(seconds, ".")
	s, _ := strconv.ParseInt(whole, 10, 64)
	n, _ := strconv.ParseInt((part + "000000000")[:9], 10, 64)
	return s*1e9 + n
}

// intervals divides the kernel's spans by whether prywalk calls the thread idle, and says who woke.
func intervals(p *profile.Profile, spans []span, threads map[int]int) (all []chains.Interval) {
	waiting := view.NewWaiting(p, true)
	looks := map[int][]*profile.Sample{}
	for _, s := range p.Sample {
		tid := int(view.NumLabel(s, rec.LabelTID))
		looks[tid] = append(looks[tid], s)
	}
	for _, list := range looks {
		slices.SortFunc(list, func(a, b *profile.Sample) int {
			return int(view.NumLabel(a, rec.LabelEnd) - view.NumLabel(b, rec.LabelEnd))
		})
	}
	var mono, unixTime unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &mono)
	_ = unix.ClockGettime(unix.CLOCK_REALTIME, &unixTime)
	epoch := unixTime.Nano() - mono.Nano()
	slices.SortFunc(spans, func(a, b span) int { return int(a.from - b.from) })
	next := map[int]int{} // by thread: the first look that can overlap
	for _, s := range spans {
		s.from, s.to = s.from+epoch, s.to+epoch
		list := looks[s.tid]
		for next[s.tid] < len(list) && view.NumLabel(list[next[s.tid]], rec.LabelEnd) <= s.from {
			next[s.tid]++
		}
		for _, look := range list[next[s.tid]:] {
			end := view.NumLabel(look, rec.LabelEnd)
			from, to := max(s.from, end-look.Value[1]), min(s.to, end)
			if from >= s.to {
				break
			}
			if to > from {
				all = append(all, interval(&s, from, to, waiting.IdleRule(look), threads))
			}
		}
	}
	return all
}

func interval(s *span, from, to int64, idle string, threads map[int]int) chains.Interval {
	iv := chains.Interval{ID: s.tid, PID: threads[s.tid], From: from, To: to,
		Link: chains.Link{PID: threads[s.tid], TID: s.tid, WaitsFor: &waits.Wait{Kind: waits.Other}}}
	switch {
	case s.running:
		iv.Running = to - from
		return iv
	case s.queued:
		iv.Queued = to - from
		return iv
	}
	iv.Blocked, iv.Idle = to-from, idle
	end := func(k chains.Kind) { iv.Next.End.Kind = k }
	switch {
	case s.disk:
		end(chains.Disk)
	case threads[s.waker] != 0 && s.waker != s.tid:
		iv.Next.Thread = s.waker
	case s.waker == 0 && !s.softirqing:
		end(chains.Timer)
	case s.waker == 0 || s.waker == s.tid:
		end(chains.Unknown)
	default:
		end(chains.Outside)
	}
	return iv
}
