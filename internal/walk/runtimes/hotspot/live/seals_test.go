// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"os"
	"reflect"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"prywalk/internal/code/loadedcode"
	"prywalk/internal/host/procmem"
	"prywalk/internal/host/selfruntime"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/observed"
	"prywalk/internal/walk/managed"
)

// sealer returns the JVM of a process.
func sealer(t testing.TB, pid int) (p *loadedcode.Process, jvm managed.Threads) {
	t.Helper()
	p, err := loadedcode.Open(pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	for _, s := range p.Runtimes().FrameSources() {
		if jvm, is := s.(managed.Threads); is {
			return p, jvm
		}
	}
	t.Fatal("no JVM")
	return nil, nil
}

// ticks is a process's CPU time.
func ticks(pid int) uint64 {
	var s procmem.Stat
	_ = procmem.ReadStat(pid, &s)
	return s.UTime + s.STime
}

// stop stops all threads of a process that has computed for a while.
func stop(t *testing.T, pid int) {
	t.Helper()
	before := ticks(pid)
	testtargets.Eventually(t, "it has run", func() bool { return ticks(pid) > before+5 })
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	testtargets.Eventually(t, "all threads are stopped", func() bool {
		tids, err := procmem.ListTasks(pid, nil)
		return err == nil && !slices.ContainsFunc(tids, func(tid int) bool {
			var s procmem.Stat
			return procmem.ReadStat(tid, &s) == nil && s.State != 'T'
		})
	})
}

// readTasks reads the tasks at places into known, without those that it cannot read.
func readTasks(jvm managed.Threads, places []uint64, known map[uint64]managed.Task) {
	jvm.TasksAt(places, nil, func(place uint64, task managed.Task, ok bool) {
		if known[place] = task; !ok {
			delete(known, place)
		}
	})
}

// The JVM is stopped at odd moments, so that one reading of all threads is to be equal to the next.
func TestUnchangedThreadsAreAsAFullReadingOfAStoppedJVMSaysThem(t *testing.T) {
	testtargets.OnlyInAll(t, "many readings of stopped JVMs")
	eachJVM(t, func(t *testing.T, java, classes string, options []string) {
		pid := launch(t, java, classes, options, "hops", strconv.Itoa(testtargets.Times(600, 2000)))
		p, jvm := sealer(t, pid)
		opened, other := sealer(t, pid) // is never asked what is unchanged
		known := map[uint64]managed.Task{}
		unchanged, read, compared := 0, 0, 0
		testtargets.Eventually(t, "many threads are unchanged, and many have changed", func() bool {
			stop(t, pid)
			defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }()
			if _, err := p.Refresh(); err != nil {
				t.Fatal(err)
			}
			places := jvm.TaskPlaces()
			var changed []uint64
			for batch := range slices.Chunk(places, 128) { // as a recording does
				some := jvm.ChangedTasks(batch)
				readTasks(jvm, some, known)
				changed = append(changed, some...)
			}
			fresh := map[uint64]managed.Task{}
			if _, err := opened.Refresh(); err != nil {
				t.Fatal(err)
			}
			readTasks(other, other.TaskPlaces(), fresh)
			for id, want := range fresh {
				got, has := known[id]
				want.Name, want.Awaits, want.WaitsFor, got.WaitsFor = "", "", nil, nil // which a recording omits
				if has && !reflect.DeepEqual(got, want) {
					t.Fatalf("thread %d\n%+v\nwant\n%+v", id, got, want)
				}
				if has {
					compared++
				}
			}
			unchanged, read = unchanged+len(places)-len(changed), read+len(changed)
			return unchanged > 2*len(places) && read > 2*len(places) && compared > 4*len(places)
		})
		t.Logf("%d readings unchanged, %d anew, %d compared", unchanged, read, compared)
	})
}

// VIRTUAL_THREADS is their number.
func BenchmarkALookAtVirtualThreads(b *testing.B) {
	n := 20_000
	if s := os.Getenv("VIRTUAL_THREADS"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	classes := compiled(b)
	for release, java := range javas(b) {
		cmd, _ := observed.Launch(b, java, "-Xmx2g", "-cp", classes, "Virtual", "hang", strconv.Itoa(n))
		p, jvm := sealer(b, cmd.Process.Pid)
		var places []uint64
		testtargets.Eventually(b, "all wait", func() bool {
			places = jvm.TaskPlaces()
			return len(places) == n
		})
		jvm.ChangedTasks(nil)
		testtargets.Eventually(b, "all are unchanged", func() bool {
			changed := jvm.ChangedTasks(places)
			readTasks(jvm, changed, map[uint64]managed.Task{})
			return len(changed) == 0
		})
		for name, look := range map[string]func(places []uint64){
			"anew": func(places []uint64) { readTasks(jvm, places, map[uint64]managed.Task{}) },
			"unchanged": func(places []uint64) {
				if changed := jvm.ChangedTasks(places); len(changed) > 0 {
					b.Errorf("%d threads have changed", len(changed))
				}
			},
		} {
			b.Run(release+" "+name, func(b *testing.B) {
				var took time.Duration
				for b.Loop() {
					took += selfruntime.CPUTimeOf(func() {
						for batch := range slices.Chunk(places, 128) {
							look(batch)
						}
					})
				}
				b.ReportMetric(float64(took.Nanoseconds())/float64(b.N*n), "cpu-ns/thread")
			})
		}
		b.Run(release+" list", func(b *testing.B) {
			var took time.Duration
			for b.Loop() {
				_, other := sealer(b, cmd.Process.Pid)
				took += selfruntime.CPUTimeOf(func() { other.TaskPlaces() })
			}
			b.ReportMetric(float64(took.Nanoseconds())/float64(b.N*n), "cpu-ns/thread")
		})
		_ = p.Close()
	}
}
