// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"prywalk/internal/code/loadedcode"
	"prywalk/internal/show/dump"
	"prywalk/internal/show/dump/locks"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/show/dump/text"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
	"prywalk/internal/testtargets/observed"
	"prywalk/internal/walk/waits"
	"prywalk/internal/watch/target"
)

var javaRuntimes = []string{"/usr/lib/jvm/*/bin/java", "/usr/local/lib/jvm/java-*/bin/java",
	os.Getenv("JAVA_RELEASES") + "/java-*/bin/java"}

var releaseNumber = regexp.MustCompile(`JAVA_VERSION="(\d+)`)

// javas returns the JVMs with virtual threads, by release.
func javas(t testing.TB) map[string]string {
	t.Helper()
	byRelease := map[string]string{}
	for _, pattern := range javaRuntimes {
		found, _ := filepath.Glob(pattern)
		for _, exe := range found {
			about, _ := os.ReadFile(filepath.Join(filepath.Dir(exe), "../release"))
			if m := releaseNumber.FindSubmatch(about); m != nil && len(m[1]) > 1 && string(m[1]) >= "21" {
				byRelease[string(m[1])] = exe
			}
		}
	}
	testtargets.Need(t, len(byRelease) > 0, "a JVM of JDK 21 or later", testtargets.SetUp)
	return byRelease
}

// tool returns a program of a JDK from 21 on.
func tool(t testing.TB, name string) string {
	t.Helper()
	for _, java := range javas(t) {
		if exe := filepath.Join(filepath.Dir(java), name); exists(exe) {
			return exe
		}
	}
	testtargets.Need(t, false, name+" of JDK 21 or later", testtargets.SetUp)
	return ""
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

func compiled(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	out, err := bounded.AllOutput(exec.Command(tool(t, "javac"), "--release", "21", "-d", dir, "testdata/Virtual.java"))
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

func launch(t *testing.T, java, classes string, options []string, args ...string) (pid int) {
	t.Helper()
	cmd, _ := observed.Launch(t, java, slices.Concat([]string{"-Xmx300m"}, options, []string{"-cp", classes, "Virtual"},
		args)...)
	return cmd.Process.Pid
}

var collectors = map[string][]string{
	"serial": {"-XX:+UseSerialGC"}, "parallel": {"-XX:+UseParallelGC"}, "g1": {"-XX:+UseG1GC"}, "z": {"-XX:+UseZGC"},
	"generational z": {"-XX:+UseZGC", "-XX:+IgnoreUnrecognizedVMOptions", "-XX:+ZGenerational"},
	"shenandoah":     {"-XX:+UseShenandoahGC"},
	"wide":           {"-XX:-UseCompressedOops"}, "interpreted": {"-Xint"},
	"compact headers": {"-XX:+IgnoreUnrecognizedVMOptions", "-XX:+UseCompactObjectHeaders"},
}

func eachJVM(t *testing.T, test func(t *testing.T, java, classes string, options []string)) {
	classes := compiled(t)
	for release, java := range javas(t) {
		for _, name := range testtargets.First(slices.Sorted(maps.Keys(collectors))) {
			t.Run(release+" "+name, func(t *testing.T) { test(t, java, classes, collectors[name]) })
		}
	}
}

// Methods that the JVM hides in its own dumps.
var hidden = regexp.MustCompile(`Lambda(\$\d+)?(/0x\w+)?\.|^java\.lang\.(Thread\.runWith|VirtualThread\$|` +
	`VirtualThread\.(yieldContinuation|run)$)|^jdk\.internal\.vm\.Continuation|^java\.lang\.Object\.wait0|` +
	`^java\.lang\.invoke\.(LambdaForm|Invokers)\$|^jdk\.internal\.reflect\.DirectMethodHandleAccessor\.invokeImpl$`)

type jvmDump struct {
	ThreadDump struct {
		ThreadContainers []struct {
			Threads []struct {
				TID   string   `json:"tid"`
				Name  string   `json:"name"`
				Stack []string `json:"stack"`
			} `json:"threads"`
		} `json:"threadContainers"`
	} `json:"threadDump"`
}

var inJVMsDump = regexp.MustCompile(`^(?:[\w.]+(?:@[\w.]+)?/)?(.*)\((?:.*?)(?::(\d+))?\)$`)

// stacksOfJVM counts the JVM's own stacks of virtual threads.
func stacksOfJVM(t *testing.T, pid int) map[string]int {
	t.Helper()
	file := filepath.Join(t.TempDir(), "threads.json")
	out, err := bounded.AllOutput(exec.Command(tool(t, "jcmd"), strconv.Itoa(pid), "Thread.dump_to_file", "-format=json",
		file))
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var d jvmDump
	if err := json.Unmarshal(b, &d); err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, c := range d.ThreadDump.ThreadContainers {
		for _, th := range c.Threads {
			var stack []string
			virtual := false
			for _, line := range th.Stack {
				m := inJVMsDump.FindStringSubmatch(line)
				virtual = virtual || m[1] == "java.lang.VirtualThread.run"
				if !hidden.MatchString(m[1]) {
					stack = append(stack, m[1]+":"+m[2])
				}
			}
			if virtual {
				counts[strings.Join(stack, "\n")]++
			}
		}
	}
	return counts
}

func stacksOf(p *stacks.Process) map[string]int {
	counts := map[string]int{}
	for i := range p.Tasks {
		var stack []string
		for j := range p.Tasks[i].Frames {
			if f := &p.Tasks[i].Frames[j]; !hidden.MatchString(f.Function) {
				stack = append(stack, fmt.Sprintf("%s:%d", f.Function, f.Line))
			}
		}
		counts[strings.Join(stack, "\n")] += p.Tasks[i].Count
	}
	return counts
}

func allWait(p *stacks.Process, n int) bool {
	v := p.VirtualThreads
	return v != nil && v.Total == n && v.Mounted+v.LeftOut() == 0
}

func TestVirtualThreadsAreThoseThatTheJVMKnows(t *testing.T) {
	eachJVM(t, func(t *testing.T, java, classes string, options []string) {
		const each = 50
		pid := launch(t, java, classes, options, "waits", strconv.Itoa(each))
		kinds := 6
		if !strings.Contains(java, "21") {
			kinds = 7
		}
		var p *stacks.Process
		testtargets.Eventually(t, "all virtual threads wait", func() bool {
			p = observed.Dump(t, pid, dump.Options{})
			return allWait(p, kinds*each+1)
		})
		want := stacksOfJVM(t, pid)
		if got := stacksOf(p); !maps.Equal(got, want) {
			t.Errorf("%d and %d different stacks\n%v\nwant\n%v", len(got), len(want), got, want)
		}
		var all strings.Builder
		if err := text.Write(&all, p); err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{"held by virtual thread #", "50 waiting virtual threads (read twice)",
			"waiting virtual thread #", "waits for sleep", "CompletableFuture$Signaller"} {
			if !strings.Contains(all.String(), line) {
				t.Errorf("no %q in\n%s", line, all.String())
			}
		}
		if p.Tasks[0].Count != 1 || p.Tasks[0].Name != "owner" || p.Tasks[0].ID == 0 {
			t.Errorf("the rarest is not first: %+v", p.Tasks[0])
		}
	})
}

// Thread depth-N has N + 1 frames of one method, whenever it waits.
func TestStacksOfVirtualThreadsAreRightWhileTheyRunAndObjectsMove(t *testing.T) {
	eachJVM(t, func(t *testing.T, java, classes string, options []string) {
		pid := launch(t, java, classes, options, "storm", "300")
		read := 0
		testtargets.Eventually(t, "many stacks are read", func() bool {
			p := observed.Dump(t, pid, dump.Options{})
			for i := range p.Tasks {
				task := &p.Tasks[i]
				depth, err := strconv.Atoi(strings.TrimPrefix(task.Name, "depth-"))
				if len(task.Frames) == 0 || task.State != "waiting" {
					continue
				}
				n := 0
				for j := range task.Frames {
					if task.Frames[j].Function == "Virtual.deep" {
						n++
					}
				}
				if err != nil || n != depth+1 {
					t.Errorf("%s has %d frames of deep: %+v", task.Name, n, task.Frames)
				}
				read += task.Count
			}
			return read >= testtargets.Times(300, 900)
		})
	})
}

func locksOf(t *testing.T, pid int) *locks.Locks {
	t.Helper()
	p, err := loadedcode.Open(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	l, err := dump.ExamineLocks([]*loadedcode.Process{p}, dump.Options{MaxDepth: -1})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestDeadlocksOfVirtualThreadsAreProven(t *testing.T) {
	eachJVM(t, func(t *testing.T, java, classes string, options []string) {
		for _, mode := range []string{"deadlock", "mixed"} {
			pid := launch(t, java, classes, options, mode)
			var l *locks.Locks
			testtargets.Eventually(t, mode+" is a deadlock", func() bool {
				l = locksOf(t, pid)
				return l.Verdict == locks.VerdictDeadlock
			})
			if len(l.TaskDeadlocks) != 1 || len(l.TaskDeadlocks[0]) != 2 || len(l.ThreadlessTasks) != 0 {
				t.Fatalf("%s: %+v, not examined: %v", mode, l.TaskDeadlocks, l.ThreadlessTasks)
			}
			for _, w := range l.TaskDeadlocks[0] {
				if platform := w.Name == "second" && mode == "mixed"; (w.TID != 0) != platform || (w.Task != 0) == platform ||
					!strings.HasPrefix(w.In, "Virtual.cross at Virtual.java:") {
					t.Errorf("%s: %+v", mode, w)
				}
			}
			var b strings.Builder
			if err := text.WriteLocks(&b, l); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(b.String(), "1 DEADLOCK\n") || !strings.Contains(b.String(), "held by virtual thread #") {
				t.Error(b.String())
			}
		}
	})
}

func TestAWaitWithATimeOutIsNoDeadlockOfVirtualThreads(t *testing.T) {
	classes := compiled(t)
	for _, java := range javas(t) {
		pid := launch(t, java, classes, nil, "timed")
		var l *locks.Locks
		testtargets.Eventually(t, "both wait", func() bool {
			l = locksOf(t, pid)
			return len(l.TaskLocks) == 2
		})
		if len(l.TaskDeadlocks) != 0 || !l.TaskLocks[0].Timed || l.TaskLocks[0].OwnerTask == 0 {
			t.Errorf("%+v, %+v", l.TaskDeadlocks, l.TaskLocks)
		}
	}
}

func TestVirtualThreadsAreRecordedByWait(t *testing.T) {
	classes := compiled(t)
	for release, java := range javas(t) {
		pid := launch(t, java, classes, nil, "waits", "20")
		testtargets.Eventually(t, "all wait", func() bool {
			return allWait(observed.Dump(t, pid, dump.Options{}), map[bool]int{true: 121, false: 141}[release == "21"])
		})
		for _, off := range []bool{false, true} {
			prof := observed.Record(t, pid, observed.Recording{
				Options: target.SamplingOptions{Freq: 99, Tasks: true, OnlyGoroutines: off},
			})
			by := map[string]bool{}
			for _, s := range prof.Sample {
				if task := s.Label["task"]; len(task) > 0 {
					by[task[0]+" "+s.Label["wait"][0]] = true
				}
			}
			for _, wait := range []string{"java.util.concurrent.LinkedBlockingQueue.take", "java.lang.Thread.sleep",
				"java.util.concurrent.CompletableFuture.get", "java.util.concurrent.locks.ReentrantLock.lock"} {
				if by["virtual thread "+wait] == off {
					t.Errorf("%s, off is %v: %v", wait, off, by)
				}
			}
		}
	}
}

// pinned: which of the two threads has the first carrier is the JVM's choice.
var pinned = regexp.MustCompile(`^Virtual\$(First|Second)\.<clinit> at Virtual\.java:`)

func TestPinnedCarriersAndMonitorsOfThreadsWithoutACarrierAreExplained(t *testing.T) {
	classes := compiled(t)
	for release, java := range javas(t) {
		if release < "24" { // there a thread that waits keeps its carrier with its monitor
			continue
		}
		t.Run(release, func(t *testing.T) {
			pid := launch(t, java, classes, []string{"-Djdk.virtualThreadScheduler.parallelism=2"}, "pinned")
			l := locksOf(t, pid)
			d := l.Process(pid)
			if len(l.StarvedPools) != 1 || len(l.StarvedPools[0].Threads) != 2 || l.StarvedPools[0].Ready != 5 ||
				!pinned.MatchString(l.StarvedPools[0].PinnedBy) {
				t.Errorf("%+v", l.StarvedPools)
			}
			carriers, monitors := 0, 0
			for i := range d.Threads {
				th := &d.Threads[i]
				switch w := th.WaitsFor; {
				case th.PinnedBy() != "":
					if carriers++; w.Kind != waits.Park || w.Symbol != "java.util.concurrent.locks.ReentrantLock$NonfairSync" ||
						w.OwnerName != "main" {
						t.Errorf("%s: %s", th.Name, w)
					}
				case th.Name == "enters":
					if monitors++; w.OwnerTask == 0 || w.OwnerName != "holder" {
						t.Errorf("%s: %s", th.Name, w)
					}
				}
			}
			if carriers != 2 || monitors != 1 {
				t.Errorf("%d carriers, %d monitors", carriers, monitors)
			}
		})
	}
}
