// SPDX-License-Identifier: Apache-2.0

package conclusion

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"prywalk/internal/base/languages"
	"prywalk/internal/walk/waits"
)

// Summary adds up samples. The zero value is not ready: use [New].
type Summary struct {
	duration                int64
	cpu, queue              int64
	unexplained, incomplete int64            // CPU time
	ticks                   int64            // with CPU time
	self, total             map[int32]int64  // by number of the function
	below                   map[pair]int64   // CPU time of functions themselves; of some if it has maxPairs
	libraries, inner        map[call]int64   // CPU time
	polls                   map[poll]int64   // CPU time
	collectors              map[string]int64 // CPU time; "" is the rest
	shortLived              map[string]int64 // CPU time of short-lived child processes, by program; "" if that is unknown
	numbers                 map[Function]int32
	list                    []Function
	blocked                 [stopped + 1]int64
	groups                  map[groupKey]*group
	held                    *group // waits within turns of event loops
	perhapsHeld             *group // of these loops' threads, between ticks
	threads                 map[Thread]threadTime
	awake                   map[activity]int64
	rules                   map[string]int64 // idle time
	notes                   []string
	nameWidth               int    // columns of each name in the sentence
	brief                   bool   // without modules, pools, and the number of waiters at a time
	works                   bool   // there is CPU time, or time in the run queue
	busy                    bool   // so much of one that the sentence is about it unless threads wait within work
	own                     int    // the largest of waits within work
	atEnd                   string // follows the sentence
	// OnlyWaits is set by [Summary.Sentence]: it is about waits within work, and hardly any CPU time.
	OnlyWaits bool

	// OnlyValues is the only type of values that samples have, as their CPU time; "" means that they have all clocks.
	OnlyValues string
	// Part means that the samples are a selection; the notes are of the whole recording.
	Part bool
	// Unseen are tasks of the program that recordings do not have, or "".
	Unseen string
	// Bursts says of a wait by call and object how its time is bunched, which the mean hides; it returns "" if it is not.
	Bursts func(call, object string) string
}

// groupKey has texts only of waits within work.
type groupKey struct {
	class                   class
	call, object, in, guess string
}

// pair is a function and one that called it, perhaps through others.
type pair struct{ function, above int32 }

const maxPairs = 200_000

type call struct {
	from int32
	name string
}

// poll is a call of a thread that waits for events.
type poll struct {
	thread Thread
	call
}

// waitsForEvents has the functions of libc, as [Sample].Inner without underscores.
var waitsForEvents = []string{"epoll_wait", "epoll_pwait", "epoll_pwait2", "poll", "ppoll", "select", "pselect"}

type threadTime struct {
	name, pool        string
	wall, ready, idle int64
}

// group is the time of threads that wait for one thing, or sleep in one way.
type group struct {
	key       groupKey
	lock      bool
	own       int // the largest [Sample].Own
	serves    bool
	time      int64
	results   int64 // part of time: waits for results of tasks
	threads   map[Thread]int64
	tasks     int64 // time
	task      string
	functions map[int32]int64
	in        map[string]int64 // [Wait].In of sleeps
	owners    map[Thread]int64
	inherited int64 // part of time: fork copied the lock, taken
}

// New begins with the recording's duration in nanoseconds, 0 if it is unknown, and its comments, which tell of
// deadlocks and frozen groups.
func New(duration int64, notes []string) *Summary {
	s := &Summary{self: map[int32]int64{}, total: map[int32]int64{}, numbers: map[Function]int32{},
		groups: map[groupKey]*group{}, threads: map[Thread]threadTime{}, awake: map[activity]int64{},
		rules: map[string]int64{}, libraries: map[call]int64{}, inner: map[call]int64{}, collectors: map[string]int64{},
		below: map[pair]int64{}, shortLived: map[string]int64{}, polls: map[poll]int64{}}
	s.duration, s.notes, s.held, s.perhapsHeld = duration, notes, newGroup(groupKey{}), newGroup(groupKey{})
	s.Bursts = func(_, _ string) string { return "" }
	return s
}

// Add adds a sample.
func (s *Summary) Add(x *Sample) {
	s.cpu, s.queue = s.cpu+x.CPU, s.queue+x.Queue
	if x.CPU > 0 {
		s.addCPU(x)
	}
	c := x.class()
	if x.Blocked > 0 {
		s.blocked[c] += x.Blocked
		g := s.groupOf(c, x)
		if g.add(x); x.AwaitsResult {
			g.results += x.Blocked
		}
		if c == within {
			g.own, s.own, g.serves = max(g.own, x.Own), max(s.own, x.Own), g.serves || x.Serves
		}
		switch { // what waits for the GIL is no call that blocks a loop
		case x.HoldsLoop && c == unknown:
			s.perhapsHeld.add(x)
		case x.HoldsLoop && (c == within && x.Wait.Kind != waits.GIL || c == sleep || c == others):
			s.held.add(x)
		}
		if c == idle {
			s.rules[x.Wait.Idle] += x.Blocked
		}
	}
	if x.Task == "" && x.Thread != (Thread{}) {
		t := s.threads[x.Thread]
		t.name, t.pool = cmp.Or(t.name, x.Name), cmp.Or(t.pool, x.pool())
		t.wall, t.ready = t.wall+x.CPU+x.Queue+x.Blocked, t.ready+x.CPU+x.Queue
		if c == idle || c == machinery {
			t.idle += x.Blocked
		}
		s.threads[x.Thread] = t
	}
	s.addActivity(x, c)
}

func (s *Summary) addCPU(x *Sample) {
	if s.ticks += x.Ticks; x.ShortLived {
		s.shortLived[x.Program] += x.CPU
	}
	switch {
	case x.Unexplained:
		s.unexplained += x.CPU
		s.collectors[""] += x.CPU
		return
	case x.Incomplete:
		s.incomplete += x.CPU
	}
	if s.collectors[x.Collector] += x.CPU; x.Collector != "" {
		return
	}
	for i, f := range x.Stack {
		if i == 0 {
			s.self[f] += x.CPU
			s.libraries[call{f, x.Library}] += x.CPU
			s.inner[call{f, x.Inner}] += x.CPU
			if name := strings.TrimLeft(x.Inner, "_"); slices.Contains(waitsForEvents, name) && x.Thread.TID != 0 {
				s.polls[poll{x.Thread, call{f, name}}] += x.CPU
			}
		}
		if !slices.Contains(x.Stack[:i], f) {
			if s.total[f] += x.CPU; len(s.below) < maxPairs {
				s.below[pair{x.Stack[0], f}] += x.CPU
			}
		}
	}
}

func (s *Summary) groupOf(c class, x *Sample) *group {
	k := groupKey{class: c}
	if c == within {
		k = groupKey{c, x.Wait.Call, x.Wait.Object, x.Wait.In, x.Wait.IdleGuess}
	}
	g := s.groups[k]
	if g == nil {
		g = newGroup(k)
		g.lock = isLock(&x.Wait)
		s.groups[k] = g
	}
	return g
}

func newGroup(k groupKey) *group {
	return &group{key: k, threads: map[Thread]int64{}, functions: map[int32]int64{},
		in: map[string]int64{}, owners: map[Thread]int64{}}
}

// of returns the group of a class other than within, or nil if it has no time.
func (s *Summary) of(c class) *group {
	if s.blocked[c] == 0 {
		return nil
	}
	return s.groups[groupKey{class: c}]
}

func (g *group) add(x *Sample) {
	g.time += x.Blocked
	if x.Task != "" {
		g.tasks, g.task = g.tasks+x.Blocked, x.Task
	} else {
		g.threads[x.Thread] += x.Blocked
	}
	if len(x.Stack) > 0 {
		g.functions[x.Stack[0]] += x.Blocked
	}
	g.in[x.Wait.In] += x.Blocked
	if x.Wait.Inherited {
		g.inherited += x.Blocked
	} else if x.Wait.Owner > 0 {
		g.owners[Thread{x.Thread.PID, x.Wait.Owner}] += x.Blocked
	}
}

// Largest returns the key with the largest value, of equal ones by order.
func Largest[K comparable](m map[K]int64, order func(a, b K) int) (best K, value int64) {
	for k, v := range m {
		if v > value || v == value && v > 0 && order(k, best) < 0 {
			best, value = k, v
		}
	}
	return best, value
}

// byValue returns the keys, those with the largest values first.
func byValue[K cmp.Ordered](m map[K]int64) []K {
	return slices.SortedFunc(maps.Keys(m), func(a, b K) int { return cmp.Or(cmp.Compare(m[b], m[a]), cmp.Compare(a, b)) })
}

// Number returns the number of a function in stacks.
func (s *Summary) Number(f Function) int32 {
	n, ok := s.numbers[f]
	if !ok {
		n = int32(len(s.list))
		s.numbers[f], s.list = n, append(s.list, f)
	}
	return n
}

func byNumber(a, b Thread) int { return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.TID, b.TID)) }

// weight prefers locks, as what waits for their owners waits in other ways, and functions that are most the program's
// own. Requests in service come before what tasks in the background wait for all the time, and main's wait for an end
// after others, if these are worth a clause.
func (s *Summary) weight(g *group) int64 {
	weight, clause := g.time, int64(clauseFrom*s.length())
	if g.lock {
		weight *= 2
	}
	if g.own >= s.own {
		weight *= 3
	}
	switch {
	case s.isDoubtful(g):
		return 0
	case g.serves && g.time >= clause:
		weight *= 100
	case s.awaitsEnd(g):
		weight = min(weight, 3*clause) // as of a clause in the program's own function
	}
	return weight
}

// isDoubtful reports whether a group is of waits that are perhaps for work, while other threads do some, or of timers
// of a loop that may be blocked.
func (s *Summary) isDoubtful(g *group) bool {
	return s.works && g.key.guess != "" || s.busy && s.isNameless(g) ||
		g.key.call == languages.AsyncioSleep && s.mayHoldLoop()
}

// mayHoldLoop reports whether a thread waits for long, or may do, within turns of its event loop.
func (s *Summary) mayHoldLoop() bool {
	for _, g := range []*group{s.held, s.perhapsHeld} {
		for t := range g.threads {
			if float64(s.held.threads[t]+s.perhapsHeld.threads[t]) >= clauseFrom*s.length() {
				return true
			}
		}
	}
	return false
}

// isNameless reports whether threads that hardly do anything else wait in functions without a name, for what has none
// and is no lock: as a server's threads for their next work, which a rule cannot recognise.
func (s *Summary) isNameless(g *group) bool {
	for f := range g.functions {
		if !s.standsForMany(f) {
			return false
		}
	}
	isOne := slices.Contains([]string{string(waits.Condition), string(waits.Semaphore), "io_uring"}, g.key.object)
	return isOne && len(g.functions) > 0 && g.intensity(s.length()) >= 0.95
}

// awaitsEnd reports whether main waits for the end of the program, such as a server's, on a lock or channel without an
// owner. Such a wait says less than the waits of other threads.
func (s *Summary) awaitsEnd(g *group) bool {
	for f := range g.functions {
		if !s.list[f].isMain() {
			return false
		}
	}
	return (g.lock || strings.HasPrefix(g.key.call, "chan ")) && len(g.functions) > 0 && len(g.owners) == 0
}

func (s *Summary) waitsByTime() (list []*group) {
	for _, g := range s.groups {
		if g.key.class == within && g.time > 0 {
			list = append(list, g)
		}
	}
	slices.SortFunc(list, func(a, b *group) int {
		return cmp.Or(cmp.Compare(s.weight(b), s.weight(a)), cmp.Compare(a.key.object, b.key.object),
			cmp.Compare(a.key.call, b.key.call), cmp.Compare(a.key.in, b.key.in),
			cmp.Compare(a.key.guess, b.key.guess))
	})
	return list
}

// length is the recording's, or at least that of the thread with most time.
func (s *Summary) length() float64 {
	length := s.duration
	if length <= 0 {
		for _, t := range s.threads {
			length = max(length, t.wall)
		}
	}
	return float64(max(1, length))
}
