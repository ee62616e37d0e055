// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"bytes"
	"encoding/json"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"prywalk/internal/base/schema"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/waits"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func process(after time.Duration, threads ...stacks.Thread) *stacks.Process {
	return &stacks.Process{Origin: stacks.Origin{Time: noon.Add(after), Host: "a"}, PID: 10, Start: 7, Threads: threads}
}

func thread(tid int, runs uint64, functions ...string) stacks.Thread {
	t := stacks.Thread{TID: tid, Name: "w", State: "S", Complete: true, RunCount: runs}
	for i, name := range functions {
		pc := schema.Hex(crc32.ChecksumIEEE([]byte(name)))
		t.Frames = append(t.Frames, stacks.Frame{PC: pc + schema.Hex(i), Place: &stacks.Place{Function: name}})
	}
	return t
}

func waiting(t stacks.Thread, symbol string, owner int) stacks.Thread {
	t.WaitsFor = &waits.Wait{Kind: waits.Mutex, Symbol: symbol, Ownership: waits.Ownership{Owner: owner}}
	return t
}

func compared(t *testing.T, a, b *stacks.Process) *Changes {
	t.Helper()
	c, err := Compare(a, b)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestEachThreadHasItsChange(t *testing.T) {
	idle := thread(7, 3, "take")
	idle.WaitsFor = &waits.Wait{Kind: waits.Condition, Idleness: waits.Idleness{Idle: "pool"}}
	a := process(0, thread(1, 5, "wait"), thread(2, 5, "wait"), thread(3, 5, "wait"), thread(4, 5, "gone"),
		thread(5, 50, "old"), thread(6, 0, "uncounted"), idle)
	b := process(5*time.Second, thread(1, 5, "wait"), thread(2, 6, "work"), thread(3, 9, "wait"), thread(5, 2, "young"),
		thread(6, 0, "uncounted"), idle, thread(8, 1, "begin"))
	c := compared(t, a, b)
	want := map[int][]Change{1: {NotRun}, 2: {Moved}, 3: {Ran}, 4: {Ended}, 5: {New, Ended}, 6: {SameStack}, 7: {NotRun},
		8: {New}}
	got := map[int][]Change{}
	for _, x := range c.Threads {
		got[x.TID] = append(got[x.TID], x.Change)
	}
	for tid, list := range want {
		if !slices.Equal(got[tid], list) {
			t.Errorf("thread %d: %v, want %v", tid, got[tid], list)
		}
	}
	if m := c.Of(Moved)[0]; m.From != "wait" || m.To != "work" || m.Runs != 1 {
		t.Errorf("%+v", m)
	}
	const sentence = "2 of 7 threads have not run in 5.0 s (1 idle); 1 moved; 1 ran and has the same stack; 2 are new; " +
		"2 ended"
	if c.Conclusion != sentence {
		t.Errorf("%q, want %q", c.Conclusion, sentence)
	}
}

func TestEdgesThatStayAreProvenOnlyIfNeitherThreadRan(t *testing.T) {
	a := process(0, waiting(thread(1, 5, "lock"), "a", 2), waiting(thread(2, 5, "lock"), "b", 1),
		waiting(thread(3, 5, "lock"), "a", 2), thread(4, 1, "work"))
	b := process(time.Second, waiting(thread(1, 5, "lock"), "a", 2), waiting(thread(2, 5, "lock"), "b", 1),
		waiting(thread(3, 6, "lock"), "a", 2), waiting(thread(4, 2, "lock"), "b", 1))
	c := compared(t, a, b)
	var proven []int
	for _, e := range c.StayedEdges {
		if e.NotRun {
			proven = append(proven, e.Waiter)
		}
	}
	if len(c.StayedEdges) != 3 || !slices.Equal(proven, []int{1, 2}) {
		t.Errorf("%+v", c.StayedEdges)
	}
	if len(c.Cycles) != 1 || !slices.Equal(c.Cycles[0], []int{1, 2}) {
		t.Errorf("cycles %v", c.Cycles)
	}
	if len(c.NewWaiters) != 1 || c.NewWaiters[0].Waiter != 4 || c.NewWaiters[0].Object != "mutex b" {
		t.Errorf("new waiters %+v", c.NewWaiters)
	}
	for i := range b.Threads {
		b.Threads[i].WaitsFor.Timed = true
	}
	if c := compared(t, a, b); len(c.Cycles) != 0 {
		t.Errorf("with a time-out: cycles %v", c.Cycles)
	}
}

func TestOnlyStacksOfNewTasksGrow(t *testing.T) {
	goroutine := func(id uint64, name string) stacks.Goroutine {
		return stacks.Goroutine{ID: id, CreatedBy: "main.serve", Frames: thread(0, 0, name).Frames}
	}
	a, b := process(0, thread(1, 1, "run")), process(time.Second, thread(1, 2, "park"))
	a.GoroutineStacks = []stacks.Goroutine{goroutine(1, "main.read"), goroutine(2, "main.write")}
	b.GoroutineStacks = []stacks.Goroutine{goroutine(1, "main.write"), goroutine(2, "main.write"),
		goroutine(3, "main.read"), goroutine(4, "main.read"), goroutine(5, "main.read")}
	c := compared(t, a, b)
	if len(c.Grew) != 1 || c.Grew[0].Before != 1 || c.Grew[0].After != 3 || c.Grew[0].Stack[0] != "main.read" ||
		c.Grew[0].CreatedBy != "main.serve" {
		t.Errorf("%+v", c.Grew)
	}
	if !strings.HasSuffix(c.Conclusion, "; goroutines grew from 2 to 5") {
		t.Error(c.Conclusion)
	}
	a.GoroutineStacks = nil
	if c := compared(t, a, b); len(c.Grew) != 0 || strings.Contains(c.Conclusion, "grew") {
		t.Errorf("goroutines that were not read grew: %+v, %s", c.Grew, c.Conclusion)
	}
}

func TestVirtualThreadsOfOneStackAreCounted(t *testing.T) {
	a, b := process(0), process(time.Second)
	task := stacks.Task{Name: "worker-1", Count: 3, Frames: thread(0, 0, "Shop.sell").Frames}
	a.Tasks = []stacks.Task{task}
	task.Count = 500
	b.Tasks = []stacks.Task{task}
	c := compared(t, a, b)
	if len(c.Grew) != 1 || c.Grew[0].Before != 3 || c.Grew[0].After != 500 ||
		!strings.HasSuffix(c.Conclusion, "; tasks grew from 3 to 500") {
		t.Errorf("%q, %+v", c.Conclusion, c.Grew)
	}
}

func TestDumpsThatCannotBeCompared(t *testing.T) {
	a := process(0)
	for text, change := range map[string]func(p *stacks.Process){
		"different hosts, a and b": func(p *stacks.Process) { p.Host = "b" },
		"different processes":      func(p *stacks.Process) { p.PID = 11 },
		"another one, with the ID": func(p *stacks.Process) { p.Start = 8 },
		"is 1s younger":            func(p *stacks.Process) { p.Time = noon.Add(-time.Second) },
	} {
		b := process(time.Second)
		change(b)
		if _, err := Compare(a, b); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want %q", err, text)
		}
	}
}

func TestFilesThatAreNoDumps(t *testing.T) {
	dump := func(pid int) string {
		var b bytes.Buffer
		p := process(0, thread(1, 1, "f"))
		p.PID = pid
		if err := stacks.WriteJSON(&b, p); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	path := filepath.Join(t.TempDir(), "file")
	for _, c := range []struct {
		contents, want string
		pid            int
	}{
		{"", "it is empty; make a dump", 0},
		{"hello", "no complete dump", 0},
		{dump(1)[:90], "no complete dump", 0},
		{`{"locks":[]}`, "no dump of threads", 0},
		{`{"schema_version":2,"pid":1,"threads":7}`, "no dump of threads", 0},
		{`{"schema_version":1,"pid":1,"threads":[]}`, "schema_version 1, and this prywalk reads 2", 0},
		{dump(1) + dump(2), "has the processes [1 2]", 0},
		{dump(1) + dump(2), "no process 3, but [1 2]", 3},
		{dump(1) + dump(2), "", 2},
		{`{"schema_version":2,"pid":1,"threads":[{"frames":[{}]}],"goroutines":[{"frames":[{}]}],"tasks":[{"frames":[{}]}]}`,
			"", 0},
	} {
		if err := os.WriteFile(path, []byte(c.contents), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := Read(path, c.pid)
		if c.want == "" {
			if err != nil {
				t.Errorf("%q: %v", c.contents, err)
			} else if _, err := Compare(p, p); err != nil {
				t.Error(err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.contents, err, c.want)
		}
	}
}

// A file of dump --json has all that a comparison needs.
func TestADumpIsReadAsItWasWritten(t *testing.T) {
	p := process(0, waiting(thread(1, 5, "lock", "main"), "a", 2))
	var b bytes.Buffer
	if err := stacks.WriteJSON(&b, p); err != nil {
		t.Fatal(err)
	}
	again, err := read(&b, 10)
	if err != nil {
		t.Fatal(err)
	}
	x, _ := json.Marshal(p)
	y, _ := json.Marshal(again)
	if !bytes.Equal(x, y) {
		t.Errorf("%s\nread as\n%s", x, y)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"schema_version":2,"pid":1,"threads":[{"tid":1,"frames":[{}],"waits_for":{"kind":"mutex"}}]}`))
	f.Fuzz(func(_ *testing.T, contents []byte) {
		if p, err := read(bytes.NewReader(contents), 0); err == nil {
			_, _ = Compare(p, p)
		}
	})
}
