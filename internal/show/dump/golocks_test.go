// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"bufio"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"prywalk/internal/code/loadedcode"
	"prywalk/internal/show/chains"
	"prywalk/internal/show/dump/locks"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/testtargets"
)

const goLocks = `package main

import (
	"fmt"
	"sync"
	"time"
)

type account struct {
	name string
	mu   sync.Mutex
	sum  int
}

var (
	one       sync.Mutex
	rw        sync.RWMutex
	free      sync.Mutex
	third     sync.Mutex
	fourth    sync.RWMutex
	readLocked sync.RWMutex
	a, b      = &account{name: "a"}, &account{name: "b"}
	both      sync.WaitGroup
	never     = make(chan int)
	full      = make(chan int, 3)
)

//go:noinline
func use(a *account) { a.sum++ }

//go:noinline
func transfer(from, to *account, n int) {
	from.mu.Lock()
	defer from.mu.Unlock()
	both.Done()
	both.Wait()
	to.mu.Lock()
	defer to.mu.Unlock()
	from.sum -= n
	to.sum += n
}

//go:noinline
func hold(ready chan int) {
	one.Lock()
	ready <- 1
	v := <-never
	one.Unlock()
	fmt.Println(v)
}

//go:noinline
func letGo(bad bool, ready chan int) {
	free.Lock()
	one.Lock()
	if bad {
		one.Unlock()
		fmt.Println("bad")
		return
	}
	one.Unlock()
	free.Unlock()
	ready <- 1
	<-never
}

//go:noinline
func wait() { one.Lock(); one.Unlock() }

//go:noinline
func read(ready chan int) { rw.RLock(); defer rw.RUnlock(); ready <- 1; <-never }

//go:noinline
func write() { rw.Lock(); rw.Unlock() }

//go:noinline
func twice() { x := &account{}; use(x); x.mu.Lock(); x.mu.Lock(); use(x) }

//go:noinline
func again() { x := &account{}; x.mu.Lock(); x.mu.Lock() }

//go:noinline
func upgrade(mu *sync.RWMutex) { mu.RLock(); mu.Lock() }

//go:noinline
func through(l sync.Locker, ready chan int) { l.Lock(); l.Unlock(); l.Lock(); ready <- 1; <-never; l.Unlock() }

//go:noinline
func past(l sync.Locker, ready chan int) { l.Lock(); l.Unlock(); ready <- 1; <-never; use(a) }

type door struct{ opened int }

func (d *door) Lock()   { d.opened++ }
func (d *door) Unlock() { d.opened-- }

//go:noinline
func enter(l sync.Locker) { l.Lock(); use(a); l.Unlock() }

//go:noinline
func send() { full <- 1 }

//go:noinline
func choose() {
	select {
	case <-never:
	case full <- 9:
	}
}

func main() {
	ready := make(chan int)
	for i := 0; i < 2; i++ {
		go letGo(false, ready)
		<-ready
	}
	both.Add(2)
	go transfer(a, b, 1)
	go transfer(b, a, 2)
	go hold(ready)
	<-ready
	go read(ready)
	<-ready
	for _, l := range []sync.Locker{&third, readLocked.RLocker(), &fourth, &door{}} {
		go through(l, ready)
		<-ready
	}
	go enter(&third)
	go enter(&readLocked)
	go enter(&fourth)
	go past(&door{}, ready)
	<-ready
	for i := 0; i < 5; i++ {
		go wait()
		go send()
	}
	go write()
	go twice()
	go again()
	go upgrade(new(sync.RWMutex))
	for len(full) < cap(full) {
		time.Sleep(time.Millisecond)
	}
	go choose()
	fmt.Println("ready")
	time.Sleep(time.Hour)
}
`

func goroutineLockTexts(l *locks.Locks) (out []string) {
	in := map[uint64]string{}
	for _, p := range l.Processes {
		for i := range p.GoroutineStacks {
			g := &p.GoroutineStacks[i]
			for _, f := range g.Frames {
				if strings.HasPrefix(f.Function, "main.") && in[g.ID] == "" {
					in[g.ID] = strings.TrimPrefix(f.Function, "main.")
				}
			}
		}
	}
	for i := range l.GoroutineLocks {
		m := &l.GoroutineLocks[i]
		wait, hold := map[string]int{}, map[string]int{}
		for _, w := range m.Waiters {
			side := map[bool]string{true: " sends"}[w.Send] + map[bool]string{true: " reads"}[w.Reads]
			wait[in[w.Goroutine]+side]++
		}
		for _, o := range m.Likely {
			hold[in[o.Goroutine]+map[bool]string{true: " reads"}[o.Reads]]++
		}
		count := func(of map[string]int) (text string) {
			for _, name := range slices.Sorted(maps.Keys(of)) {
				text += fmt.Sprintf(" %d %s,", of[name], name)
			}
			return text
		}
		text := m.Kind + ":" + count(wait) + " held by" + count(hold)
		if m.Kind == stacks.KindChannel {
			text = fmt.Sprintf("%s %d of %d:%s", m.Kind, m.Queued, m.Capacity, count(wait))
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return out
}

var knownGoLocks = []string{
	"chan 0 of 0: 1 choose, 1 hold, 2 letGo, 1 past, 1 read, 4 through,",
	"chan 3 of 3: 1 choose sends, 2 send sends,",
	"sync.Mutex: 1 again, held by 1 again,",
	"sync.Mutex: 1 enter, held by 1 through,",
	"sync.Mutex: 1 transfer, held by 1 transfer,",
	"sync.Mutex: 1 transfer, held by 1 transfer,",
	"sync.Mutex: 1 twice, held by 1 twice,",
	"sync.Mutex: 5 wait, held by 1 hold,",
	"sync.RWMutex: 1 enter, held by 1 through reads,",
	"sync.RWMutex: 1 enter, held by 1 through,",
	"sync.RWMutex: 1 upgrade, held by 1 upgrade reads,",
	"sync.RWMutex: 1 write, held by 1 read reads,",
}

func TestGoroutinesAtLocksAndTheirLikelyOwners(t *testing.T) {
	for _, release := range goReleases(t, "1.20.14") {
		t.Run("go "+release, func(t *testing.T) {
			cmd, out := startGoroutines(t, goLocks, release)
			if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
				t.Fatalf("%q, %v", line, err)
			}
			var l *locks.Locks
			testtargets.Still(t, cmd.Process.Pid, func() { l = goLocksOf(t, cmd.Process.Pid) })
			checkGoLocks(t, l)
			if release == "" {
				c := openCore(t, gcore(t, cmd.Process.Pid), "")
				checkGoLocks(t, LocksOfCore(c, Options{MaxDepth: -1, Goroutines: true}))
			}
		})
	}
}

const runningOwners = `package main

import (
	"fmt"
	"sync"
)

type account struct {
	mu  sync.Mutex
	sum int
}

var (
	one  sync.Mutex
	sink [2]int
)

//go:noinline
func first() { for ; ; sink[0]++ {} }

//go:noinline
func second() { for ; ; sink[1]++ {} }

//go:noinline
func global(ready chan bool) { one.Lock(); defer one.Unlock(); ready <- true; first() }

//go:noinline
func (a *account) field(ready chan bool) { a.mu.Lock(); defer a.mu.Unlock(); ready <- true; second() }

//go:noinline
func awaitGlobal() { one.Lock(); one.Unlock() }

//go:noinline
func (a *account) awaitField() { a.mu.Lock(); a.sum++; a.mu.Unlock() }

func main() {
	a, ready := &account{}, make(chan bool)
	go global(ready)
	<-ready
	go a.field(ready)
	<-ready
	go awaitGlobal()
	go a.awaitField()
	fmt.Println("ready")
	select {}
}
`

// A chain ends in what the owner of a goroutine's lock runs, if a function on its stack shows that it holds the lock.
func TestAChainEndsAtAGoroutineThatRunsAndHoldsTheLock(t *testing.T) {
	for _, release := range goReleases(t, "1.20.14") {
		t.Run("go "+release, func(t *testing.T) {
			cmd, out := startGoroutines(t, runningOwners, release)
			if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
				t.Fatalf("%q, %v", line, err)
			}
			want := map[string]string{"main.awaitGlobal": "main.first", "main.(*account).awaitField": "main.second"}
			before := map[string]string{"main.first": "main.global", "main.second": "main.(*account).field"} // the call
			seen := map[string]bool{}
			testtargets.Eventually(t, "both chains end at the owner", func() bool {
				for _, c := range chainsOf(t, []int{cmd.Process.Pid}).Chains {
					owner := want[c.Links[0].Function]
					if owner == "" || c.End.Kind == chains.Unknown {
						continue // of the runtime, or read while the owners changed threads
					}
					right := []string{owner, before[owner], ""}
					if !slices.Contains(right, c.End.Function) && !strings.HasPrefix(c.End.Function, "runtime.") {
						t.Fatalf("%s ends in %+v", c.Links[0].Function, c.End)
					}
					if c.End.Function == owner && c.End.Kind == chains.Running && c.Links[0].Guess != "" {
						seen[owner] = true
					}
				}
				return len(seen) == 2
			})
		})
	}
}

func goLocksOf(t *testing.T, pid int) *locks.Locks {
	t.Helper()
	c, err := loadedcode.Open(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	l, err := ExamineLocks([]*loadedcode.Process{c}, Options{MaxDepth: -1, Goroutines: true})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func checkGoLocks(t *testing.T, l *locks.Locks) {
	t.Helper()
	if got := goroutineLockTexts(l); !slices.Equal(got, knownGoLocks) {
		t.Errorf("locks\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(knownGoLocks, "\n"))
	}
	var sizes []int
	for _, c := range l.PossibleGoroutineDeadlocks {
		sizes = append(sizes, len(c.Goroutines))
	}
	slices.Sort(sizes)
	if !slices.Equal(sizes, []int{1, 1, 1, 2}) || l.Verdict != locks.VerdictPossible || len(l.Deadlocks) != 0 {
		t.Errorf("cycles of %v, verdict %s, %d deadlocks", sizes, l.Verdict, len(l.Deadlocks))
	}
	text := lockText(t, l)
	for _, want := range []string{"; 4 POSSIBLE DEADLOCKS\n", "2 goroutines wait for each other, if the inferred owners",
		"sync.Mutex main.one (0x", ", 3 of 3 in it\n", "waiting to receive: none\n",
		"likely held for reading by goroutine ", ", waiting (chan receive)\n      locked in main.hold at "} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}
